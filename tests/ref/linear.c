/*
 * linear.c - residual + scale * act(x w^T + b).
 */
#include "ref/ref.h"

void ref_linear(double *out, const double *x, const double *w, const double *b,
                const double *scale, const double *residual, int M, int N,
                int K, int act)
{
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            double s = b ? b[n] : 0;

            for (int k = 0; k < K; k++)
                s += x[m * K + k] * w[n * K + k];
            s = ref_act(s, act) * (scale ? scale[n] : 1);
            out[m * N + n] = s + (residual ? residual[m * N + n] : 0);
        }
}
