/*
 * test_maxpool.c - the largest of each window.
 */
#include "ref/ref.h"
#include "support/oneplan.h"

#include <criterion/criterion.h>

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
     * --uninitialized, which a stride of 2 takes from four windows a row on:
     * the first case. */
    vt_check_ops(vt_test_tiny() ? cases + 1 : cases, build, ref);
}

/* Of equal numbers the first has the whole gradient, as in torch. */
Test(maxpool, ties)
{
    vt_fixture f;
    float x[9], grad[9], one[4] = {1, 1, 1, 1};
    /* windows at (0,0), (0,1), (1,0), (1,1): each its upper left */
    const float want[9] = {1, 1, 0, 1, 1, 0, 0, 0, 0};

    for (int i = 0; i < 9; i++)
        x[i] = 2;
    vt_fixture_open(&f, VT_CLASS_GPU, true);
    vt_val v = vt_fixture_param(&f, "x", 4, (int[]){1, 1, 3, 3}, x);
    vt_val y = vt_maxpool(f.plan, v, 2, 1, 0, 0, 0, 0);
    vt_val g = vt_input(f.plan, "g", VT_F32, 4, (int[]){1, 1, 2, 2});
    vt_plan_backward(f.plan, vt_seed_gradient(f.plan, y, g), vt_add);
    vt_check(vt_plan_finish(f.plan));
    vt_check(vt_plan_write(f.plan, g, one, sizeof one));
    vt_check(vt_plan_run(f.plan, 0));
    vt_check(vt_plan_read(f.plan, vt_grad(f.plan, v), grad, 9));
    for (int i = 0; i < 9; i++)
        cr_expect_float_eq(grad[i], want[i], 0, "%d: %g", i, (double)grad[i]);
    vt_fixture_close(&f);
}
