/*
 * test_last.c - two variants in the products of a block. Rows of attention and
 * of products that their last work-groups round for the next int8 product have
 * the bits of launches that round them; products that read A past local memory,
 * those of others.
 */
#include "gemm/parts.h"
#include "support/commit.h"
#include "support/device.h"
#include "support/oneplan.h"
#include "support/skip.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows and queries fill no block; a block has the groups of two heads, and of
 * several tiles of columns. */
enum { B = 2, T = 37, H = 2, C = 64, WIDE = 192, ROWS = B * T };

static float numbers(int i)
{
    return (float)((i * 7919 + i / 64 * 31) % 509) / 256 - 1;
}

static vt_val layer(vt_fixture *f, vt_val x, int n, int k, vt_act act)
{
    static float w[4][WIDE * WIDE];
    static const char *const names[] = {"w0", "w1", "w2", "w3"};
    const int i = f->params;

    for (int j = 0; j < n * k; j++)
        w[i][j] = numbers(j * 3 + i) / 4;
    return vt_linear(f->plan, x,
                     (vt_linear_args){.w = vt_fixture_param(
                                          f, names[i], 2, (int[]){n, k}, w[i]),
                                      .b = VT_NONE,
                                      .scale = VT_NONE,
                                      .residual = VT_NONE,
                                      .act = act});
}

typedef struct variant {
    vitcl_precision precision;
    const char *words, *note;
    int steps; /* that say so */
} variant;

/* Twice, with the same bits. on: the variant. Returns the launches. */
static unsigned run(float *y, const variant *t, bool on, const float *x)
{
    float *again = malloc(ROWS * C * sizeof *again);
    vt_fixture f;
    vt_val in, v;
    unsigned launches;
    int noted = 0;

    setenv("VITCL_VARIANTS", on ? t->words : "", 1);
    vt_fixture_open_as(&f, (vt_plan_options){.device_class = VT_CLASS_GPU,
                                             .precision = t->precision,
                                             .gemm = "native"});
    in = vt_input(f.plan, "x", VT_F32, 3, (int[]){B, T, C});
    v = layer(&f, in, 3 * C, C, VT_ACT_NONE);
    v = vt_attention(f.plan, v,
                     (vt_attention_args){.heads = H, .bias = VT_NONE});
    v = layer(&f, v, C, C, VT_ACT_NONE);
    v = layer(&f, v, WIDE, C, VT_ACT_GELU);
    v = layer(&f, v, C, WIDE, VT_ACT_NONE);
    vt_keep(f.plan, v);
    vt_check(vt_plan_finish(f.plan));
    for (int i = 0; i < vt_plan_steps(f.plan); i++) {
        const vt_step *s = vt_plan_step(f.plan, i);

        noted += strstr(s->gemm ? vt_gemm_describe(s->gemm) : s->note,
                        t->note) != NULL;
    }
    cr_expect_eq(noted, on ? t->steps : 0, "%d steps: %s", noted, t->note);
    launches = vt_plan_launches(f.plan);
    vt_check(vt_plan_write(f.plan, in, x, ROWS * C * sizeof *x));
    for (int i = 0; i < 2; i++) {
        vt_check(vt_plan_run(f.plan, 0));
        vt_check(vt_plan_read(f.plan, v, i ? again : y, ROWS * C));
    }
    cr_expect_arr_eq(again, y, ROWS * C * sizeof *y, "other bits");
    vt_fixture_close(&f);
    free(again);
    return launches;
}

/* saved: launches. */
static void same(const char *unit, const variant *t, unsigned saved)
{
    float x[ROWS * C], want[ROWS * C], got[ROWS * C];
    unsigned usual;

    vt_test_emulate(unit);
    for (int i = 0; i < ROWS * C; i++)
        x[i] = numbers(i);
    usual = run(want, t, false, x);
    cr_expect_eq(run(got, t, true, x), usual - saved, "%s: launches", unit);
    cr_expect_arr_eq(got, want, sizeof got, "%s: other bits", unit);
    for (int i = 0; i < ROWS * C; i++)
        cr_assert(isfinite(got[i]));
    x[5 * C + 1] = NAN;
    (void)run(got, t, true, x);
    for (int i = 0; i < ROWS * C; i++)
        cr_expect_eq(isnan(got[i]) != 0, i < T * C, "%s: %d", unit, i);
    unsetenv("VITCL_MMA"), unsetenv("VITCL_VARIANTS");
}

/* Some units, others at each commit; VITCL_TEST_MMA=all: all. */
Test(last, rounds)
{
    static const char *const units[] = {"mma16",  "mma8",    "wmma11",
                                        "wmma12", "mfma942", "dpas8"};
    static const variant rounds = {VITCL_INT8, "last", "rounded by the last",
                                   3};
    enum { UNITS = sizeof units / sizeof *units };
    const bool all = getenv("VITCL_TEST_MMA") != NULL;
    const int turn = (int)(vt_test_commit() % UNITS);

    setenv("VITCL_VARIANTS", "last", 1);
    if (!vt_last_fence(vt_test_device(), VT_VARIANT_LAST))
        vt_skip("this driver orders nothing between work-groups");
    for (int i = 0; i < UNITS; i++)
        if (all || i == turn)
            same(units[i], &rounds, 3);
}

/* What reads the input, in f32, does not. */
Test(last, far)
{
    static const variant far[] = {{VITCL_F16, "far", "A from afar", 3},
                                  {VITCL_INT8, "far", "A from afar", 4}};
    const bool all = getenv("VITCL_TEST_MMA") != NULL;

    for (unsigned long i = 0; i < 2 && !vt_test_tiny(); i++)
        if (all || i == vt_test_commit() % 2)
            same("dpas16", &far[i], 0);
}
