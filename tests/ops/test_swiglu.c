/*
 * test_swiglu.c - gated units.
 */
#include "ref/ref.h"
#include "support/oneplan.h"

#include <criterion/criterion.h>

static vt_val build(vt_plan *p, const vt_val *in, const vt_case *c)
{
    (void)c;
    return vt_swiglu(p, in[0]);
}

static void ref(double *out, const double *const *in, const vt_case *c)
{
    const int *d = c->in[0].dim;

    ref_swiglu(out, in[0], d[0] * d[1], d[2] / 2);
}

Test(swiglu, all)
{
    static const vt_case cases[] = {
        {.name = "one", .in = {{.rank = 3, .dim = {1, 1, 2}}}},
        {.name = "2x5x17", .in = {{.rank = 3, .dim = {2, 5, 34}, .scale = 3}}},
        {.name = "2x65x1100",
         .in = {{.rank = 3, .dim = {2, 65, 2200}, .scale = 3}}},
        {0}};

    vt_check_ops(cases, build, ref);
}
