/*
 * gemm.h - the reference of matrix multiplication, and what f16 and bf16 keep.
 */
#ifndef VT_TESTS_REF_GEMM_H
#define VT_TESTS_REF_GEMM_H
#include "ref/ref.h"

/* sum_k A(m,k) B(n,k), A(m,k) = a[m*am + k*ak], B(n,k) = b[n*bn + k*bk] */
double ref_dot(const float *a, const float *b, int m, int n, int K, int am,
               int ak, int bn, int bk);

#endif
