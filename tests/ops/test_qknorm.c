/*
 * test_qknorm.c - layer norm of each head of q and k.
 */
#include "ref/ref.h"
#include "support/oneplan.h"

#include <criterion/criterion.h>

enum { RMS = 1, ONE }; /* of q and k; of a single part */

static vt_val build(vt_plan *p, const vt_val *in, const vt_case *c)
{
    if (c->arg[1] == ONE)
        return vt_head_rmsnorm(p, in[0], c->arg[0], in[1], 1e-5f);
    if (c->arg[1] == RMS)
        return vt_qk_rmsnorm(p, in[0], c->arg[0], in[1], in[3], 1e-5f);
    return vt_qknorm(p, in[0], c->arg[0], in[1], in[2], in[3], in[4], 1e-5f);
}

static void ref(double *out, const double *const *in, const vt_case *c)
{
    const int *d = c->in[0].dim;

    const int parts = c->arg[1] == ONE ? 1 : 3;

    ref_qknorm(out, in[0], in + 1, d[0] * d[1], c->arg[0],
               d[2] / parts / c->arg[0], 1e-5, parts, c->arg[1] != 0);
}

#define W(D)                                                                   \
    {                                                                          \
        .rank = 1, .dim = {D}, .param = true, .shift = 0.5                     \
    }

Test(qknorm, all)
{
    static const vt_case cases[] = {
        {.name = "1x1, 1 head of 2",
         .in = {{.rank = 3, .dim = {1, 1, 6}}, W(2), W(2), W(2), W(2)},
         .arg = {1}},
        {.name = "2x3, 2 heads of 5",
         .in = {{.rank = 3, .dim = {2, 3, 30}}, W(5), W(5), W(5), W(5)},
         .arg = {2}},
        {.name = "no betas",
         .in = {{.rank = 3, .dim = {1, 4, 51}},
                W(17),
                {.none = true},
                W(17),
                {.none = true}},
         .arg = {1}},
        {.name = "2x65, 3 heads of 64",
         .in = {{.rank = 3, .dim = {2, 65, 576}}, W(64), W(64), W(64), W(64)},
         .arg = {3}},
        {.name = "rms 2x3, 2 heads of 5",
         .in = {{.rank = 3, .dim = {2, 3, 30}},
                W(5),
                {.none = true},
                W(5),
                {.none = true}},
         .arg = {2, RMS}},
        {.name = "one part, 2x5, 3 heads of 7",
         .in = {{.rank = 3, .dim = {2, 5, 21}}, W(7)},
         .arg = {3, ONE}},
        {0}};

    vt_check_ops(cases, build, ref);
}
