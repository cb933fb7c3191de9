/*
 * attention.c - Attention(q, K, V) = softmax(q K^T scale + bias) V for one
 * query (Vaswani et al. 2017, equation 1), all sums in double.
 */
#include "ref/attention.h"

#include <math.h>

void ref_attention(double *out, double *probs, const float *q, const float *k,
                   const float *v, const float *bias, int T, int D, int ldk,
                   double scale)
{
    double greatest = -INFINITY, total = 0;

    for (int t = 0; t < T; t++) {
        double dot = 0;
        for (int d = 0; d < D; d++)
            dot += (double)q[d] * (double)k[t * ldk + d];
        probs[t] = dot * scale + (bias ? (double)bias[t] : 0.0);
        greatest = fmax(greatest, probs[t]);
    }
    for (int t = 0; t < T; t++)
        total += probs[t] = exp(probs[t] - greatest);
    for (int t = 0; t < T; t++)
        probs[t] /= total;
    for (int d = 0; d < D; d++) {
        out[d] = 0;
        for (int t = 0; t < T; t++)
            out[d] += probs[t] * (double)v[t * ldk + d];
    }
}
