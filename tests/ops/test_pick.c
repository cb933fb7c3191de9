/*
 * test_pick.c - one token of each text: the first, the last, one between, and
 * numbers that are no token's.
 */
#include "ref/ref.h"
#include "support/oneplan.h"

#include <criterion/criterion.h>

static vt_val build(vt_plan *p, const vt_val *in, const vt_case *c)
{
    (void)c;
    return vt_pick(p, in[0], in[1]);
}

static void ref(double *out, const double *const *in, const vt_case *c)
{
    const int *d = c->in[0].dim;

    ref_pick(out, in[0], in[1], d[0], d[1], d[2]);
}

#define X(b, t, c)                                                             \
    {                                                                          \
        .rank = 3, .dim = { b, t, c }                                          \
    }
#define TOKEN(b, ...)                                                          \
    {                                                                          \
        .rank = 1, .dim = {b}, .i32 = true, .fixed = true,                     \
        .data = (const float[])                                                \
        {                                                                      \
            __VA_ARGS__                                                        \
        }                                                                      \
    }

Test(pick, all)
{
    const vt_case cases[] = {
        {.name = "the only token", .in = {X(1, 1, 1), TOKEN(1, 0)}},
        {.name = "first, last and between",
         .in = {X(3, 7, 5), TOKEN(3, 0, 6, 3)}},
        {.name = "no token", .in = {X(3, 4, 17), TOKEN(3, -1, 4, 2)}},
        {.name = "of 77, 515 wide", .in = {X(2, 77, 515), TOKEN(2, 76, 9)}},
        {0}};
    vt_fixture f;
    vt_val x;

    vt_check_ops(cases, build, ref);
    vt_fixture_open(&f, VT_CLASS_CPU, false);
    x = vt_input(f.plan, "x", VT_F32, 3, (int[]){2, 3, 4});
    cr_expect_eq(
        vt_pick(f.plan, x, vt_input(f.plan, "t", VT_I32, 1, (int[]){3})),
        VT_NONE);
    cr_expect_eq(vt_plan_status(f.plan), VITCL_EINVAL);
    vt_fixture_close(&f);
}
