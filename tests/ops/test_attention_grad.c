/*
 * test_attention_grad.c - gradients of q, k, v and the bias.
 */
#include "ref/ref.h"
#include "support/oneplan.h"

#include <criterion/criterion.h>
#include <math.h>

/* in qkv, bias; arg: heads */
static vt_val build(vt_plan *p, const vt_val *in, const vt_case *c)
{
    return vt_attention(p, in[0],
                        (vt_attention_args){.heads = c->arg[0], .bias = in[1]});
}

static void ref(double *out, const double *const *in, const vt_case *c)
{
    const int *x = c->in[0].dim, C = x[2] / 3, D = C / c->arg[0];

    ref_heads(out, in[0], in[0] + C, in[0] + 2 * C, in[1], x[0], c->arg[0], D,
              x[1], x[1], 3 * C, 3 * C, 1 / sqrt(D), c->in[1].rank == 4);
}

/* in q, kv, bias; arg: heads */
static vt_val build_cross(vt_plan *p, const vt_val *in, const vt_case *c)
{
    return vt_attention_cross(
        p, in[0], in[1],
        (vt_attention_args){.heads = c->arg[0], .bias = in[2], .scale = 0.3f});
}

static void ref_cross(double *out, const double *const *in, const vt_case *c)
{
    const int *q = c->in[0].dim, *kv = c->in[1].dim, C = q[2];

    ref_heads(out, in[0], in[1], in[1] + C, in[2], q[0], c->arg[0],
              C / c->arg[0], q[1], kv[1], C, 2 * C, (double)0.3f,
              c->in[2].rank == 4);
}

#define QKV(B, T, C)                                                           \
    {                                                                          \
        .rank = 3, .dim = { B, T, 3 * C }                                      \
    }
#define BIAS(H, Tq, T)                                                         \
    {                                                                          \
        .rank = 3, .dim = {H, Tq, T}, .param = true                            \
    }

Test(attention_grad, self)
{
    static const vt_case cases[] = {
        {.name = "1 token of 1",
         .in = {QKV(1, 1, 1), {.none = true}},
         .arg = {1}},
        {.name = "2x5, 2 heads of 3",
         .in = {QKV(2, 5, 6), {.none = true}},
         .arg = {2}},
        {.name = "1x17, 1 head of 8",
         .in = {QKV(1, 17, 8), {.none = true}},
         .arg = {1}},
        {.name = "2x9, 3 heads of 5, bias",
         .in = {QKV(2, 9, 15), BIAS(3, 9, 9)},
         .arg = {3}},
        {.name = "2x9, 3 heads of 5, biases",
         .in = {QKV(2, 9, 15), {.rank = 4, .dim = {2, 3, 9, 9}, .param = true}},
         .arg = {3}},
        {.name = "1x35, 1 head of 20",
         .in = {QKV(1, 35, 20), {.none = true}},
         .arg = {1}},
        {.name = "1x6, 1 head of 64",
         .in = {QKV(1, 6, 64), {.none = true}},
         .arg = {1}},
        {0}};

    vt_check_ops(cases, build, ref);
}

Test(attention_grad, cross)
{
    static const vt_case cases[] = {{.name = "2x3 to 2x7, 2 heads of 4",
                                     .in = {{.rank = 3, .dim = {2, 3, 8}},
                                            {.rank = 3, .dim = {2, 7, 16}},
                                            {.none = true}},
                                     .arg = {2}},
                                    {.name = "1x19 to 1x2, bias",
                                     .in = {{.rank = 3, .dim = {1, 19, 6}},
                                            {.rank = 3, .dim = {1, 2, 12}},
                                            BIAS(2, 19, 2)},
                                     .arg = {2}},
                                    {0}};

    vt_check_ops(cases, build_cross, ref_cross);
}
