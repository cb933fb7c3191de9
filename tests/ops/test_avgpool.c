/*
 * test_avgpool.c - the mean of each window.
 */
#include "ref/ref.h"
#include "support/oneplan.h"

#include <criterion/criterion.h>

static vt_val build(vt_plan *p, const vt_val *in, const vt_case *c)
{
    return vt_avgpool(p, in[0], c->arg[0]);
}

static void ref(double *out, const double *const *in, const vt_case *c)
{
    const int *d = c->in[0].dim;

    ref_avgpool(out, in[0], d[0] * d[1], d[2], d[3], c->arg[0]);
}

#define X(B, C, H, W)                                                          \
    {                                                                          \
        .rank = 4, .dim = { B, C, H, W }                                       \
    }

Test(avgpool, all)
{
    static const vt_case cases[] = {
        {.name = "1x1 of 2", .in = {X(1, 1, 1, 1)}, .arg = {2}},
        {.name = "even", .in = {X(2, 3, 4, 6)}, .arg = {2}},
        {.name = "odd both ways", .in = {X(2, 3, 5, 7)}, .arg = {2}},
        {.name = "odd rows", .in = {X(1, 2, 3, 8)}, .arg = {2}},
        {.name = "1 wide, of 3", .in = {X(1, 5, 7, 1)}, .arg = {3}},
        {.name = "as it is", .in = {X(1, 1, 3, 4)}, .arg = {1}},
        {.name = "larger than the plane", .in = {X(1, 2, 2, 3)}, .arg = {5}},
        {.name = "wide", .in = {X(1, 1, 3, 2055)}, .arg = {2}},
        {.name = "256 of 56x56", .in = {X(1, 256, 56, 56)}, .arg = {2}},
        {0}};

    for (const vt_case *c = cases; c->name; c++) {
        vt_case forward = *c;

        forward.no_grad = true; /* host/ops/avgpool.c says why */
        vt_check_op(&forward, build, ref);
    }
}
