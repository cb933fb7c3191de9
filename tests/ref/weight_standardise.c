/*
 * weight_standardise.c - Qiao et al. 2019.
 */
#include "ref/ref.h"

#include <math.h>

void ref_weight_standardise(double *out, const double *w, int O, int K,
                            double eps)
{
    for (int o = 0; o < O; o++, w += K, out += K) {
        double mean = 0, var = 0;

        for (int k = 0; k < K; k++)
            mean += w[k] / K;
        for (int k = 0; k < K; k++)
            var += (w[k] - mean) * (w[k] - mean) / K;
        for (int k = 0; k < K; k++)
            out[k] = (w[k] - mean) / sqrt(var + eps);
    }
}
