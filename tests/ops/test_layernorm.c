/*
 * test_layernorm.c - layer norm of all rows and of the first rows; and as the
 * integers that products read.
 */
#include "ref/ref.h"
#include "support/device.h"
#include "support/layernorm.h"
#include "support/oneplan.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROW(B, T, C)                                                           \
    {                                                                          \
        {.rank = 3, .dim = {B, T, C}}, {.rank = 1, .dim = {C}, .param = true}, \
        {                                                                      \
            .rank = 1, .dim = {C}, .param = true                               \
        }                                                                      \
    }

#define RMS(B, T, C)                                                           \
    {                                                                          \
        {.rank = 3, .dim = {B, T, C}, .shift = 0.5},                           \
            {.rank = 1, .dim = {C}, .param = true},                            \
        {                                                                      \
            .none = true                                                       \
        }                                                                      \
    }

Test(layernorm, all)
{
    static const vt_case cases[] = {
        {.name = "1x1x2", .in = ROW(1, 1, 2), .no_grad = true},
        /* rows of one or two have no gradient but rounding */
        {.name = "1x1x1", .in = ROW(1, 1, 1), .no_grad = true},
        {.name = "2x3x7", .in = ROW(2, 3, 7)},
        {.name = "3x5x33", .in = ROW(3, 5, 33)},
        {.name = "1x9x64", .in = ROW(1, 9, 64)},
        {.name = "1x2x513", .in = ROW(1, 2, 513), .no_grad = true},
        {.name = "1x197x192", .in = ROW(1, 197, 192)},
        {.name = "2x3x768", .in = ROW(2, 3, 768)},
        {.name = "first of each", .in = ROW(3, 4, 19), .arg = {1}},
        {.name = "first two of each", .in = ROW(2, 5, 40), .arg = {2}},
        {.name = "rms 2x3x33", .in = RMS(2, 3, 33), .arg = {0, 1}},
        {.name = "rms 1x5x768", .in = RMS(1, 5, 768), .arg = {0, 1}},
        {.name = "rms, first two of each", .in = RMS(2, 5, 40), .arg = {2, 1}},
        {.name = "no gamma, no beta",
         .in = {{.rank = 3, .dim = {2, 3, 21}},
                {.none = true},
                {.none = true}}},
        /* (x - mean) keeps 3 digits: E[x^2] - mean^2 would keep none */
        {.name = "mean 1e4, std 1",
         .in = {{.rank = 3, .dim = {1, 3, 100}, .shift = 1e4},
                {.none = true},
                {.none = true}},
         .atol = 2e-3,
         .no_grad = true},
        /* as large as the root of epsilon, so that a misplaced epsilon shows */
        {.name = "deviation 1e-3",
         .in = {{.rank = 3, .dim = {2, 3, 33}, .scale = 1.7e-3},
                {.none = true},
                {.none = true}},
         .no_grad = true},
        {.name = "equal rows",
         .in = {{.rank = 3, .dim = {1, 3, 31}, .same = true, .shift = 3},
                {.none = true},
                {.none = true}},
         .no_grad = true},
        {.name = "huge",
         .in = {{.rank = 3, .dim = {1, 3, 31}, .scale = 1e12},
                {.none = true},
                {.none = true}},
         .no_grad = true},
        {.name = "denormal",
         .in = {{.rank = 3, .dim = {1, 3, 31}, .scale = 1e-39},
                {.none = true},
                {.none = true}},
         .no_grad = true,
         .atol = 1e-9},
        {0}};

    vt_check_ops(cases, vt_test_layernorm, vt_test_layernorm_ref);
}

Test(layernorm, refuses)
{
    for (int k = 0; k < 3; k++) {
        vt_fixture f;

        vt_fixture_open(&f, VT_CLASS_CPU, false);
        vt_val x = vt_input(f.plan, "x", VT_F32, 3, (int[]){2, 3, 8});
        vt_val gamma = vt_param(f.plan, "g", 1, (int[]){k == 0 ? 7 : 8});
        vt_val beta = vt_param(f.plan, "b", 1, (int[]){k == 1 ? 16 : 8});
        if (k < 2)
            cr_expect_eq(vt_layernorm(f.plan, x, gamma, beta, 1e-6f), VT_NONE);
        else
            cr_expect_eq(vt_layernorm_rows(f.plan, x, gamma, beta, 1e-6f, 4),
                         VT_NONE);
        cr_expect_eq(vt_plan_status(f.plan), VITCL_EINVAL);
        cr_expect(strstr(vt_message(), k < 2 ? "a row's width" : "more rows"),
                  "%s", vt_message());
        vt_fixture_close(&f);
    }
}

/* ---- as integers ---- */

/* Of `of` rows of each picture the first `take`. */
typedef struct rows {
    int pictures, take, of, width;
    bool gamma, beta;
} rows;

