/*
 * timed.h - time products: one, or several in turns.
 */
#ifndef VT_PRODUCT_TIMED_H
#define VT_PRODUCT_TIMED_H
#include "gemm/form.h"

/* A product with its own buffers and queue. All zero: nothing to free. */
typedef struct vt_timed {
    vt_queue *q;
    const vt_form *form;
    vt_told told;
    vt_gemm *g;
    vt_gemm_bufs bufs;
    vt_buf *rows;        /* B before packing */
    double best, second; /* its two best times, in ms */
} vt_timed;

/* A product as sessions do it: B constant, nothing added. */
vt_gemm_desc vt_timed_desc(const vt_dev *dev, vt_dtype type, int M, int N,
                           int K);
/* Makes a dense product of one picture by this form; C is NaN, or zero if it is
 * added to. a[M,K], which is then stored as the product reads it, and b[N,K];
 * NULL: any numbers. After an error, vt_timed_free() frees what was made
 * before. By a provider: vt_product_timed(). */
vitcl_status vt_timed_new(vt_timed *t, vt_dev *dev, const vt_form *form,
                          const vt_told *told, const float *a, const float *b);
/* Packs t->rows anew, if B is packed. */
vitcl_status vt_timed_pack(vt_timed *t);
/* Runs it once, to the end. */
vitcl_status vt_timed_run(vt_timed *t);
/* c[M,N], in whatever type it is stored. */
vitcl_status vt_timed_read(float *c, vt_timed *t);
void vt_timed_free(vt_timed *t);

/* At least `least` rounds; then up to `most`, and for `ms` at most, until the
 * best time of every product has been repeated but for a factor. */
typedef struct vt_rounds {
    int least, most;
    double ms, almost;
} vt_rounds;
/* Runs n products in turns, because a machine's speed drifts, and forgets
 * their earlier times. */
vitcl_status vt_measure(vt_timed *const *t, int n, const vt_rounds *rounds);

#endif
