/*
 * test_linear.c - linear layers with every epilogue, and their gradients.
 */
#include "base/memory.h"
#include "plan/plan_private.h"
#include "ref/ref.h"
#include "support/linear.h"
#include "support/skip.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define X(B, T, K)                                                             \
    {                                                                          \
        .rank = 3, .dim = { B, T, K }                                          \
    }
#define W(N, K)                                                                \
    {                                                                          \
        .rank = 2, .dim = {N, K}, .param = true                                \
    }
#define B(N)                                                                   \
    {                                                                          \
        .rank = 1, .dim = {N}, .param = true                                   \
    }
#define NONE                                                                   \
    {                                                                          \
        .none = true                                                           \
    }

Test(linear, all)
{
    static const vt_case cases[] = {
        {.name = "1x1x1 by 1", .in = {X(1, 1, 1), W(1, 1), NONE, NONE, NONE}},
        {.name = "2x3x5 by 7", .in = {X(2, 3, 5), W(7, 5), B(7), NONE, NONE}},
        {.name = "GELU",
         .in = {X(2, 3, 5), W(7, 5), B(7), NONE, NONE},
         .arg = {VT_ACT_GELU}},
        {.name = "tanh, scale, residual",
         .in = {X(2, 3, 5), W(11, 5), B(11), B(11), X(2, 3, 11)},
         .arg = {VT_ACT_TANH}},
        {.name = "residual",
         .in = {X(1, 17, 9), W(13, 9), B(13), NONE, X(1, 17, 13)}},
        {.name = "head of rank 2",
         .in = {{.rank = 2, .dim = {3, 33}}, W(10, 33), B(10), NONE, NONE}},
        {.name = "64x64x64 but one",
         .in = {X(1, 63, 65), W(63, 65), B(63), NONE, NONE},
         .no_grad = true},
        {.name = "2x197x192 by 576",
         .in = {X(2, 197, 192), W(576, 192), B(576), NONE, NONE},
         .arg = {VT_ACT_GELU_QUICK},
         .atol = 1e-4}, /* 192 products of size 3 */
        {0}};
    /* A simulator takes seconds for a tile: two cases of each form. */
    const vt_case few[] = {cases[3], cases[4], {0}};

    vt_check_ops(vt_test_tiny() ? few : cases, vt_test_linear,
                 vt_test_linear_ref);
}

/* The gradient of an activation before a layer may be part of the layer's
 * product. */
static vt_val build_after(vt_plan *p, const vt_val *in, const vt_case *c)
{
    return vt_linear(
        p, vt_activation(p, in[0], (vt_act)c->arg[0]),
        (vt_linear_args){
            .w = in[1], .b = VT_NONE, .scale = VT_NONE, .residual = VT_NONE});
}

static void ref_after(double *out, const double *const *in, const vt_case *c)
{
    const int *d = c->in[0].dim, n = d[0] * d[1] * d[2];
    double *y = malloc((size_t)n * sizeof *y);

    cr_assert(y);
    ref_activation(y, in[0], n, c->arg[0]);
    ref_linear(out, y, in[1], NULL, NULL, NULL, d[0] * d[1], c->in[1].dim[0],
               d[2], VT_ACT_NONE);
    free(y);
}

Test(linear, after_an_activation)
{
    static const int acts[] = {VT_ACT_GELU, VT_ACT_MISH};

    for (size_t i = 0; i < VT_COUNT(acts); i++) {
        const int act = acts[i];
        const vt_case cases[] = {
            {.name = "2x3x17", .in = {X(2, 3, 17), W(5, 17)}, .arg = {act}},
            {0}};

        vt_check_ops(cases, build_after, ref_after);
    }
}

