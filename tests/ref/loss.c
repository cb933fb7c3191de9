/*
 * loss.c - softmax cross-entropy from its definition.
 */
#include "ref/ref.h"

#include <math.h>

double ref_cross_entropy(const double *z, const double *t, int B, int K)
{
    double loss = 0;

    for (int b = 0; b < B; b++, z += K, t += K) {
        double top = z[0], sum = 0;

        for (int k = 0; k < K; k++)
            top = fmax(top, z[k]);
        for (int k = 0; k < K; k++)
            sum += exp(z[k] - top);
        for (int k = 0; k < K; k++) /* 0 log 0 is 0 */
            loss -= t[k] != 0 ? t[k] * (z[k] - top - log(sum)) / B : 0;
    }
    return loss;
}
