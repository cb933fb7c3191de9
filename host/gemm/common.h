/*
 * common.h - what several forms share: the arguments of their kernels, B in
 * another order, and how CPUs divide a product. For this folder's forms.
 */
#ifndef VT_GEMM_COMMON_H
#define VT_GEMM_COMMON_H
#include "gemm/form.h"

static inline int vt_divide_up(int a, int b)
{
    return (a + b - 1) / b;
}

/* ---- kernels ---- */

/* "-DACT=... -DBIAS -DSCALE -DRESIDUAL" (those that d has) for kernels that use
 * the epilogue macros of cl/common_storage.cl. Returns `out`. */
const char *vt_gemm_defines(char out[96], const vt_gemm_desc *d);
/* Sets buffers from argument 0 on, and then ints. */
vitcl_status vt_gemm_arguments(vt_kernel *k, vt_buf *const *bufs, unsigned n,
                               const int *ints, unsigned m);
/* The same with a product's six buffers: C, a, b, bias, scale, residual. */
vitcl_status vt_gemm_operands(vt_kernel *k, const vt_gemm *g, vt_buf *a,
                              vt_buf *b, const int *ints, unsigned m);
/* The same behind "-DTYPE=.. -DCT=..", the product's type and C's. */
const char *vt_gemm_end_defines(char out[160], const vt_gemm_desc *d);
/* cl/gemm_sum.cl, which adds `parts` parts of all elements in their order: they
 * begin `at` bytes into `sums`. a, b, strips, columns: an int8 product's;
 * quick: "", or " -DQUICK" for the bits of a unit's epilogue. */
vitcl_status vt_gemm_bind_sum(vt_kernel **k, const vt_gemm *g, vt_buf *sums,
                              size_t at, vt_buf *a, vt_buf *b, int parts,
                              int strips, int columns, const char *quick);
/* Packs densely in d->type as [N,K], or as [K,N] with kn. */
vitcl_status vt_gemm_reorder(vt_queue *q, const vt_gemm_desc *d, vt_buf *packed,
                             vt_buf *b, bool kn);

/* ---- rows.c and dot.c ---- */

/* How the kernels divide a product of batch * M rows: rows into blocks (the
 * first `big` of `tall` rows, the others of `low`), blocks into chunks, columns
 * into panels of nw and these into groups; at most `most` terms at a time;
 * `saved` blocks are stored between them. A program has blocks of ra, rb, 4 and
 * 1 rows. */
typedef struct vt_rows {
    int rows, nw, panels;
    int blocks, big, tall, low, ra, rb;
    int chunks, group, most, saved;
} vt_rows;
vt_rows vt_rows_divide(const vt_dev *dev, vt_rows_shape t,
                       const vt_gemm_desc *d, int terms);

#endif
