/*
 * common.h - shared by the files of host/ops/ only.
 *
 * Every op is a vt_op named vt_op_<name> in its own file and a row of VT_OPS
 * below, which declares it; ops.h declares the function that models call. An
 * op that only a gradient uses is static and has no row. The file names the
 * slots of its steps: IN_, OUT_, I_ and F_ for the op itself and its gradients,
 * DX_, DW_ and the like for a gradient with slots of its own.
 */
#ifndef VT_OPS_COMMON_H
#define VT_OPS_COMMON_H
#include "base/memory.h"
#include "ops/ops.h"
#include "units/dots.h"

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
    X(pick)                                                                    \
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

/* Fails with VITCL_EINVAL and `what` unless ok. */
vitcl_status vt_op_need(bool ok, const char *what);
#ifdef __clang_analyzer__ /* the analyzer sees only one file */
#define vt_op_need(ok, what) ((ok) ? VITCL_OK : VITCL_EINVAL)
#endif
/* s->out[slot] = a new f32 result of the given shape, or of x's. */
vitcl_status vt_op_out(vt_plan *p, vt_step *s, int slot, int rank,
                       const int *dim);
vitcl_status vt_op_like(vt_plan *p, vt_step *s, int slot, vt_val x);
bool vt_op_same(const vt_plan *p, vt_val a, vt_val b); /* equal dims */
int vt_op_count(const vt_plan *p, vt_val v);           /* elements */
int vt_op_rows(const vt_plan *p, vt_val v); /* elements / last dimension */

/* ---- launching ---- */

bool vt_op_cpu(const vt_plan *p);
/* The kind of the CPU's dot products of bf16, or VT_DOT_NONE. In int8 plans,
 * too: rounding to bf16 costs less accuracy than their weights do. */
int vt_op_dots(const vt_plan *p);
enum { VT_OP_LANES = 4 }; /* V of a GPU's kernels */
/* vt_step_kernel() with the defines of the device class: V, PER, WG; and where
 * they are stored in 16 bits, XT for in[0], YT for out[0], RST for the other
 * input that may be. */
vitcl_status vt_op_kernel(vt_kernel **out, vt_plan *p, vt_step *s,
                          const char *file, const char *name);
/* The same with more defines: " -DKIND=1". */
vitcl_status vt_op_kernel_with(vt_kernel **out, vt_plan *p, vt_step *s,
                               const char *file, const char *name,
                               const char *more);
/* " -DNAME=f16" if v is stored so, "" for f32: for kernels that take one of
 * cl/common_storage.cl's types. */
typedef char vt_op_define[16];
const char *vt_op_stored(vt_op_define out, const vt_plan *p, const char *name,
                         vt_val v);
/* For kernels with common_work.cl's blocks: n elements, by rows. */
int vt_op_block_count(const vt_plan *p, int n);
void vt_op_blocks(vt_kernel *k, const vt_plan *p, int n, int rows);
/* n work-groups of WG work-items. */
void vt_op_groups(vt_kernel *k, const vt_plan *p, int n);
/* n by rows work-items, on GPUs more: item_x() and item_y() of
 * common_work.cl. */
void vt_op_items(vt_kernel *k, const vt_plan *p, int n, int rows);
/* Of a step with one kernel: vt_op_kernel(), vt_args() of the format and what
 * follows it, then vt_op_blocks() or vt_op_items() of n and rows. */
#define vt_op_launch_blocks(p, s, file, name, n, ...)                          \
    vt_op_launch_items(p, s, file, name, vt_op_block_count(p, n), __VA_ARGS__)
vitcl_status vt_op_launch_items(vt_plan *p, vt_step *s, const char *file,
                                const char *name, int n, int rows,
                                const char *format, ...);
/* Does the value begin at a multiple of 16 bytes, for loads and stores of as
 * many? */
bool vt_op_aligned(vt_plan *p, vt_val v);
/* A kernel that sums columns: "name" (local {8, 32}, or smaller) or
 * "name__cols" (CPUs). */
vitcl_status vt_op_columns(vt_kernel **out, vt_plan *p, vt_step *s,
                           const char *file, const char *name, int columns);

/* The layer norm behind linear layer x that its product may write, or none. */
vitcl_status vt_op_norm_behind(vt_gemm_norm *out, vt_plan *p, vt_val x);

/* Append a step with n inputs; returns its first output. */
vt_val vt_op_append(vt_plan *p, const vt_op *op, int n, const vt_val *in,
                    int ints, const int *i);

/* ---- gradients (gradient.c) ---- */

/* A step for the gradients of a step s has the slots of s, i[] and f[] of s, of
 * its in[] those in vt_op.reads and .adds; and these more: */
enum {
    VT_SAVED = VT_INS - 3, /* s->out[1], if in `reads` */
    VT_Y,                  /* s->out[0], if in `reads` */
    VT_DY                  /* the gradient of s->out[0] */
};
enum { VT_DX }; /* an output: the gradient of s->in[0] */
/* Append such a step, for vt_step_add(). NULL after an error. */
vt_step *vt_op_grad_step(vt_plan *p, const vt_op *op, const vt_step *s);
/* vt_op.grad of an op with `grads`: append a step of each, unless no one wants
 * what it computes. One that adds to no state has the output VT_DX. */
void vt_op_grad(vt_plan *p, const vt_step *s);
/* vt_grad_give() for any input, also a parameter. */
void vt_op_give(vt_plan *p, vt_val v, vt_val g);
/* Append a step with these inputs for the gradient of w[N,..], unless it is not
 * wanted. W only for its shape. SUM: the state to add to; VT_NONE if w is
 * not a parameter: the step then writes its first output. */
enum { VT_DW_X, VT_DW_W, VT_DW_DY, VT_DW_SUM, VT_DW_INS };
void vt_op_grad_w(vt_plan *p, const vt_op *op, vt_val g, vt_val x, vt_val w,
                  int ints, const int *i);
/* g += x, or the column sums of x[..,G] where it has more rows; g is a
 * VT_STATE. */
void vt_add_to(vt_plan *p, vt_val g, vt_val x);

/* ---- sums and products of two tensors ---- */

enum { VT_PAIR_A, VT_PAIR_B }; /* inputs */
enum { VT_PAIR_OUT };

/* Two of the same size, element by element. */
vitcl_status vt_op_pair_shape(vt_plan *p, vt_step *s);
vitcl_status vt_op_pair(vt_plan *p, vt_step *s, const char *file,
                        const char *kernel);
/* b, whole rows, repeated over the leading dimensions of a. */
vitcl_status vt_op_rows_pair_shape(vt_plan *p, vt_step *s);
vitcl_status vt_op_rows_pair(vt_plan *p, vt_step *s, const char *file,
                             const char *kernel);
vt_val vt_op_append_pair(vt_plan *p, const vt_op *op, vt_val a, vt_val b);

/* ---- steps that other ops append ---- */

/* If y = act(x): x and act'(x), else y and VT_NONE. A gradient of y times the
 * derivative is one of x. */
vt_val vt_activated(const vt_plan *p, vt_val y, vt_val *derivative);
/* x[..,R] * y[R], repeated over the leading dimensions (layer scale). */
vt_val vt_mul_rows(vt_plan *p, vt_val x, vt_val y);
/* x w^T, which obeys the plan's `exact`. */
vt_val vt_linear_exact(vt_plan *p, vt_val x, vt_val w);
/* x[B,R,S] -> [B,S,R], shaped as given */
vt_val vt_transpose(vt_plan *p, vt_val x, int R, int S, int rank,
                    const int *dim);

#endif
