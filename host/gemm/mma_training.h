/*
 * mma_training.h - the products of a training on matrix units, in bf16: their
 * operands, which are packed at each launch, and their trial. For mma.c.
 */
#ifndef VT_GEMM_MMA_TRAINING_H
#define VT_GEMM_MMA_TRAINING_H
#include "gemm/form.h"

/* g->state: views of temp. NULL: it has none. */
typedef struct vt_mma_packed {
    vt_buf *b, *a; /* a: only of a transposed A */
    vt_buf *sums;  /* of parts */
} vt_mma_packed;

/* May this unpacked product be computed by gemm_mma_*.cl, as far as its
 * operands are concerned? */
bool vt_mma_packs(const vt_gemm_desc *d);
/* Of temp, from its beginning on. columns: of packed B. */
size_t vt_mma_operands_bytes(const vt_dev *dev, const vt_gemm_desc *d,
                             int columns);
/* Makes g->state, with `sums` bytes behind the operands, and the kernels that
 * pack them: g->kernel[] from *n on. */
vitcl_status vt_mma_bind_operands(vt_gemm *g, int columns, size_t sums,
                                  unsigned *n);
void vt_mma_free_operands(vt_gemm *g);

/* mma_peak.c: vt_form.peak. */
vitcl_status vt_mma_peak(vt_kernel **out, double *flops, vt_dev *dev,
                         const vt_told *t);

#endif
