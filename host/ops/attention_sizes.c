/*
 * attention_sizes.c - the sizes of an attention, and the arguments that its
 * kernels have in common, forward and backward.
 */
#include "ops/attention.h"

#include <stdio.h>

vt_attention_sizes vt_attention_measure(const vt_plan *p, const vt_step *s)
{
    const vt_val q = s->in[IN_Q], kv = s->in[IN_KV];
    const int heads = s->i[I_HEADS];
    const bool self = s->i[I_SELF];
    const int c = vt_dim(p, kv, 2) / (self ? 3 : 2);
    vt_attention_sizes z = {.B = vt_dim(p, kv, 0),
                            .H = heads,
                            .D = c / heads,
                            .Tq = vt_dim(p, q, 1),
                            .T = vt_dim(p, kv, 1),
                            .ldq = vt_dim(p, q, 2),
                            .ldk = vt_dim(p, kv, 2),
                            .koff = self ? c : 0,
                            .voff = self ? 2 * c : c};
    const bool own = vt_dim(p, q, 0) == z.B; /* each picture has its queries */
    const int wide = s->i[I_WIDE];

    if (s->i[I_TO] == VT_TO_ROWS) {
        z.B *= z.T / wide;
        z.T = z.Tq = wide;
    } else if (s->i[I_TO] == VT_TO_COLUMNS) {
        z.B *= wide;
        z.T = z.Tq = z.T / wide;
        z.ldq *= wide, z.ldk *= wide;
        z.lines = wide;
    }
    z.qb = own ? z.Tq * z.ldq : 0;
    if (s->i[I_ROWS])
        z.Tq = s->i[I_ROWS];
    return z;
}

const char *vt_attention_bias(const vt_plan *p, const vt_step *s,
                              const vt_attention_sizes *z)
{
    const vt_value *v = vt_value_of(p, s->in[IN_BIAS]);
    const double one = (double)z->H * z->Tq * z->T;
    const double n = v ? (double)vt_elements(p, s->in[IN_BIAS]) : 0;

    if (!v)
        return "";
    if (v->rank == 4 && v->dim[0] == z->B && n == one * z->B)
        return " -DBIAS=2";
    if (v->rank == 2 && n == (double)z->Tq * z->T)
        return " -DBIAS=3";
    return n == one ? " -DBIAS=1" : NULL;
}

void vt_attention_define(vt_attention_defines out, const vt_plan *p,
                         const vt_step *s, const vt_attention_sizes *z)
{
    const char *bias = vt_attention_bias(p, s, z);
    char lines[24] = "";
    vt_op_define q, kv;

    if (z->lines)
        snprintf(lines, sizeof lines, " -DLINES=%d", z->lines);
    snprintf(out, sizeof(vt_attention_defines), "%s%s%s%s", bias, lines,
             vt_op_stored(q, p, "QT", s->in[IN_Q]),
             vt_op_stored(kv, p, "KVT", s->in[IN_KV]));
}

vitcl_status vt_attention_arguments(vt_plan *p, vt_kernel *k, unsigned at,
                                    const vt_step *s,
                                    const vt_attention_sizes *z)
{
    static const int tensors[] = {IN_Q, IN_KV, IN_BIAS};
    const int n[] = {z->B,   z->H,   z->Tq,   z->T,   z->qb,
                     z->ldq, z->ldk, z->koff, z->voff};
    vt_buf *b;

    for (size_t i = 0; i < VT_COUNT(tensors); i++) {
        VT_RET(vt_bind(&b, p, s->in[tensors[i]]));
        VT_RET(vt_kernel_buf(k, at++, b));
    }
    for (size_t i = 0; i < VT_COUNT(n); i++)
        VT_RET(vt_kernel_int(k, at++, n[i]));
    return vt_kernel_float(k, at++, s->f[F_SCALE]);
}
