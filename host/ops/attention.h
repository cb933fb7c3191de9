/*
 * attention.h - what attention's forward and backward both know of a step; for
 * host/ops/attention*.c only.
 */
#ifndef VT_OPS_ATTENTION_H
#define VT_OPS_ATTENTION_H
#include "ops/common.h"

/* Query i of picture b, head h, begins at q[b*qb + i*ldq + h*D]; its keys at
 * kv[(b*T + j)*ldk + koff + h*D], values the same with voff. */
typedef struct vt_attention_sizes {
    int B, H, D, Tq, T, qb, ldq, ldk, koff, voff;
} vt_attention_sizes;
vt_attention_sizes vt_attention_measure(const vt_plan *p, vt_val q, vt_val kv,
                                        int heads, bool self);
/* The op's grad(). */
void vt_attention_grad(vt_plan *p, const vt_step *s);

#endif
