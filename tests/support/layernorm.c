/*
 * layernorm.c - layer norm for tests.
 */
#include "support/layernorm.h"

#include "ref/ref.h"

vt_val vt_test_layernorm(vt_plan *p, const vt_val *in, const vt_case *c)
{
    if (c->arg[1])
        return vt_rmsnorm(p, in[0], in[1], 1e-6f, c->arg[0]);
    return c->arg[0]
               ? vt_layernorm_rows(p, in[0], in[1], in[2], 1e-6f, c->arg[0])
               : vt_layernorm(p, in[0], in[1], in[2], 1e-6f);
}

void vt_test_layernorm_ref(double *out, const double *const *in,
                           const vt_case *c)
{
    const int *d = c->in[0].dim;
    int count = c->arg[0] ? c->arg[0] : d[1];

    ref_layernorm(out, in[0], in[1], in[2], d[0], d[1], d[2], count, 1e-6,
                  c->arg[1]);
}
