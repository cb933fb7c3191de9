/*
 * common.h - what op files share; for host/ops/ only.
 *
 * Every op is a vt_op named vt_op_<name> in its own file and a row of
 * VT_OPS below, which declares it. The file names the slots of its steps: IN_,
 * OUT_, I_ and F_ the op's own, DX_, DW_ and the like those of its gradients.
 */
#ifndef VT_OPS_COMMON_H
#define VT_OPS_COMMON_H
#include "base/memory.h"
#include "ops/ops.h"

#define VT_OPS(X)                                                              \
    X(normalise)                                                               \
    X(patch)                                                                   \
    X(linear)                                                                  \
    X(layernorm)                                                               \
    X(qknorm)                                                                  \
    X(rope)                                                                    \
    X(attention)                                                               \
    X(relpos)                                                                  \
    X(relkeys)                                                                 \
    X(activation)                                                              \
    X(swiglu)                                                                  \
    X(add)                                                                     \
    X(add_rows)                                                                \
    X(add_grid)                                                                \
    X(add_channels)                                                            \
    X(mul)                                                                     \
    X(mul_rows)                                                                \
    X(mul_scalar)                                                              \
    X(embed)                                                                   \
    X(mask_patches)                                                            \
    X(pool)                                                                    \
    X(slice)                                                                   \
    X(to_tokens)                                                               \
    X(conv)                                                                    \
    X(conv_direct)                                                             \
    X(weight_standardise)                                                      \
    X(groupnorm)                                                               \
    X(maxpool)                                                                 \
    X(avgpool)                                                                 \
    X(pad)                                                                     \
    X(loss)                                                                    \
    X(dropout)                                                                 \
    X(grad_norm)                                                               \
    X(optimizer)
#define X(name) extern const vt_op vt_op_##name;
VT_OPS(X)
#undef X

/* ---- shapes ---- */

/* VITCL_EINVAL with `what` unless ok. */
vitcl_status vt_op_need(bool ok, const char *what);
#ifdef __clang_analyzer__ /* which does not look into another file */
#define vt_op_need(ok, what) ((ok) ? VITCL_OK : VITCL_EINVAL)
#endif
/* s->out[slot] = a new f32 result; its shape is given, or x's. */
vitcl_status vt_op_out(vt_plan *p, vt_step *s, int slot, int rank,
                       const int *dim);
vitcl_status vt_op_like(vt_plan *p, vt_step *s, int slot, vt_val x);
/* The shape of a step that only adds to states: nothing. */
vitcl_status vt_op_no_out(vt_plan *p, vt_step *s);
bool vt_op_same(const vt_plan *p, vt_val a, vt_val b); /* equal dims */
int vt_op_count(const vt_plan *p, vt_val v);           /* elements */
int vt_op_rows(const vt_plan *p, vt_val v); /* elements / last dimension */

/* ---- launching ---- */

bool vt_op_cpu(const vt_plan *p);
/* vt_step_kernel() with the class's defines: V, PER, WG. */
vitcl_status vt_op_kernel(vt_kernel **out, vt_plan *p, vt_step *s,
                          const char *file, const char *name);
/* With more defines behind them: " -DKIND=1". */
vitcl_status vt_op_kernel_with(vt_kernel **out, vt_plan *p, vt_step *s,
                               const char *file, const char *name,
                               const char *more);
/* A kernel of common.cl's blocks: n elements along dimension 0, by rows. */
void vt_op_blocks(vt_kernel *k, const vt_plan *p, int n, int rows);
/* n work-groups of WG work-items. */
void vt_op_groups(vt_kernel *k, const vt_plan *p, int n);
/* One work-item each of n by rows. */
void vt_op_items(vt_kernel *k, const vt_plan *p, int n, int rows);
/* A kernel that sums columns: "name" by {32, 8}, or the CPU's "name__cols". */
vitcl_status vt_op_columns(vt_kernel **out, vt_plan *p, vt_step *s,
                           const char *file, const char *name, int columns);

/* ---- gradients ---- */

/* vt_grad_give() for any input: adds to a parameter's gradient. */
void vt_op_give(vt_plan *p, vt_val v, vt_val g);
/* The gradient of w[N,..] by a step with these inputs: w for its shape, and the
 * state it adds to; VT_NONE where w is no parameter: it writes its first
 * output. No step if w's gradient is not wanted. */
enum { VT_DW_DY, VT_DW_X, VT_DW_W, VT_DW_SUM, VT_DW_INS };
void vt_op_grad_w(vt_plan *p, const vt_op *op, vt_val g, vt_val x, vt_val w,
                  int ints, const int *i);
/* A step with these inputs (n of them) whose first output is returned. */
vt_val vt_op_append(vt_plan *p, const vt_op *op, int n, const vt_val *in,
                    int ints, const int *i);

/* ---- two tensors to one: sums and products ---- */

enum { VT_PAIR_A, VT_PAIR_B }; /* inputs */
enum { VT_PAIR_OUT };

/* Two of the same size, element by element. */
vitcl_status vt_op_pair_shape(vt_plan *p, vt_step *s);
vitcl_status vt_op_pair(vt_plan *p, vt_step *s, const char *file,
                        const char *kernel);
/* b, whole rows, repeated over a's front. */
vitcl_status vt_op_rows_pair_shape(vt_plan *p, vt_step *s);
vitcl_status vt_op_rows_pair(vt_plan *p, vt_step *s, const char *file,
                             const char *kernel);
vt_val vt_op_append_pair(vt_plan *p, const vt_op *op, vt_val a, vt_val b);

/* ---- steps that other ops append ---- */

/* Where y is act(x): x, and act's slope there; else y and VT_NONE. A gradient
 * of y times the slope is one of x. */
vt_val vt_activated(const vt_plan *p, vt_val y, vt_val *slope);
/* x[..,R] * y[R] repeated over the front (layer scale). */
vt_val vt_mul_rows(vt_plan *p, vt_val x, vt_val y);
/* x w^T, with the plan's `exact` in mind. */
vt_val vt_linear_exact(vt_plan *p, vt_val x, vt_val w);
/* g += x, both of the same shape; g is a VT_STATE. */
void vt_add_to(vt_plan *p, vt_val g, vt_val x);
/* dy[R] += column sums of dx[..,R]. */
void vt_add_rows_grad(vt_plan *p, vt_val dy, vt_val dx);
/* x[B,R,S] -> [B,S,R], shaped as given */
vt_val vt_transpose(vt_plan *p, vt_val x, int R, int S, int rank,
                    const int *dim);

#endif
