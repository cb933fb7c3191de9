/*
 * test_maxpool.c - the maximum of each window.
 */
#include "ref/ref.h"
#include "support/oneplan.h"

#include <criterion/criterion.h>
#include <math.h>

static vt_val build(vt_plan *p, const vt_val *in, const vt_case *c)
{
    const int *a = c->arg;

    return vt_maxpool(p, in[0], a[0], a[1], a[2], a[3], a[4], a[5]);
}

static void ref(double *out, const double *const *in, const vt_case *c)
{
    const int *d = c->in[0].dim;

    ref_maxpool(out, in[0], d[0] * d[1], d[2], d[3], c->arg[0], c->arg[1],
                c->arg + 2);
}

#define X(B, C, H, W)                                                          \
    {                                                                          \
        .rank = 4, .dim = { B, C, H, W }                                       \
    }

Test(maxpool, all)
{
    static const vt_case cases[] = {
        {.name = "3, stride 2, padded",
         .in = {X(2, 3, 7, 9)},
         .arg = {3, 2, 1, 1, 1, 1}},
        {.name = "1x1", .in = {X(1, 1, 1, 1)}, .arg = {1, 1}},
        {.name = "3, stride 2, padded, narrow",
         .in = {X(2, 3, 9, 5)},
         .arg = {3, 2, 1, 1, 1, 1}},
        {.name = "SAME: below and right alone",
         .in = {X(1, 2, 8, 6)},
         .arg = {3, 2, 0, 0, 1, 1}},
        {.name = "windows that overlap", .in = {X(1, 1, 6, 7)}, .arg = {4, 1}},
        {.name = "windows apart", .in = {X(1, 2, 9, 8)}, .arg = {2, 3}},
        {.name = "64 of 112x112",
         .in = {X(1, 64, 112, 112)},
         .arg = {3, 2, 1, 1, 1, 1}},
        {.name = "all below zero",
         .in = {{.rank = 4, .dim = {1, 1, 5, 5}, .shift = -9}},
         .arg = {3, 2, 1, 1, 1, 1}},
        {0}};

    /* Oclgrind 21.10 itself crashes at (float4)(a.even, b.even) with
     * --uninitialized, which a stride of 2 uses if a row has at least four
     * windows: the first case. */
    vt_check_ops(vt_test_tiny() ? cases + 1 : cases, build, ref);
}

/* The first of equal numbers gets the whole gradient, as in torch. Planes of
 * three different numbers, so that most windows have equals across and down. */
static void check_ties(vt_class class, int size, int stride, const int pad[4],
                       bool nan)
{
    enum { PLANES = 2, H = 11, W = 75, N = PLANES * H * W };
    const int ho = (H + pad[0] + pad[2] - size) / stride + 1;
    const int wo = (W + pad[1] + pad[3] - size) / stride + 1;
    const int n = PLANES * ho * wo;
    static float x[N], g[4 * N], got[N];
    static double xd[N], gd[4 * N], want[N];
    uint32_t state = 9;
    vt_fixture f;

    for (int i = 0; i < N; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = nan && state >> 8 & 1 && i % 5 == 0 ? NAN
                                                   : (float)((state >> 24) % 3);
        xd[i] = (double)x[i];
    }
    for (int i = 0; i < n; i++)
        gd[i] = (double)(g[i] = (float)(1 + i % 97)); /* sums are exact */
    ref_maxpool_grad(want, gd, xd, PLANES, H, W, size, stride, pad);
    vt_fixture_open(&f, class, true);
    vt_val v = vt_fixture_param(&f, "x", 4, (int[]){1, PLANES, H, W}, x);
    vt_val y =
        vt_maxpool(f.plan, v, size, stride, pad[0], pad[1], pad[2], pad[3]);
    vt_val gv = vt_input(f.plan, "g", VT_F32, 4, (int[]){1, PLANES, ho, wo});
    vt_plan_backward(f.plan, vt_seed_gradient(f.plan, y, gv), vt_add);
    vt_check(vt_plan_finish(f.plan));
    vt_check(vt_plan_write(f.plan, gv, g, (size_t)n * sizeof *g));
    vt_check(vt_plan_run(f.plan, 0));
    vt_check(vt_plan_read(f.plan, vt_grad(f.plan, v), got, N));
    for (int i = 0; i < N; i++)
        cr_assert_eq((double)got[i], want[i],
                     "class %d, size %d, stride %d: %d: %g, not %g", (int)class,
                     size, stride, i, (double)got[i], want[i]);
    vt_fixture_close(&f);
}

Test(maxpool, ties)
{
    static const int none[4] = {0}, one[4] = {1, 1, 1, 1};

    for (vt_class c = VT_CLASS_CPU; c <= VT_CLASS_GPU && !vt_test_tiny(); c++)
        for (int nan = 0; nan < 2; nan++) {
            check_ties(c, 3, 1, one, nan);
            check_ties(c, 3, 2, one, nan);
            check_ties(c, 2, 1, none, nan);
            check_ties(c, 3, 3, none, nan);
        }
}
