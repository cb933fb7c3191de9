/*
 * rows.h - shared by the native provider's CPU multiplications: with FMAs
 * (native.c, cl/gemm_rows.cl; outer.c, cl/gemm_outer.cl) and with dot products
 * (dot.c, cl/gemm_dot.cl). For these three files.
 */
#ifndef VT_GEMM_ROWS_H
#define VT_GEMM_ROWS_H
#include "gemm/params.h"
#include "gemm/provider.h"

/* Vectors per register block, unless gemm_rows.cl is tuned. */
#define VT_ROWS_VECTORS 2

/* Rows of a register block, unless tuned: accumulators, one row of weights and
 * a broadcast value fill 16 registers (SSE, NEON, AVX2) or 32 (AVX-512). */
static inline int vt_rows_block(int lanes)
{
    return lanes == 16 ? 14 : 6;
}

static inline int vt_divide_up(int a, int b)
{
    return (a + b - 1) / b;
}

/* How the kernels divide a product: rows into blocks (the first `big` of ra
 * rows, the others of rb), blocks into chunks, columns into panels of nw and
 * these into groups; at most `most` terms at a time; `saved` blocks are stored
 * between them. */
typedef struct vt_rows {
    int rows, nw, panels;
    int blocks, big, ra, rb;
    int chunks, group, most, saved;
} vt_rows;
vt_rows vt_rows_divide(const vt_dev *dev, vt_rows_shape t, int rows, int n,
                       int terms);

/* Packs for the multiplication by FMAs, for comparison. `packed` is f32 panels
 * or panels of d->type; kernels are stored from k[*n] on. */
vitcl_status vt_rows_pack(vt_kernel **k, unsigned *n, vt_dev *dev,
                          const vt_gemm_desc *d, vt_buf *packed, vt_buf *b);
vitcl_status vt_rows_bind(vt_gemm *g);
void vt_rows_free(vt_gemm *g);

/* ---- both operands with k outermost (outer.c) ---- */

bool vt_outer_for(vt_dev *dev, const vt_gemm_desc *d);
size_t vt_outer_temp_bytes(vt_dev *dev, const vt_gemm_desc *d);
vitcl_status vt_outer_bind(vt_gemm *g);

/* ---- dot products (dot.c, dot_choice.c) ---- */

/* Is d computed by a dot-product instruction here? The first call tries it. */
bool vt_dot_for(vt_dev *dev, const vt_gemm_desc *d);
bool vt_dot_untried(vt_dev *dev, vt_dtype type);
void vt_dot_form(char *out, size_t size, vt_dev *dev, vt_dtype type);
vitcl_status vt_dot_try_named(const char **verdict, vt_dev *dev,
                              const char *instruction);
vitcl_status vt_dot_peak(vt_kernel **out, double *flops, vt_dev *dev,
                         vt_dtype type);
const char *vt_dot_layout(vt_dev *dev, const vt_gemm_desc *d);
size_t vt_dot_packed_bytes(vt_dev *dev, const vt_gemm_desc *d);
size_t vt_dot_temp_bytes(vt_dev *dev, const vt_gemm_desc *d);
vitcl_status vt_dot_pack(vt_queue *q, const vt_gemm_desc *d, vt_buf *packed,
                         vt_buf *b);
vitcl_status vt_dot_bind(vt_gemm *g);

#endif
