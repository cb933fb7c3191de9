/*
 * trial.h - checks and timings that may crash; run by vitcl-try (try.c).
 */
#ifndef VT_API_TRIAL_H
#define VT_API_TRIAL_H
#include "gemm/params.h"

enum { VT_TRIAL_PRODUCTS = 8 };

/* C[M,N] = A[M,K] B[N,K]^T, `count` times a picture. */
typedef struct vt_trial_product {
    int M, N, K, count;
} vt_trial_product;

/* A product as sessions do it: B constant, nothing added. */
vt_gemm_desc vt_trial_desc(const vt_dev *dev, vt_dtype type,
                           const vt_trial_product *x);
/* The products as a candidate's text: "native 197x768x768x12 ...". */
void vt_trial_format(char *out, size_t size, const char *gemm,
                     const vt_trial_product *x, int n);

/* vitcl_candidate_measure() within this process. */
vitcl_status vt_candidate_measure(double *ratio, const char *select,
                                  const char *candidate);
/* Times a product of a ViT's size in bf16 or f16 with this provider, in ms. */
vitcl_status vt_half_measure(double *ms, vt_dev *dev, const char *gemm,
                             vt_dtype type);

#endif
