/*
 * test_slice.c - a range of the tokens.
 */
#include "ref/ref.h"
#include "support/oneplan.h"

#include <criterion/criterion.h>

static vt_val build(vt_plan *p, const vt_val *in, const vt_case *c)
{
    return vt_slice(p, in[0], c->arg[0], c->arg[1]);
}

static void ref(double *out, const double *const *in, const vt_case *c)
{
    const int *d = c->in[0].dim;

    ref_slice(out, in[0], d[0], d[1], d[2], c->arg[0], c->arg[1]);
}

Test(slice, all)
{
    static const vt_case cases[] = {{.name = "the only token",
                                     .in = {{.rank = 3, .dim = {1, 1, 1}}},
                                     .arg = {0, 1}},
                                    {.name = "2..4 of 7",
                                     .in = {{.rank = 3, .dim = {3, 7, 13}}},
                                     .arg = {2, 3}},
                                    {.name = "all but the first",
                                     .in = {{.rank = 3, .dim = {2, 50, 192}}},
                                     .arg = {1, 49}},
                                    {0}};
    vt_fixture f;

    vt_check_ops(cases, build, ref);
    vt_fixture_open(&f, VT_CLASS_CPU, false);
    vt_val x = vt_input(f.plan, "x", VT_F32, 3, (int[]){2, 3, 4});
    cr_expect_eq(vt_slice(f.plan, x, 2, 2), VT_NONE);
    cr_expect_eq(vt_plan_status(f.plan), VITCL_EINVAL);
    vt_fixture_close(&f);
}
