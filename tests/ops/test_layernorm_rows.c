/*
 * test_layernorm_rows.c - layer norm that rounds its rows for a GPU's int8
 * product: each number is the nearest multiple of its row's step, and no pass
 * rounds the rows again.
 *
 * The weights are 127 times the identity, whose steps are 1: so the product has
 * the rows themselves, 127 times their steps.
 */
#include "ref/ref.h"
#include "support/device.h"
#include "support/halves.h"
#include "support/oneplan.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OK(x) cr_assert_eq((x), VITCL_OK, "%s", vt_message())
enum { PICTURES = 2, TOKENS = 5, MOST = 256, TINY_OUTS = 8, TOP = 127 };
static const float eps = 1e-5f;

typedef struct rows {
    int c, take; /* columns; of the tokens of a picture; 0: all */
    int outs;    /* the product's, whose other columns are not looked at */
    bool rms;
    float x[PICTURES * TOKENS * MOST], gamma[MOST], beta[MOST];
    float y[PICTURES * TOKENS * MOST];
} rows;

static void make(rows *r, int c, int take, bool rms)
{
    r->c = c, r->take = take, r->rms = rms;
    r->outs = vt_test_tiny() && c == MOST ? TINY_OUTS : c;
    for (int i = 0; i < PICTURES * TOKENS * c; i++)
        r->x[i] = (float)((i * 7919 + i / c * 31) % 251) / 32 - 3;
    for (int i = 0; i < c; i++) {
        r->gamma[i] = (float)(i % 11) / 8 - 0.5f;
        r->beta[i] = (float)(i % 5) / 16;
    }
}

/* Returns the launches of the plan. */
static unsigned run(rows *r, const char *note)
{
    const int c = r->c, outs = r->outs, n = r->take ? r->take : TOKENS;
    float *w = calloc((size_t)(outs * c), sizeof *w);
    vt_fixture f;
    vt_val x, in, g, b, y;
    unsigned launches;
    const vt_case noted = {.name = "layernorm", .note = note};

    for (int i = 0; i < outs; i++)
        w[i * c + i] = TOP;
    vt_fixture_open_as(&f, (vt_plan_options){.device_class = VT_CLASS_GPU,
                                             .precision = VITCL_INT8,
                                             .gemm = "native"});
    x = vt_input(f.plan, "x", VT_F32, 3, (int[]){PICTURES, TOKENS, c});
    in = vt_halves_copy(f.plan, x); /* x is in bf16, without rounding */
    g = vt_fixture_param(&f, "g", 1, &c, r->gamma);
    b = vt_fixture_param(&f, "b", 1, &c, r->beta);
    y = r->rms    ? vt_rmsnorm(f.plan, in, g, eps, r->take)
        : r->take ? vt_layernorm_rows(f.plan, in, g, b, eps, r->take)
                  : vt_layernorm(f.plan, in, g, b, eps);
    y = vt_linear(
        f.plan, y,
        (vt_linear_args){.w = vt_fixture_param(&f, "w", 2, (int[]){outs, c}, w),
                         .b = VT_NONE,
                         .scale = VT_NONE,
                         .residual = VT_NONE});
    vt_keep(f.plan, y);
    OK(vt_plan_finish(f.plan));
    vt_check_note(&f, &noted);
    launches = vt_plan_launches(f.plan);
    OK(vt_plan_write(f.plan, x, r->x,
                     (size_t)(PICTURES * TOKENS * c) * sizeof(float)));
    OK(vt_plan_run(f.plan, 0));
    OK(vt_plan_read(f.plan, y, r->y, (uint64_t)(PICTURES * n * outs)));
    vt_fixture_close(&f);
    free(w);
    return launches;
}

static void expected(double *y, const rows *r, const float *x)
{
    double mean = 0, square = 0;

    for (int i = 0; i < r->c && !r->rms; i++)
        mean += (double)x[i] / r->c;
    for (int i = 0; i < r->c; i++)
        square += ((double)x[i] - mean) * ((double)x[i] - mean) / r->c;
    for (int i = 0; i < r->c; i++)
        y[i] = ((double)x[i] - mean) / sqrt(square + (double)eps) *
                   (double)r->gamma[i] +
               (r->rms ? 0 : (double)r->beta[i]);
}

