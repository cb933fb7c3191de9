/*
 * test_rope.c - rotary positions.
 */
#include "ref/ref.h"
#include "support/oneplan.h"

#include <criterion/criterion.h>

static vt_val build(vt_plan *p, const vt_val *in, const vt_case *c)
{
    return vt_rope(p, in[0], c->arg[0], in[1], c->arg[1], c->arg[2]);
}

static void ref(double *out, const double *const *in, const vt_case *c)
{
    const int *d = c->in[0].dim;

    ref_rope(out, in[0], in[1], d[0], d[1], c->arg[0], d[2] / 3 / c->arg[0],
             c->arg[1], c->arg[2], c->in[1].rank == 4);
}

Test(rope, all)
{
    static const vt_case cases[] = {
        {.name = "one token",
         .in = {{.rank = 3, .dim = {1, 1, 6}},
                {.rank = 3, .dim = {1, 2, 2}, .fixed = true}},
         .arg = {1, 0}},
        {.name = "2x5, 3 heads of 6, class token skipped",
         .in = {{.rank = 3, .dim = {2, 5, 54}},
                {.rank = 3, .dim = {4, 2, 6}, .fixed = true}},
         .arg = {3, 1}},
        {.name = "2x50, 3 heads of 64",
         .in = {{.rank = 3, .dim = {2, 50, 576}},
                {.rank = 3, .dim = {49, 2, 64}, .fixed = true}},
         .arg = {3, 1}},
        {.name = "halves, 2x5, 3 heads of 6, two tokens skipped",
         .in = {{.rank = 3, .dim = {2, 5, 54}},
                {.rank = 3, .dim = {3, 2, 6}, .fixed = true}},
         .arg = {3, 2, 1}},
        {.name = "halves, 2x50, 3 heads of 64",
         .in = {{.rank = 3, .dim = {2, 50, 576}},
                {.rank = 3, .dim = {49, 2, 64}, .fixed = true}},
         .arg = {3, 1, 1}},
        {.name = "a table for each of 3 heads of 8",
         .in = {{.rank = 3, .dim = {2, 5, 72}},
                {.rank = 4, .dim = {3, 4, 2, 8}, .fixed = true}},
         .arg = {3, 1}},
        {0}};

    vt_check_ops(cases, build, ref);
}
