/*
 * test_mul.c - products of tensors with tensors, rows and scalars.
 */
#include "ref/ref.h"
#include "support/oneplan.h"

#include <criterion/criterion.h>

static vt_val build(vt_plan *p, const vt_val *in, const vt_case *c)
{
    (void)c;
    return vt_scale(p, vt_multiply(p, in[0], in[1]), -1.5f);
}

static void ref(double *out, const double *const *in, const vt_case *c)
{
    int n = c->in[0].dim[0] * c->in[0].dim[1];

    ref_mul(out, in[0], in[1], n);
    for (int i = 0; i < n; i++)
        out[i] *= -1.5;
}

/* Layer scale as a separate step, as in training. */
static vt_val build_rows(vt_plan *p, const vt_val *in, const vt_case *c)
{
    (void)c;
    return vt_linear(
        p, in[0],
        (vt_linear_args){
            .w = in[1], .b = VT_NONE, .scale = in[2], .residual = VT_NONE});
}

static void ref_rows(double *out, const double *const *in, const vt_case *c)
{
    const int *x = c->in[0].dim, n = c->in[1].dim[0];
    double tmp[4096];

    ref_linear(tmp, in[0], in[1], 0, 0, 0, x[0] * x[1], n, x[2], 0);
    ref_mul_rows(out, tmp, in[2], x[0] * x[1], n);
}

Test(mul, all)
{
    static const vt_case cases[] = {
        {.name = "1x1",
         .in = {{.rank = 2, .dim = {1, 1}}, {.rank = 2, .dim = {1, 1}}}},
        {.name = "5x13",
         .in = {{.rank = 2, .dim = {5, 13}}, {.rank = 2, .dim = {5, 13}}}},
        {.name = "197x193",
         .in = {{.rank = 2, .dim = {197, 193}},
                {.rank = 2, .dim = {197, 193}}}},
        {0}};
    static const vt_case rows[] = {
        {.name = "2x3x4, 5",
         .in = {{.rank = 3, .dim = {2, 3, 4}},
                {.rank = 2, .dim = {5, 4}, .param = true},
                {.rank = 1, .dim = {5}, .param = true}}},
        {.name = "1x11x3, 67",
         .in = {{.rank = 3, .dim = {1, 11, 3}},
                {.rank = 2, .dim = {67, 3}, .param = true},
                {.rank = 1, .dim = {67}, .param = true}}},
        {0}};

    vt_check_ops(cases, build, ref);
    vt_check_ops(rows, build_rows, ref_rows);
}
