/*
 * attention.h - attention and its reference, for cases of oneplan.h.
 *
 * in: qkv, or q and then kv, and a bias; arg: heads, and for axial attention
 * `to` and `wide` of vt_attention_args.
 */
#ifndef VT_TESTS_ATTENTION_H
#define VT_TESTS_ATTENTION_H
#include "support/oneplan.h"

vt_val vt_test_attention(vt_plan *p, const vt_val *in, const vt_case *c);
void vt_test_attention_ref(double *out, const double *const *in,
                           const vt_case *c);
/* Adds to d, zeros before, the gradient of qkv x[B,T,3*H*D] from g[B,T,H*D], by
 * the formulas. */
void vt_test_qkv_grad(double *d, const float *x, const float *g, size_t B,
                      size_t T, size_t H, size_t D);

#endif
