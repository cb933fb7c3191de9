/*
 * l2norm.c - x / max(|x|, 1e-12).
 */
#include "ref/ref.h"

#include <math.h>

void ref_l2norm(double *out, const double *x, int N, int C)
{
    for (int n = 0; n < N; n++) {
        double s = 0;

        for (int c = 0; c < C; c++)
            s += x[n * C + c] * x[n * C + c];
        for (int c = 0; c < C; c++)
            out[n * C + c] = x[n * C + c] / fmax(sqrt(s), 1e-12);
    }
}
