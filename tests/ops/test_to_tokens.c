/*
 * test_to_tokens.c - planes to tokens.
 */
#include "ref/ref.h"
#include "support/oneplan.h"

#include <criterion/criterion.h>

static vt_val build(vt_plan *p, const vt_val *in, const vt_case *c)
{
    (void)c;
    return vt_to_tokens(p, in[0]);
}

static void ref(double *out, const double *const *in, const vt_case *c)
{
    const int *d = c->in[0].dim;

    ref_to_tokens(out, in[0], d[0], d[1], d[2] * d[3]);
}

Test(to_tokens, all)
{
    static const vt_case cases[] = {
        {.name = "1", .in = {{.rank = 4, .dim = {1, 1, 1, 1}}}},
        {.name = "2x5 of 3x7", .in = {{.rank = 4, .dim = {2, 5, 3, 7}}}},
        {.name = "17 of 5x13", .in = {{.rank = 4, .dim = {1, 17, 5, 13}}}},
        {.name = "130 of 14x14", .in = {{.rank = 4, .dim = {2, 130, 14, 14}}}},
        {0}};

    vt_check_ops(cases, build, ref);
}

/* More rows than CUDA's 65535 work-groups in dimension 1 have. */
Test(to_tokens, many_rows)
{
    static const vt_case cases[] = {
        {.name = "1048577 of 1x1",
         .in = {{.rank = 4, .dim = {1, 1048577, 1, 1}}},
         .no_grad = true},
        {0}};

    if (!vt_test_tiny())
        vt_check_ops(cases, build, ref);
}
