/*
 * test_conv.c - convolutions with any stride and padding.
 */
#include "ref/ref.h"
#include "support/device.h"
#include "support/near.h"
#include "support/oneplan.h"
#include "support/rng.h"

#include <criterion/criterion.h>

static vt_val build(vt_plan *p, const vt_val *in, const vt_case *c)
{
    const int *a = c->arg;

    return vt_conv(p, in[0], in[1], a[0], a[1], a[2], a[3], a[4]);
}

static void ref(double *out, const double *const *in, const vt_case *c)
{
    const int *x = c->in[0].dim, *w = c->in[1].dim;

    ref_conv(out, in[0], in[1], 0, x[0], x[1], x[2], x[3], w[0], w[2], w[3],
             c->arg[0], c->arg + 1);
}

#define X(B, C, H, W_)                                                         \
    {                                                                          \
        .rank = 4, .dim = { B, C, H, W_ }                                      \
    }
#define W(O, C, h, w)                                                          \
    {                                                                          \
        .rank = 4, .dim = {O, C, h, w}, .param = true                          \
    }

Test(conv, all)
{
    static const vt_case cases[] = {
        {.name = "1x1", .in = {X(1, 1, 1, 1), W(1, 1, 1, 1)}, .arg = {1}},
        {.name = "3x3, padded",
         .in = {X(2, 3, 5, 6), W(4, 3, 3, 3)},
         .arg = {1, 1, 1, 1, 1}},
        {.name = "3x3, lines that vectors fill",
         .in = {X(1, 2, 3, 4), W(7, 2, 3, 3)},
         .arg = {1, 1, 1, 1, 1}},
        {.name = "3x3, windows that are all padding, lines of 7",
         .in = {X(2, 2, 3, 3), W(4, 2, 3, 3)},
         .arg = {1, 3, 3, 3, 3}},
        {.name = "SAME, stride 2, one side more",
         .in = {X(1, 2, 8, 7), W(3, 2, 3, 3)},
         .arg = {2, 0, 1, 1, 1}},
        {.name = "7x7, stride 2",
         .in = {X(1, 3, 13, 11), W(5, 3, 7, 7)},
         .no_grad = true,
         .atol = 3e-5,
         .arg = {2, 3, 3, 3, 3}},
        {.name = "1x1 of many pixels",
         .in = {X(2, 5, 4, 3), W(6, 5, 1, 1)},
         .arg = {1}},
        {.name = "1x1, stride 2",
         .in = {X(1, 4, 7, 5), W(6, 4, 1, 1)},
         .arg = {2}},
        {.name = "rectangle, stride 3",
         .in = {X(1, 2, 9, 10), W(2, 2, 2, 5)},
         .arg = {3, 1, 2, 0, 2}},
        {.name = "terms in two parts, a row block that begins early",
         .in = {X(1, 40, 3, 8), W(7, 40, 3, 3)},
         .arg = {1, 1, 1, 1, 1},
         .atol = 1e-4}, /* 360 products */
        {.name = "pictures that share a tile, stride 2, odd lines",
         .in = {X(2, 3, 7, 15), W(7, 3, 3, 3)},
         .arg = {2, 1, 1, 1, 1},
         .atol = 3e-5},
        {.name = "lines longer than a tile",
         .in = {X(2, 2, 3, 68), W(6, 2, 3, 3)},
         .arg = {1, 1, 1, 1, 1}},
        {.name = "more channels than a work-group's",
         .in = {X(1, 7, 5, 4), W(201, 7, 1, 1)},
         .arg = {1}},
        {.name = "64 channels of 28x28",
         .in = {X(1, 64, 28, 28), W(17, 64, 3, 3)},
         .arg = {1, 1, 1, 1, 1},
         .atol = 2e-4}, /* 576 products */
        {0}};

    /* On a simulator, building programs takes the time: one case of each
     * kind. */
    const vt_case few[] = {cases[0], cases[1], cases[2], {0}};

    vt_check_ops(vt_test_tiny() ? few : cases, build, ref);
}

/* More output pixels than CUDA's 65535 work-groups in dimension 1. */
Test(conv, many_pixels)
{
    static const vt_case cases[] = {{.name = "2x1, many pixels",
                                     .in = {X(1, 1, 259, 256), W(1, 1, 2, 1)},
                                     .no_grad = true,
                                     .arg = {1}},
                                    {0}};

    if (!vt_test_tiny())
        vt_check_ops(cases, build, ref);
}

/* Sums in double: 3000 products of size 1e4 that nearly cancel. */
Test(conv, exact)
{
    enum { C = 3001, O = 5, S = 3 };
    static float x[C * S], w[O * C], got[O * S];
    static double xd[C * S], wd[O * C], want[O * S];
    vt_rng r = {3};
    const int pad[4] = {0};
    const int c = vt_test_tiny() ? 37 : C;
    vt_fixture f;

    if (!vt_dev_info(vt_test_device())->fp64)
        return;
    vt_rng_fill(&r, x, C * S, 100, 0);
    vt_rng_fill(&r, w, O * C, 100, 0);
    for (int i = 0; i < C * S; i++)
        xd[i] = (double)x[i];
    for (int i = 0; i < O * C; i++)
        wd[i] = (double)w[i];
    vt_fixture_open_as(&f, (vt_plan_options){.gemm = "plain", .exact = true});
    vt_val in = vt_input(f.plan, "x", VT_F32, 4, (int[]){1, c, 1, S});
    vt_val p = vt_fixture_param(&f, "w", 4, (int[]){O, c, 1, 1}, w);
    vt_val out = vt_conv(f.plan, in, p, 1, 0, 0, 0, 0);
    vt_keep(f.plan, out);
    vt_check(vt_plan_finish(f.plan));
    vt_check(vt_plan_write(f.plan, in, x, (size_t)(c * S) * sizeof *x));
    vt_check(vt_plan_run(f.plan, 0));
    vt_check(vt_plan_read(f.plan, out, got, O * S));
    ref_conv(want, xd, wd, 0, 1, c, 1, S, O, 1, 1, 1, pad);
    cr_expect(vt_near("exact", got, want, O * S, 1e-7, 0));
    vt_fixture_close(&f);
}
