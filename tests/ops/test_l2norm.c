/*
 * test_l2norm.c - rows of length 1.
 */
#include "ref/ref.h"
#include "support/oneplan.h"

#include <criterion/criterion.h>

static vt_val build(vt_plan *p, const vt_val *in, const vt_case *c)
{
    (void)c;
    return vt_l2norm(p, in[0]);
}

static void ref(double *out, const double *const *in, const vt_case *c)
{
    const int *d = c->in[0].dim;

    ref_l2norm(out, in[0], d[0], d[1]);
}

Test(l2norm, all)
{
    static const vt_case cases[] = {
        {.name = "1x1", .in = {{.rank = 2, .dim = {1, 1}}}},
        {.name = "3x17", .in = {{.rank = 2, .dim = {3, 17}}}},
        {.name = "2x769", .in = {{.rank = 2, .dim = {2, 769}}}},
        {.name = "zero",
         .in = {{.rank = 2, .dim = {2, 5}, .same = true}},
         .no_grad = true},
        {0}};

    vt_check_ops(cases, build, ref);
}
