/*
 * test_qknorm.c - layer norm of each head of q and k.
 */
#include "ref/ref.h"
#include "support/oneplan.h"

#include <criterion/criterion.h>

static vt_val build(vt_plan *p, const vt_val *in, const vt_case *c)
{
    return vt_qknorm(p, in[0], c->arg[0], in[1], in[2], in[3], in[4], 1e-5f);
}

static void ref(double *out, const double *const *in, const vt_case *c)
{
    const int *d = c->in[0].dim;

    ref_qknorm(out, in[0], in + 1, d[0] * d[1], c->arg[0], d[2] / 3 / c->arg[0],
               1e-5);
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
        {0}};

    vt_check_ops(cases, build, ref);
}