Test(linear, refuses)
{
    vt_fixture f;

    vt_fixture_open(&f, VT_CLASS_CPU, false);
    vt_val x = vt_input(f.plan, "x", VT_F32, 2, (int[]){3, 4});
    vt_val w = vt_param(f.plan, "head.weight", 2, (int[]){5, 6});
    cr_expect_eq(vt_linear(f.plan, x,
                           (vt_linear_args){.w = w,
                                            .b = VT_NONE,
                                            .scale = VT_NONE,
                                            .residual = VT_NONE}),
                 VT_NONE);
    cr_expect_eq(vt_plan_status(f.plan), VITCL_EINVAL);
    cr_expect(strstr(vt_message(), "head.weight has 6 columns"), "%s",
              vt_message());
    vt_fixture_close(&f);
}

/* Operands that do not have the output's size would be read beyond their
 * end. */
Test(linear, refuses_parts)
{
    static const struct {
        int bias, scale, residual[3];
        const char *says;
    } all[] = {
        {4, 5, {2, 3, 5}, "one number an output"},
        {5, 6, {2, 3, 5}, "one number an output"},
        {5, 5, {1, 3, 5}, "residual differs"},
        {5, 5, {2, 3, 4}, "residual differs"},
        {5, 5, {3, 2, 6}, "residual differs"},
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        vt_fixture f;

        vt_fixture_open(&f, VT_CLASS_CPU, false);
        const vt_linear_args a = {
            .w = vt_param(f.plan, "w", 2, (int[]){5, 4}),
            .b = vt_param(f.plan, "b", 1, (int[]){all[i].bias}),
            .scale = vt_param(f.plan, "s", 1, (int[]){all[i].scale}),
            .residual = vt_input(f.plan, "r", VT_F32, 3, all[i].residual)};
        vt_val x = vt_input(f.plan, "x", VT_F32, 3, (int[]){2, 3, 4});
        cr_expect_eq(vt_linear(f.plan, x, a), VT_NONE, "case %zu", i);
        cr_expect_eq(vt_plan_status(f.plan), VITCL_EINVAL);
        cr_expect(strstr(vt_message(), all[i].says), "%s", vt_message());
        vt_fixture_close(&f);
    }
}

/* In int8 plans the patches and the classifier are multiplied in f32, as the
 * names of the kernels show. */
Test(linear, delicate_layers)
{
    static float wp[8 * 12], wm[8 * 8], wh[5 * 8];
    const vt_plan_options o = {.device_class = VT_CLASS_CPU,
                               .gemm = "native",
                               .precision = VITCL_INT8};
    vt_linear_args a = {.b = VT_NONE, .scale = VT_NONE, .residual = VT_NONE};
    int layer = 0;
    vt_fixture f;

    if (vt_test_tiny()) /* the test only looks at the plan */
        vt_skip("no arithmetic");
    setenv("VITCL_DOT", "off", 1); /* so that int8 has only one name */
    vt_fixture_open_as(&f, o);
    vt_val x = vt_input(f.plan, "x", VT_F32, 4, (int[]){1, 3, 4, 6});
    x = vt_patch(f.plan, x, 2, 2);
    a.w = vt_fixture_param(&f, "wp", 2, (int[]){8, 12}, wp);
    x = vt_linear(f.plan, x, a);
    a.w = vt_fixture_param(&f, "wm", 2, (int[]){8, 8}, wm);
    x = vt_linear(f.plan, x, a);
    x = vt_pool(f.plan, x, VT_POOL_MEAN, 0);
    a.w = vt_fixture_param(&f, "wh", 2, (int[]){5, 8}, wh);
    x = vt_linear(f.plan, x, a);
    vt_keep(f.plan, x);
    vt_check(vt_plan_finish(f.plan));
    for (size_t i = 0; i < f.plan->steps; i++)
        if (strcmp(f.plan->step[i]->op->name, "linear") == 0) {
            const char *kernel = vt_gemm_describe(f.plan->step[i]->gemm);
            cr_expect(strstr(kernel, layer == 1 ? " i8" : " f32"),
                      "layer %d: %s", layer, kernel);
            layer++;
        }
    cr_expect_eq(layer, 3);
    vt_fixture_close(&f);
}
