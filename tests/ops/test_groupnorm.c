/*
 * test_groupnorm.c - group norm, then residual and ReLU.
 */
#include "ref/ref.h"
#include "support/oneplan.h"

#include <criterion/criterion.h>

static vt_val build(vt_plan *p, const vt_val *in, const vt_case *c)
{
    return vt_groupnorm(p, in[0], in[1], in[2], c->arg[0], 1e-5f, in[3],
                        c->arg[1]);
}

static void ref(double *out, const double *const *in, const vt_case *c)
{
    const int *d = c->in[0].dim;

    ref_groupnorm(out, in[0], in[1], in[2], in[3], d[0], d[1], d[2] * d[3],
                  c->arg[0], 1e-5, c->arg[1]);
}

#define X(B, C, H, W)                                                          \
    {                                                                          \
        .rank = 4, .dim = {B, C, H, W}, .shift = 0.5                           \
    }
#define G(C)                                                                   \
    {                                                                          \
        .rank = 1, .dim = {C}, .param = true, .shift = 1                       \
    }

Test(groupnorm, all)
{
    for (int relu = 0; relu < 2; relu++) {
        const vt_case cases[] = {
            {.name = "2 channels of 1",
             .in = {X(1, 2, 1, 1), G(2), G(2), {.none = true}},
             .no_grad = true, /* but rounding */
             .arg = {1, relu}},
            {.name = "2x6 of 3x5, 3 groups",
             .in = {X(2, 6, 3, 5), G(6), G(6), {.none = true}},
             .arg = {3, relu}},
            {.name = "residual",
             .in = {X(2, 4, 3, 7), G(4), G(4), X(2, 4, 3, 7)},
             .arg = {2, relu}},
            {.name = "1x64 of 14x14, 32 groups",
             .in = {X(1, 64, 14, 14), G(64), G(64), X(1, 64, 14, 14)},
             .arg = {32, relu}},
            {.name = "mean 1e3",
             .in = {{.rank = 4, .dim = {1, 4, 5, 7}, .shift = 1e3},
                    G(4),
                    G(4),
                    {.none = true}},
             .arg = {2, relu},
             .no_grad = true,
             .atol = 1e-3}, /* the inputs have 3 decimal digits */
            {0}};

        vt_check_ops(cases, build, ref);
    }
}