static void check(const rows *r)
{
    const int n = r->take ? r->take : TOKENS;
    double y[MOST], step;
    int wrong = 0;

    for (int row = 0; row < PICTURES * n; row++) {
        step = 0;
        expected(y, r, r->x + (row / n * TOKENS + row % n) * r->c);
        for (int i = 0; i < r->c; i++)
            step = fmax(step, fabs(y[i]) / TOP);
        for (int i = 0; i < r->outs; i++) {
            const double got = (double)r->y[row * r->outs + i] / TOP / step,
                         off = fabs(got - y[i] / step);

            wrong += !(fabs(got - round(got)) < 1e-3 && off < 0.501);
        }
    }
    cr_expect_eq(wrong, 0, "%d columns: %d are wrong", r->c, wrong);
}

static rows r, again;

static void begin(void)
{
    vt_test_emulate("mma16");
    setenv("VITCL_VARIANTS", "rows", 1);
}

static void end(void)
{
    unsetenv("VITCL_MMA"), unsetenv("VITCL_VARIANTS");
}

TestSuite(layernorm_rows, .init = begin, .fini = end);

/* A strip has 64 columns; 4, 68 and 132 fill none. */
Test(layernorm_rows, nearest)
{
    const int columns[] = {vt_test_tiny() ? 68 : 132, 64, 4};
    unsigned without;

    for (int i = 0; i < (vt_test_tiny() ? 1 : 3); i++) {
        make(&r, columns[i], i == 1 ? 3 : 0, false);
        again = r;
        without = run(&r, "layernorm_rows int8");
        check(&r);
        (void)run(&again, "layernorm_rows int8");
        cr_expect_eq(memcmp(r.y, again.y, sizeof r.y), 0, "other bits");
    }
    make(&r, 64, 2, true);
    (void)run(&r, "layernorm_rows int8");
    check(&r);
    if (vt_test_tiny())
        return;
    unsetenv("VITCL_VARIANTS");
    make(&r, 4, 0, false);
    cr_expect_eq(run(&r, "layernorm"), without + 1, "no launch is saved");
}

/* A row with NaN or inf, or whose numbers are, has no number that is one. */
static void not_finite(int c, const char *note)
{
    make(&r, c, 0, false);
    r.x[c + 5] = NAN, r.x[2 * c + 7] = INFINITY;
    (void)run(&r, note);
    for (int row = 0; row < 4; row++)
        for (int i = 0; i < r.outs; i++)
            cr_expect_eq(isnan(r.y[row * r.outs + i]) != 0,
                         row == 1 || row == 2, "row %d", row);
    r.beta[9] = INFINITY;
    (void)run(&r, note);
    cr_expect(isnan(r.y[0]));
}

/* By a sub-group a row. */
Test(layernorm_rows, lanes)
{
    setenv("VITCL_VARIANTS", "norm,rows", 1);
    for (int take = 0; take < 3; take += 2) {
        make(&r, 256, take, take != 0);
        again = r;
        (void)run(&r, "layernorm_lanes 32x4 int8, emulated");
        check(&r);
        (void)run(&again, "layernorm_lanes 32x4 int8, emulated");
        cr_expect_eq(memcmp(r.y, again.y, sizeof r.y), 0, "other bits");
        if (vt_test_tiny())
            return;
    }
    not_finite(256, "layernorm_lanes 32x4 int8, emulated");
}

Test(layernorm_rows, not_finite)
{
    not_finite(64, "layernorm_rows int8");
}

/* Columns that vectors do not fill, and values that are kept, stay numbers. */
Test(layernorm_rows, others)
{
    make(&r, 37, 0, false);
    (void)run(&r, "layernorm");
    for (int i = 0; i < 37; i++)
        cr_expect(isfinite(r.y[i]));
}
