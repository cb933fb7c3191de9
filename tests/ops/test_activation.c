/*
 * test_activation.c - activations as separate steps.
 */
#include "ref/ref.h"
#include "support/oneplan.h"

#include <criterion/criterion.h>

static vt_val build(vt_plan *p, const vt_val *in, const vt_case *c)
{
    return vt_activation(p, in[0], (vt_act)c->arg[0]);
}

static void ref(double *out, const double *const *in, const vt_case *c)
{
    const int *d = c->in[0].dim;

    ref_activation(out, in[0], d[0] * d[1], c->arg[0]);
}

Test(activation, all)
{
    for (int act = VT_ACT_NONE; act <= VT_ACT_SILU; act++) {
        const vt_case cases[] = {
            {.name = "one", .in = {{.rank = 2, .dim = {1, 1}}}, .arg = {act}},
            {.name = "31", .in = {{.rank = 2, .dim = {1, 31}}}, .arg = {act}},
            {.name = "7x33, wide",
             .in = {{.rank = 2, .dim = {7, 33}, .scale = 6}},
             .arg = {act}},
            /* far from zero the answer is x, 0 or +-1, never NaN */
            {.name = "1e4",
             .in = {{.rank = 2, .dim = {7, 17}, .scale = 1e4}},
             .arg = {act},
             .no_grad = true},
            {.name = "197x1025",
             .in = {{.rank = 2, .dim = {197, 1025}, .scale = 3}},
             .arg = {act}},
            {0}};

        vt_check_ops(cases, build, ref);
    }
}
