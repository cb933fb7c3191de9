/*
 * test_pad.c - zeros around planes, and edges cut off.
 */
#include "ref/ref.h"
#include "support/oneplan.h"

#include <criterion/criterion.h>

/* arg: top, left, bottom, right */
static vt_val build(vt_plan *p, const vt_val *in, const vt_case *c)
{
    return vt_pad(p, in[0], c->arg[0], c->arg[1], c->arg[2], c->arg[3]);
}

static void ref(double *out, const double *const *in, const vt_case *c)
{
    const int *d = c->in[0].dim;

    ref_pad(out, in[0], d[0] * d[1], d[2], d[3], c->arg);
}

Test(pad, all)
{
    static const vt_case cases[] = {
        {.name = "1x1 in nothing", .in = {{.rank = 4, .dim = {1, 1, 1, 1}}}},
        {.name = "1x1 in 3x3",
         .in = {{.rank = 4, .dim = {2, 1, 1, 1}}},
         .arg = {1, 1, 1, 1}},
        {.name = "5x17, uneven",
         .in = {{.rank = 4, .dim = {2, 3, 5, 17}}},
         .arg = {2, 0, 1, 3}},
        {.name = "7x9, cut",
         .in = {{.rank = 4, .dim = {1, 2, 7, 9}}},
         .arg = {-1, -2, 1, -3}},
        {0}};
    vt_fixture f;

    vt_check_ops(cases, build, ref);
    vt_fixture_open(&f, VT_CLASS_CPU, false);
    vt_val x = vt_input(f.plan, "x", VT_F32, 4, (int[]){1, 1, 2, 2});
    cr_expect_eq(vt_pad(f.plan, x, -1, 0, -1, 0), VT_NONE);
    cr_expect_eq(vt_plan_status(f.plan), VITCL_EINVAL);
    vt_fixture_close(&f);
}
