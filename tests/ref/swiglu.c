/*
 * swiglu.c - silu(gate) * value (Shazeer 2020).
 */
#include "ref/ref.h"

#include <math.h>

void ref_swiglu(double *out, const double *x, int N, int C)
{
    for (int n = 0; n < N; n++)
        for (int c = 0; c < C; c++) {
            double gate = x[n * 2 * C + c], value = x[n * 2 * C + C + c];

            out[n * C + c] = gate / (1 + exp(-gate)) * value;
        }
}
