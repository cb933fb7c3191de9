/*
 * attention.h - attention in double, written from the paper's equation.
 */
#ifndef VT_TESTS_REF_ATTENTION_H
#define VT_TESTS_REF_ATTENTION_H

/* One query of D against T keys and values whose tokens are ldk apart:
 * out[D] and probs[T]; bias[T] or null. */
void ref_attention(double *out, double *probs, const float *q, const float *k,
                   const float *v, const float *bias, int T, int D, int ldk,
                   double scale);

#endif
