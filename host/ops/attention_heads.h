/*
 * attention_heads.h - attention and its gradients on matrix units: what a
 * work-group computes.
 */
#ifndef VT_OPS_ATTENTION_HEADS_H
#define VT_OPS_ATTENTION_HEADS_H
#include "units/matrix.h"

/* What a work-group computes of heads of d numbers: each of its sub-groups has
 * one or two fragments of queries. The keys that it takes at a time have an
 * influence on the bits. */
typedef struct vt_mma_heads {
    int subgroups, fragments, keys, queries;
    bool kept; /* are its own rows in local memory, not in registers? */
    size_t items, local_bytes;
} vt_mma_heads;
/* Do some kinds take heads of d numbers? */
bool vt_mma_heads_take(int d);
/* queries: of a picture. full: rows are in f32, and are rounded on their way,
 * which takes registers. */
vt_mma_heads vt_mma_heads_of(const vt_dev *dev, vt_mma_choice c, int d,
                             int queries, bool bias, bool full);
/* Work-items in all. */
size_t vt_mma_heads_items(const vt_mma_heads *h, int rows, int heads);
/* The defines of that; 96 bytes are enough. */
void vt_mma_heads_define(char *out, size_t size, const vt_mma_heads *h,
                         vt_mma_choice c, vt_dtype type, int d);

/* ---- gradients: cl/attention_grad_mma.cl, in bf16 ---- */
bool vt_mma_gradient_takes(vt_mma_choice c, int d);
/* queries: or keys; keys: or queries. */
vt_mma_heads vt_mma_gradient_of(vt_mma_choice c, int d);
/* Work-groups of kv for the same keys: 2 if dk and dv have their own. */
size_t vt_mma_gradient_groups(vt_mma_choice c);

#endif
