/*
 * attention.h - shared by attention's forward and backward; for
 * host/ops/attention*.c only.
 */
#ifndef VT_OPS_ATTENTION_H
#define VT_OPS_ATTENTION_H
#include "ops/common.h"

/* In self-attention q and kv are the same value. bias: or none. */
enum { IN_Q, IN_KV, IN_BIAS };
/* I_LAYER: number of the layer whose relevance is wanted, from 1; 0: none */
/* I_TO, I_WIDE, I_ROWS: as in vt_attention_args */
enum { I_HEADS, I_SELF, I_LAYER, I_TO, I_WIDE, I_ROWS };
enum { F_SCALE };
enum { OUT_Y }; /* of the forward step */

/* ---- attention_sizes.c ---- */
/* Query i of picture b, head h, begins at q[b*qb + i*ldq + h*D]; key j at
 * kv[(b*T + j)*ldk + koff + h*D], value j the same with voff. */
/* Axial attention: B is the number of rows or columns of all pictures. lines:
 * the columns of a grid, if these are what the kernels take for pictures
 * (common_attention.cl), or 0. */
typedef struct vt_attention_sizes {
    int B, H, D, Tq, T, qb, ldq, ldk, koff, voff, lines;
} vt_attention_sizes;
vt_attention_sizes vt_attention_measure(const vt_plan *p, const vt_step *s);
/* The kernels' define for the bias: "" for none, one for all pictures
 * ([H,Tq,T]), one for each ([B,H,Tq,T]) or one for all heads ([Tq,T], which has
 * no gradient); NULL for any other shape. */
const char *vt_attention_bias(const vt_plan *p, const vt_step *s,
                              const vt_attention_sizes *z);
/* All defines that the kernels have in common but for D. */
typedef char vt_attention_defines[96];
void vt_attention_define(vt_attention_defines out, const vt_plan *p,
                         const vt_step *s, const vt_attention_sizes *z);
/* Set a kernel's arguments from `at` to `at` + 12: the step's q, kv, bias,
 * sizes and scale. */
vitcl_status vt_attention_arguments(vt_plan *p, vt_kernel *k, unsigned at,
                                    const vt_step *s,
                                    const vt_attention_sizes *z);

/* ---- attention_mma.c ---- */
/* May it be computed on the device's matrix unit? */
bool vt_attention_mma_takes(vt_plan *p, const vt_step *s,
                            const vt_attention_sizes *z);
/* prepare() of the output, if so. */
vitcl_status vt_attention_mma(vt_plan *p, vt_step *s,
                              const vt_attention_sizes *z);

/* Two kernels that compute dq, and dk and dv: a work-group of `items` has
 * `rows` queries, and keys, which `each` groups of kv share. */
typedef struct vt_attention_tiles {
    const char *file, *q, *kv;
    size_t rows, items, each;
    char defines[160];
} vt_attention_tiles;
/* Gradients on the matrix unit, of f32 rows that vectors of four can read. */
bool vt_attention_grad_mma_takes(vt_plan *p, const vt_step *s,
                                 const vt_attention_sizes *z);
void vt_attention_grad_mma(vt_attention_tiles *t, vt_plan *p, vt_step *s,
                           const vt_attention_sizes *z);

/* attention_grad.c: the op's grad(). */
void vt_attention_grad(vt_plan *p, const vt_step *s);

#endif
