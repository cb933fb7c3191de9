/*
 * linear.c - a linear layer and its reference, for cases of oneplan.h.
 */
#include "support/linear.h"

#include "ref/ref.h"

vt_val vt_test_linear(vt_plan *p, const vt_val *in, const vt_case *c)
{
    return vt_linear(p, in[0],
                     (vt_linear_args){.w = in[1],
                                      .b = in[2],
                                      .scale = in[3],
                                      .residual = in[4],
                                      .act = (vt_act)c->arg[0]});
}

void vt_test_linear_ref(double *out, const double *const *in, const vt_case *c)
{
    const vt_spec *x = &c->in[0];
    int k = x->dim[x->rank - 1], m = 1;

    for (int i = 0; i < x->rank - 1; i++)
        m *= x->dim[i];
    ref_linear(out, in[0], in[1], in[2], in[3], in[4], m, c->in[1].dim[0], k,
               c->arg[0]);
}
