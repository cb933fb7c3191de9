/*
 * test_patch.c - patch rows, and that a linear layer on them is a strided
 * convolution.
 */
#include "ref/ref.h"
#include "support/oneplan.h"

#include <criterion/criterion.h>

static vt_val build(vt_plan *p, const vt_val *in, const vt_case *c)
{
    return vt_patch_first(p, in[0], c->arg[2], c->arg[0], c->arg[1]);
}

static void ref(double *out, const double *const *in, const vt_case *c)
{
    const int *d = c->in[0].dim;
    const int plane = d[2] * d[3], used = c->arg[2] ? c->arg[2] : d[1];
    const int rows =
        (d[2] / c->arg[0]) * (d[3] / c->arg[1]) * c->arg[0] * c->arg[1] * used;

    for (int b = 0; b < d[0]; b++)
        ref_patch(out + b * rows, in[0] + b * d[1] * plane, 1, used, d[2], d[3],
                  c->arg[0], c->arg[1]);
}

Test(patch, rows)
{
    static const vt_case cases[] = {
        {.name = "1x1",
         .in = {{.rank = 4, .dim = {1, 1, 1, 1}}},
         .arg = {1, 1}},
        {.name = "2x3 of 5x7, a rest left over",
         .in = {{.rank = 4, .dim = {2, 3, 5, 7}}},
         .arg = {2, 3}},
        {.name = "the first of three channels",
         .in = {{.rank = 4, .dim = {2, 3, 9, 7}}},
         .arg = {2, 3, 1}},
        {.name = "one patch",
         .in = {{.rank = 4, .dim = {1, 3, 9, 11}}},
         .arg = {9, 11}},
        {.name = "14 of 42x28",
         .in = {{.rank = 4, .dim = {2, 3, 42, 28}}},
         .arg = {14, 14}},
        {.name = "16 of 224",
         .in = {{.rank = 4, .dim = {1, 3, 224, 224}}},
         .arg = {16, 16}},
        {0}};

    vt_check_ops(cases, build, ref);
}

static vt_val build_linear(vt_plan *p, const vt_val *in, const vt_case *c)
{
    const int *w = c->in[1].dim;

    return vt_linear(
        p, vt_patch(p, in[0], w[2], w[3]),
        (vt_linear_args){
            .w = in[1], .b = in[2], .scale = VT_NONE, .residual = VT_NONE});
}

/* conv's planes, as tokens */
static void ref_convolution(double *out, const double *const *in,
                            const vt_case *c)
{
    const int *x = c->in[0].dim, *w = c->in[1].dim;
    int n = (x[2] / w[2]) * (x[3] / w[3]), pad[4] = {0};
    static double planes[100000];

    ref_conv(planes, in[0], in[1], in[2], x[0], x[1], x[2], x[3], w[0], w[2],
             w[3], w[2], pad);
    ref_to_tokens(out, planes, x[0], w[0], n);
}

Test(patch, convolution)
{
    static const vt_case cases[] = {
        {.name = "3x6x9 by 3, to 5",
         .in = {{.rank = 4, .dim = {2, 3, 6, 9}},
                {.rank = 4, .dim = {5, 3, 3, 3}, .param = true},
                {.rank = 1, .dim = {5}, .param = true}}},
        {.name = "no bias",
         .in = {{.rank = 4, .dim = {1, 2, 4, 4}},
                {.rank = 4, .dim = {1, 2, 4, 4}, .param = true},
                {.none = true}}},
        {.name = "3x48x32 by 16, to 65",
         .in = {{.rank = 4, .dim = {2, 3, 48, 32}},
                {.rank = 4, .dim = {65, 3, 16, 16}, .param = true},
                {.rank = 1, .dim = {65}, .param = true}},
         .no_grad = true,
         .atol = 2e-4},
        {0}};

    vt_check_ops(cases, build_linear, ref_convolution);
}
