/*
 * layernorm.c - Ba, Kiros, Hinton 2016, of the first `count` rows of each T;
 * Zhang, Sennrich 2019 (rms): with a mean of 0.
 */
#include "ref/ref.h"

#include <math.h>

void ref_layernorm(double *out, const double *x, const double *gamma,
                   const double *beta, int B, int T, int C, int count,
                   double eps, int rms)
{
    for (int b = 0; b < B; b++)
        for (int t = 0; t < count; t++, out += C) {
            const double *r = x + (b * T + t) * C;
            double mean = 0, var = 0;

            for (int c = 0; c < C && !rms; c++)
                mean += r[c] / C;
            for (int c = 0; c < C; c++)
                var += (r[c] - mean) * (r[c] - mean) / C;
            for (int c = 0; c < C; c++)
                out[c] =
                    (r[c] - mean) / sqrt(var + eps) * (gamma ? gamma[c] : 1) +
                    (beta ? beta[c] : 0);
        }
}
