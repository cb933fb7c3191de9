/*
 * test_pool.c - tokens to one row.
 */
#include "ref/ref.h"
#include "support/oneplan.h"

#include <criterion/criterion.h>

static vt_val build(vt_plan *p, const vt_val *in, const vt_case *c)
{
    return vt_pool(p, in[0], (vt_pool_kind)c->arg[0], c->arg[1]);
}

static void ref(double *out, const double *const *in, const vt_case *c)
{
    const int *d = c->in[0].dim;

    ref_pool(out, in[0], d[0], d[1], d[2], c->arg[0], c->arg[1]);
}

Test(pool, all)
{
    for (int kind = VT_POOL_TOKEN; kind <= VT_POOL_MAX; kind++) {
        const vt_case cases[] = {{.name = "one token",
                                  .in = {{.rank = 3, .dim = {1, 1, 1}}},
                                  .arg = {kind, 0}},
                                 {.name = "3x7x19 from 0",
                                  .in = {{.rank = 3, .dim = {3, 7, 19}}},
                                  .arg = {kind, 0}},
                                 {.name = "2x6x33 from 1",
                                  .in = {{.rank = 3, .dim = {2, 6, 33}}},
                                  .arg = {kind, 1}},
                                 {.name = "2x197x193 from 1",
                                  .in = {{.rank = 3, .dim = {2, 197, 193}}},
                                  .arg = {kind, 1}},
                                 {0}};

        vt_check_ops(cases, build, ref);
    }
}
