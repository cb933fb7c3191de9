/*
 * trial.h - what is checked and timed, and may crash: done by vitcl-try
 * (try.c).
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

/* vitcl_candidate_measure() in this process. */
vitcl_status vt_candidate_measure(double *ratio, const char *select,
                                  const char *candidate);
/* A product of a ViT's size in bf16 or f16 by this provider. */
vitcl_status vt_half_measure(double *ms, vt_dev *dev, const char *gemm,
                             vt_dtype type);

#endif
