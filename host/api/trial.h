/*
 * trial.h - products that are checked and timed. For tune.c and trial.c.
 */
#ifndef VT_API_TRIAL_H
#define VT_API_TRIAL_H
#include "gemm/params.h"

enum { VT_TRIAL_PRODUCTS = 8 };

/* C[M,N] = A[M,K] B[N,K], `count` times a picture. */
typedef struct vt_trial_product {
    int M, N, K, count;
} vt_trial_product;

/* As a session multiplies: B constant, nothing added. */
vt_gemm_desc vt_trial_desc(const vt_dev *dev, vt_dtype type,
                           const vt_trial_product *x);
/* "native 197x768x768x12 ..." for a candidate's text. */
void vt_trial_format(char *out, size_t size, const char *gemm,
                     const vt_trial_product *x, int n);

#endif
