/*
 * groupnorm.c - Wu, He 2018; then residual, then ReLU.
 */
#include "ref/ref.h"

#include <math.h>

void ref_groupnorm(double *out, const double *x, const double *gamma,
                   const double *beta, const double *residual, int B, int C,
                   int S, int G, double eps, int relu)
{
    int n = C / G * S;

    for (int g = 0; g < B * G; g++) {
        double mean = 0, var = 0;

        for (int i = 0; i < n; i++)
            mean += x[g * n + i] / n;
        for (int i = 0; i < n; i++)
            var += (x[g * n + i] - mean) * (x[g * n + i] - mean) / n;
        for (int i = 0; i < n; i++) {
            int at = g * n + i, c = at / S % C;
            double y = (x[at] - mean) / sqrt(var + eps) * gamma[c] + beta[c];

            y += residual ? residual[at] : 0;
            out[at] = relu && y < 0 ? 0 : y;
        }
    }
}
