/*
 * test_weight_standardise.c - standardise filters to mean 0 and variance 1.
 */
#include "ref/ref.h"
#include "support/oneplan.h"

#include <criterion/criterion.h>

static vt_val build(vt_plan *p, const vt_val *in, const vt_case *c)
{
    (void)c;
    return vt_weight_standardise(p, in[0], 1e-6f);
}

static void ref(double *out, const double *const *in, const vt_case *c)
{
    const int *d = c->in[0].dim;

    ref_weight_standardise(out, in[0], d[0], d[1] * d[2] * d[3], 1e-6);
}

Test(weight_standardise, all)
{
    static const vt_case cases[] = {
        {.name = "3 of 2x1x1",
         .in = {{.rank = 4, .dim = {3, 2, 1, 1}, .param = true}},
         .no_grad = true}, /* but rounding */
        {.name = "5 of 3x3x3",
         .in = {{.rank = 4, .dim = {5, 3, 3, 3}, .param = true}}},
        {.name = "a tensor of a step",
         .in = {{.rank = 4, .dim = {2, 5, 7, 1}, .shift = 3}}},
        {.name = "64 of 64x3x3",
         .in = {{.rank = 4, .dim = {64, 64, 3, 3}, .param = true}}},
        {.name = "equal weights",
         .in = {{.rank = 4,
                 .dim = {2, 5, 1, 1},
                 .param = true,
                 .same = true,
                 .shift = 2}},
         .no_grad = true},
        {0}};

    vt_check_ops(cases, build, ref);
}

/* A convolution whose weights a step made: the hybrid stem. */
static vt_val build_conv(vt_plan *p, const vt_val *in, const vt_case *c)
{
    (void)c;
    return vt_conv(p, in[0], vt_weight_standardise(p, in[1], 1e-6f), 2, 1, 1, 1,
                   1);
}

static void ref_stem(double *out, const double *const *in, const vt_case *c)
{
    double w[100];
    int pad[4] = {1, 1, 1, 1};

    (void)c;
    ref_weight_standardise(w, in[1], 4, 18, 1e-6);
    ref_conv(out, in[0], w, 0, 2, 2, 5, 7, 4, 3, 3, 2, pad);
}

Test(weight_standardise, stem)
{
    static const vt_case c = {
        .name = "stem",
        .in = {{.rank = 4, .dim = {2, 2, 5, 7}},
               {.rank = 4, .dim = {4, 2, 3, 3}, .param = true}}};

    vt_check_op(&c, build_conv, ref_stem);
}
