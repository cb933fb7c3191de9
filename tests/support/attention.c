/*
 * attention.c - attention and its reference, for cases of oneplan.h.
 */
#include "support/attention.h"

#include "ref/ref.h"

#include <math.h>

vt_val vt_test_attention(vt_plan *p, const vt_val *in, const vt_case *c)
{
    const vt_attention_args a = {.heads = c->arg[0],
                                 .bias = in[2],
                                 .to = (vt_attention_to)c->arg[1],
                                 .wide = c->arg[2]};

    return in[1] == VT_NONE ? vt_attention(p, in[0], a)
                            : vt_attention_cross(p, in[0], in[1], a);
}

void vt_test_attention_ref(double *out, const double *const *in,
                           const vt_case *c)
{
    const int *q = c->in[0].dim, *kv = c->in[1].dim, H = c->arg[0];
    const bool self = !in[1];
    const int C = self ? q[2] / 3 : q[2];
    const double *k = self ? in[0] + C : in[1];

    if (c->arg[1])
        ref_axial(out, in[0], q[0], H, C / H, q[1], c->arg[2],
                  c->arg[1] == VT_TO_COLUMNS);
    else
        ref_heads(out, in[0], k, k + C, in[2], q[0], H, C / H, q[1],
                  self ? q[1] : kv[1], q[2], self ? q[2] : kv[2],
                  1 / sqrt((double)C / H), 0);
}
