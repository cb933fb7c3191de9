/*
 * provider.h - the interface of a provider of matrix multiplication: for this
 * folder only; all other code uses gemm.h.
 *
 * A provider, as users choose it by name, has one or more forms; each is a file
 * <form>.c with one vt_provider, and a row in providers[] of gemm.c. Of the
 * rows with the name, the first that supports a product computes it; no other
 * code asks which one that is. Before gemm.c calls a function here, it has
 * checked the description and filled it in: batch >= 1, lda, ldb and ldc are
 * actual strides, device_class is CPU or GPU, never AUTO. There are `M` rows
 * times `batch` pictures, and A and C advance by M * lda and M * ldc: with
 * dense pictures, that is one matrix of batch * M rows.
 *
 * Surprising: `residual` has C's stride ldc and may be C itself. So a kernel
 * must not have `restrict` on both, and must read an element before writing it,
 * in the same work-item.
 */
#ifndef VT_GEMM_PROVIDER_H
#define VT_GEMM_PROVIDER_H
#include "gemm/gemm.h"

typedef struct vt_provider vt_provider;

/* Made and freed by gemm.c (which also holds references on the buffers). */
struct vt_gemm {
    const vt_provider *provider;
    vt_dev *dev;
    vt_gemm_desc d; /* filled in */
    vt_gemm_bufs bufs;
    vt_kernel *kernel[4]; /* launched in order by default */
    void *state;          /* the provider's; freed by its free() */
    char note[96];        /* for vt_gemm_describe(); default: the name */
};

struct vt_provider {
    const char *name; /* what users choose; several rows may have it */
    const char *form; /* one row's; also its kernel in params.c, if it is there
                       */
    vt_class class;   /* of the products that it supports; AUTO: of all */
    /* Has a product the same bits if B is not packed, and no more work to do
     * for a B that is used once? */
    bool streams;
    /* Can it be used on this device at all? Called once per device; may probe
     * (compile, run, compare); must log no errors. NULL: yes. */
    bool (*usable)(vt_dev *dev);
    /* Does it support this multiplication, which is of its class? If not, the
     * next row that does is used (plain supports everything but int8). May let
     * an instruction be tried first, if B is packed or the type bf16; on a CPU
     * not if the product accumulates. NULL: yes. */
    bool (*takes)(vt_dev *dev, const vt_gemm_desc *d);
    /* NULL (all three): B is not packed. `d` has b_packed. */
    const char *(*layout)(vt_dev *dev, const vt_gemm_desc *d);
    size_t (*packed_bytes)(vt_dev *dev, const vt_gemm_desc *d);
    vitcl_status (*pack)(vt_queue *q, const vt_gemm_desc *d, vt_buf *packed,
                         vt_buf *b);
    /* Does it support `sums` with this one? NULL: never. */
    bool (*sums)(vt_dev *dev, const vt_gemm_desc *d);
    /* NULL: none. */
    size_t (*temp_bytes)(vt_dev *dev, const vt_gemm_desc *d);
    /* Makes g->kernel[] or g->state from g->d and g->bufs. After an error,
     * gemm.c and free() free what was made before. */
    vitcl_status (*bind)(vt_gemm *g);
    vitcl_status (*launch)(vt_queue *q, vt_gemm *g); /* NULL: g->kernel[] */
    void (*free)(vt_gemm *g);                        /* NULL: nothing more */
    /* vt_gemm_peak(). NULL: vector multiply-adds. */
    vitcl_status (*peak)(vt_kernel **out, double *flops, vt_dev *dev,
                         vt_dtype type);
};

extern const vt_provider vt_gemm_dot, vt_gemm_outer, vt_gemm_rows, vt_gemm_mma,
    vt_gemm_tile, vt_gemm_clblast, vt_gemm_plain;

#endif