static vt_kernel *kernel(const char *name, const char *defines)
{
    vt_kernel *k = NULL;

    vt_check(vt_kernel_new(&k, vt_test_device(), name, name, defines));
    return k;
}

static void launch(vt_kernel *k, vt_buf *const *bufs, unsigned n,
                   const int *ints, unsigned m, float eps, int items)
{
    for (unsigned i = 0; i < n; i++)
        vt_check(vt_kernel_buf(k, i, bufs[i]));
    for (unsigned i = 0; i < m; i++)
        vt_check(vt_kernel_int(k, n + i, ints[i]));
    vt_check(vt_kernel_float(k, n + m, eps));
    vt_kernel_size(k, 1, (size_t[3]){(size_t)items, 1, 1},
                   (size_t[3]){1, 1, 1});
    vt_check(vt_kernel_launch(vt_test_queue(), k));
    vt_check(vt_queue_finish(vt_test_queue()));
}

/* What the kernel leaves in memory full of NaN. */
static void round_rows(float *out, size_t n, vt_kernel *k, vt_buf *a,
                       vt_buf *gamma, vt_buf *beta, const rows *r, bool norm)
{
    const int M = r->pictures * r->take, ldw = (int)n / M - 2;
    vt_buf *to = vt_test_floats(NULL, n);

    launch(k, (vt_buf *[]){to, a, gamma, beta}, 4,
           (int[]){M, r->width, r->width, ldw, norm ? r->take : 0, r->of}, 6,
           1e-6f, (M + 3) / 4);
    vt_test_read(out, to, n);
    vt_buf_free(to);
}

static void check_integers(vt_kernel *norm, vt_kernel *round, const rows *r,
                           const char *form)
{
    const size_t c = (size_t)r->width, M = (size_t)(r->pictures * r->take),
                 all = (size_t)(r->pictures * r->of) * c + 1;
    const size_t n = M * (c + 32 + 2); /* no form has longer rows */
    float *x = malloc(all * sizeof *x), *got[3];
    vt_buf *a, *y = vt_test_floats(NULL, M * c), *gamma, *beta;

    for (size_t i = 0; i < all; i++)
        x[i] = (float)((int)(i * 7919 % 1009) - 400) / 97;
    a = vt_test_floats(x, all);
    gamma = r->gamma ? vt_test_floats(x + c / 2, c) : NULL;
    beta = r->beta ? vt_test_floats(x + 1, c) : NULL;
    launch(norm, (vt_buf *[]){y, NULL, a, gamma, beta}, 5,
           (int[]){r->width, r->take, r->of}, 3, 1e-6f, (int)M);
    for (int i = 0; i < 3; i++) {
        got[i] = malloc(n * sizeof(float));
        round_rows(got[i], n, round, i ? a : y, i ? gamma : NULL,
                   i ? beta : NULL, r, i > 0);
    }
    for (int i = 1; i < 3; i++)
        cr_expect_eq(memcmp(got[0], got[i], n * sizeof(float)), 0,
                     "%s: %d rows of %d: other bits in run %d", form, (int)M,
                     r->width, i);
    for (int i = 0; i < 3; i++)
        free(got[i]);
    vt_buf *const bufs[] = {a, y, gamma, beta};
    for (size_t i = 0; i < sizeof bufs / sizeof *bufs; i++)
        vt_buf_free(bufs[i]);
    free(x);
}

/* Layer norm that rounds its rows, and the pass that rounds what it stores in
 * f32: the same bytes, in each form and with vectors of each width. */
Test(layernorm, integers)
{
    static const struct {
        int v;
        const char *form;
    } forms[] = {
        /* oclgrind takes numbers of float16 for uninitialised */
        {4, "-DDOT=5"},         {8, "-DDOT=1 -DTOP=4095"},  {8, "-DDOT=4"},
        {16, "-DDOT=2"},        {16, "-DDOT=1 -DTOP=4095"}, {4, "-DDOT=6"},
        {16, "-DDOT=2 -DTILES"}};
    static const rows cases[] = {
        {1, 7, 7, 45, true, true},  {2, 1, 3, 33, false, true},
        {2, 3, 5, 77, true, false}, {1, 5, 5, 64, false, false},
        {1, 4, 4, 3, true, true},   {1, 1, 1, 1, true, true}};

    for (size_t i = 0; i < (vt_test_tiny() ? 3 : sizeof forms / sizeof *forms);
         i++) {
        char defines[96];
        vt_kernel *norm, *round;

        snprintf(defines, sizeof defines, "-DV=%d -DPER=1 -DWG=1", forms[i].v);
        norm = kernel("layernorm", defines);
        snprintf(defines, sizeof defines, "-DV=%d -DPER=1 -DWG=1 %s",
                 forms[i].v, forms[i].form);
        round = kernel("gemm_dot_rows", defines);
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
            check_integers(norm, round, &cases[k], forms[i].form);
        vt_kernel_free(norm);
        vt_kernel_free(round);
    }
}
