/*
 * test_halves.c - ops on tokens whose values are stored in 16 bits.
 */
#include "ref/ref.h"
#include "support/attention.h"
#include "support/halves.h"
#include "support/linear.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

/* ---- the ops ---- */

static vt_val layernorm(vt_plan *p, const vt_val *in, const vt_case *c)
{
    return c->arg[0]
               ? vt_layernorm_rows(p, in[0], in[1], in[2], 1e-6f, c->arg[0])
               : vt_layernorm(p, in[0], in[1], in[2], 1e-6f);
}

static void ref_of_layernorm(double *out, const double *const *in,
                             const vt_case *c)
{
    const int *d = c->in[0].dim;

    ref_layernorm(out, in[0], in[1], in[2], d[0], d[1], d[2],
                  c->arg[0] ? c->arg[0] : d[1], 1e-6, 0);
}

Test(halves, layernorm)
{
    static const vt_case cases[] = {
        {.name = "layernorm 3x5x33", .in = {X(3, 5, 33), P(1, 33), P(1, 33)}},
        {.name = "layernorm 2x2x1031", .in = {X(2, 2, 1031), NONE, P(1, 1031)}},
        {.name = "layernorm, first two",
         .in = {X(2, 5, 40), P(1, 40), NONE},
         .arg = {2}},
        {0}};

    vt_check_halves(cases, layernorm, ref_of_layernorm);
}

Test(halves, linear)
{
    static const vt_case cases[] = {
        {.name = "linear 2x3x5 by 7",
         .in = {X(2, 3, 5), P(7, 5), P(1, 7), NONE, NONE}},
        {.name = "linear, GELU",
         .in = {X(2, 19, 33), P(35, 33), P(1, 35), NONE, NONE},
         .arg = {VT_ACT_GELU}},
        {.name = "linear, residual, rows of 16 bytes",
         .in = {X(2, 17, 40), P(13, 40), P(1, 13), NONE, X(2, 17, 13)}},
        {.name = "linear, tanh, scale, residual",
         .in = {X(2, 3, 5), P(11, 5), P(1, 11), P(1, 11), X(2, 3, 11)},
         .arg = {VT_ACT_TANH}},
        {0}};

    vt_check_halves(cases, vt_test_linear, vt_test_linear_ref);
}

/* Matrix units, which read and write the same storage. */
Test(halves, matrix_units)
{
    static const vt_case cases[] = {
        {.name = "units 2x19x33 by 35, GELU",
         .in = {X(2, 19, 33), P(35, 33), P(1, 35), NONE, NONE},
         .arg = {VT_ACT_GELU}},
        {.name = "units 2x17x40 by 13, residual",
         .in = {X(2, 17, 40), P(13, 40), P(1, 13), NONE, X(2, 17, 13)}},
        {0}};

    setenv("VITCL_MMA", "emulate", 1);
    vt_check_halves(cases, vt_test_linear, vt_test_linear_ref);
    unsetenv("VITCL_MMA");
}

Test(halves, attention)
{
    static const vt_case cases[] = {
        {.name = "attention to others",
         .in = {X(2, 3, 12), X(2, 7, 24), NONE},
         .arg = {3}},
        {.name = "attention to columns",
         .in = {X(2, 12, 24), NONE, NONE},
         .arg = {2, VT_TO_COLUMNS, 4}},
        {.name = "attention 2x67, 3 heads of 5",
         .in = {X(2, 67, 45), NONE, NONE},
         .arg = {3}},
        {.name = "attention 2x19, 1 head of 64",
         .in = {X(2, 19, 192), NONE, NONE},
         .arg = {1}},
        {.name = "attention of the first 2 of 19",
         .in = {X(2, 19, 45), NONE, NONE},
         .arg = {3, 0, 0, 2}},
        {.name = "attention with a bias",
         .in = {X(2, 7, 24),
                NONE,
                {.rank = 3, .dim = {2, 7, 7}, .param = true}},
         .arg = {2}},
        {0}};

    vt_check_halves(cases, vt_test_attention, vt_test_attention_ref);
}

static vt_val embed(vt_plan *p, const vt_val *in, const vt_case *c)
{
    return vt_embed(p, in[0], in + 1, c->arg[0], in[2], c->arg[0]);
}

static void ref_of_embed(double *out, const double *const *in, const vt_case *c)
{
    const int *d = c->in[0].dim;

    ref_embed(out, in[0], in + 1, (int[]){1}, c->arg[0], in[2], c->arg[0], d[0],
              d[1], d[2]);
}

Test(halves, embed)
{
    static const vt_case cases[] = {
        {.name = "embed 3x5x33",
         .in = {X(3, 5, 33), P(1, 33), P(6, 33)},
         .arg = {1}},
        {.name = "embed, positions only", .in = {X(2, 3, 7), NONE, P(3, 7)}},
        {0}};

    vt_check_halves(cases, embed, ref_of_embed);
}

static vt_val pool(vt_plan *p, const vt_val *in, const vt_case *c)
{
    return vt_pool(p, in[0], (vt_pool_kind)c->arg[0], c->arg[1]);
}

static void ref_of_pool(double *out, const double *const *in, const vt_case *c)
{
    const int *d = c->in[0].dim;

    ref_pool(out, in[0], d[0], d[1], d[2], c->arg[0], c->arg[1]);
}

Test(halves, pool)
{
    static const vt_case cases[] = {
        {.name = "pool, token", .in = {X(3, 5, 33)}},
        {.name = "pool, mean", .in = {X(2, 7, 19)}, .arg = {1, 2}},
        {.name = "pool, token and mean", .in = {X(2, 5, 9)}, .arg = {2, 1}},
        {.name = "pool, maximum", .in = {X(2, 5, 21)}, .arg = {3, 1}},
        {0}};

    vt_check_halves(cases, pool, ref_of_pool);
}

