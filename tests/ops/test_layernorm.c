/*
 * test_layernorm.c - layer norm of all rows and of the first rows.
 */
#include "ref/ref.h"
#include "support/oneplan.h"

#include <criterion/criterion.h>
#include <string.h>

static vt_val build(vt_plan *p, const vt_val *in, const vt_case *c)
{
    return c->arg[0]
               ? vt_layernorm_rows(p, in[0], in[1], in[2], 1e-6f, c->arg[0])
               : vt_layernorm(p, in[0], in[1], in[2], 1e-6f);
}

static void ref(double *out, const double *const *in, const vt_case *c)
{
    const int *d = c->in[0].dim;
    int count = c->arg[0] ? c->arg[0] : d[1];

    ref_layernorm(out, in[0], in[1], in[2], d[0], d[1], d[2], count, 1e-6);
}

#define ROW(B, T, C)                                                           \
    {                                                                          \
        {.rank = 3, .dim = {B, T, C}}, {.rank = 1, .dim = {C}, .param = true}, \
        {                                                                      \
            .rank = 1, .dim = {C}, .param = true                               \
        }                                                                      \
    }

Test(layernorm, all)
{
    static const vt_case cases[] = {
        {.name = "1x1x2", .in = ROW(1, 1, 2), .no_grad = true},
        /* rows of one or two have no gradient but rounding */
        {.name = "1x1x1", .in = ROW(1, 1, 1), .no_grad = true},
        {.name = "2x3x7", .in = ROW(2, 3, 7)},
        {.name = "3x5x33", .in = ROW(3, 5, 33)},
        {.name = "1x9x64", .in = ROW(1, 9, 64)},
        {.name = "1x2x513", .in = ROW(1, 2, 513), .no_grad = true},
        {.name = "1x197x192", .in = ROW(1, 197, 192)},
        {.name = "2x3x768", .in = ROW(2, 3, 768)},
        {.name = "first of each", .in = ROW(3, 4, 19), .arg = {1}},
        {.name = "first two of each", .in = ROW(2, 5, 40), .arg = {2}},
        {.name = "no gamma, no beta",
         .in = {{.rank = 3, .dim = {2, 3, 21}},
                {.none = true},
                {.none = true}}},
        /* (x - mean) keeps 3 digits: E[x^2] - mean^2 would keep none */
        {.name = "mean 1e4, std 1",
         .in = {{.rank = 3, .dim = {1, 3, 100}, .shift = 1e4},
                {.none = true},
                {.none = true}},
         .atol = 2e-3,
         .no_grad = true},
        /* as large as the root of epsilon, so that a misplaced epsilon shows */
        {.name = "deviation 1e-3",
         .in = {{.rank = 3, .dim = {2, 3, 33}, .scale = 1.7e-3},
                {.none = true},
                {.none = true}},
         .no_grad = true},
        {.name = "equal rows",
         .in = {{.rank = 3, .dim = {1, 3, 31}, .same = true, .shift = 3},
                {.none = true},
                {.none = true}},
         .no_grad = true},
        {.name = "huge",
         .in = {{.rank = 3, .dim = {1, 3, 31}, .scale = 1e12},
                {.none = true},
                {.none = true}},
         .no_grad = true},
        {.name = "denormal",
         .in = {{.rank = 3, .dim = {1, 3, 31}, .scale = 1e-39},
                {.none = true},
                {.none = true}},
         .no_grad = true,
         .atol = 1e-9},
        {0}};

    vt_check_ops(cases, build, ref);
}

Test(layernorm, refuses)
{
    for (int k = 0; k < 3; k++) {
        vt_fixture f;

        vt_fixture_open(&f, VT_CLASS_CPU, false);
        vt_val x = vt_input(f.plan, "x", VT_F32, 3, (int[]){2, 3, 8});
        vt_val gamma = vt_param(f.plan, "g", 1, (int[]){k == 0 ? 7 : 8});
        vt_val beta = vt_param(f.plan, "b", 1, (int[]){k == 1 ? 16 : 8});
        if (k < 2)
            cr_expect_eq(vt_layernorm(f.plan, x, gamma, beta, 1e-6f), VT_NONE);
        else
            cr_expect_eq(vt_layernorm_rows(f.plan, x, gamma, beta, 1e-6f, 4),
                         VT_NONE);
        cr_expect_eq(vt_plan_status(f.plan), VITCL_EINVAL);
        cr_expect(strstr(vt_message(), k < 2 ? "a row's width" : "more rows"),
                  "%s", vt_message());
        vt_fixture_close(&f);
    }
}