static vt_val patch(vt_plan *p, const vt_val *in, const vt_case *c)
{
    return vt_patch(p, in[0], c->arg[0], c->arg[1]);
}

static void ref_of_patch(double *out, const double *const *in, const vt_case *c)
{
    const int *d = c->in[0].dim;

    ref_patch(out, in[0], d[0], d[1], d[2], d[3], c->arg[0], c->arg[1]);
}

Test(halves, patch)
{
    static const vt_case cases[] = {{.name = "patch 3x5",
                                     .in = {{.rank = 4, .dim = {2, 3, 11, 17}}},
                                     .arg = {3, 5}},
                                    {0}};

    vt_check_halves(cases, patch, ref_of_patch);
}

static vt_val slice(vt_plan *p, const vt_val *in, const vt_case *c)
{
    return vt_slice(p, in[0], c->arg[0], c->arg[1]);
}

static void ref_of_slice(double *out, const double *const *in, const vt_case *c)
{
    const int *d = c->in[0].dim;

    ref_slice(out, in[0], d[0], d[1], d[2], c->arg[0], c->arg[1]);
}

Test(halves, slice)
{
    static const vt_case cases[] = {
        {.name = "slice 3x5x33", .in = {X(3, 5, 33)}, .arg = {1, 3}}, {0}};

    vt_check_halves(cases, slice, ref_of_slice);
}

/* ---- the choice ---- */

static vt_dtype between(vt_plan_options o, bool read_by_f32)
{
    vt_dtype t;
    vt_fixture f;
    vt_val x, y;

    o.gemm = o.precision == VITCL_INT8 ? "native" : "plain";
    vt_fixture_open_as(&f, o);
    x = vt_input(f.plan, "x", VT_F32, 3, (int[]){1, 2, 3});
    y = vt_halves_copy(f.plan, x);
    vt_halves_copy(f.plan, y);
    if (read_by_f32)
        vt_activation(f.plan, y, VT_ACT_RELU);
    vt_check(vt_plan_finish(f.plan));
    t = vt_value_of(f.plan, y)->dtype;
    vt_fixture_close(&f);
    return t;
}

Test(halves, are_for_inference_on_gpus)
{
    const vt_plan_options o = {.device_class = VT_CLASS_GPU,
                               .precision = VITCL_BF16};
    vt_plan_options other = o;

    cr_expect_eq(between(o, false), VT_BF16);
    cr_expect_eq(between(o, true), VT_F32);
    other.device_class = VT_CLASS_CPU;
    cr_expect_eq(between(other, false), VT_F32);
    other = o, other.precision = VITCL_F32;
    cr_expect_eq(between(other, false), VT_F32);
    other = o, other.backward = true;
    cr_expect_eq(between(other, false), VT_F32);
    other = o, other.train = true;
    cr_expect_eq(between(other, false), VT_F32);
}

/* An int8 plan, where attention is on a matrix unit: in bf16, or in f16 if the
 * unit has no bf16. */
Test(halves, of_int8_are_those_of_attention)
{
    static const struct {
        const char *word;
        vt_dtype want;
    } all[] = {{"emulate", VT_BF16},
               {"emulate-mma8", VT_F16},
               {"emulate-dot8", VT_F32},
               {"off", VT_F32}};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        setenv("VITCL_MMA", all[i].word, 1);
        cr_expect_eq(between((vt_plan_options){.device_class = VT_CLASS_GPU,
                                               .precision = VITCL_INT8},
                             false),
                     all[i].want, "%s", all[i].word);
    }
    unsetenv("VITCL_MMA");
}

/* How an int8 plan stores the output of x w^T. packed: w is constant. */
static vt_dtype product(int rank, bool packed)
{
    static const float numbers[64 * 16];
    const int dim[] = {1, 2, 16}, wide[] = {64, 16};
    vt_linear_args a = {.b = VT_NONE, .scale = VT_NONE, .residual = VT_NONE};
    vt_dtype t;
    vt_fixture f;
    vt_val x, y;

    vt_fixture_open_as(&f, (vt_plan_options){.device_class = VT_CLASS_GPU,
                                             .precision = VITCL_INT8,
                                             .gemm = "native"});
    a.w = packed ? vt_fixture_param(&f, "w", 2, wide, numbers)
                 : vt_input(f.plan, "w", VT_F32, 2, wide);
    if (rank == 4) { /* of patches */
        x = vt_input(f.plan, "x", VT_F32, 4, (int[]){1, 1, 4, 8});
        x = vt_patch(f.plan, x, 4, 4);
    } else {
        x = vt_halves_copy(f.plan, vt_input(f.plan, "x", VT_F32, 3, dim));
    }
    y = vt_linear(f.plan, x, a);
    vt_halves_copy(f.plan, y);
    vt_check(vt_plan_finish(f.plan));
    cr_expect_eq(vt_value_of(f.plan, x)->dtype, vt_value_of(f.plan, y)->dtype);
    t = vt_value_of(f.plan, y)->dtype;
    vt_fixture_close(&f);
    return t;
}

Test(halves, of_int8_are_not_around_products_in_f32)
{
    setenv("VITCL_MMA", "emulate", 1);
    cr_expect_eq(product(3, true), VT_BF16);
    cr_expect_eq(product(3, false), VT_F32);
    cr_expect_eq(product(4, true), VT_F32);
    unsetenv("VITCL_MMA");
}
