/*
 * swiglu.c - silu(gate) * value (Shazeer 2020).
 */
#include "ref/ref.h"

#include <math.h>

void ref_swiglu(double *out, const double *x, int N, int C, int gate_last)
{
    for (int n = 0; n < N; n++)
        for (int c = 0; c < C; c++) {
            double first = x[n * 2 * C + c], second = x[n * 2 * C + C + c];
            double gate = gate_last ? second : first;

            out[n * C + c] =
                gate / (1 + exp(-gate)) * (gate_last ? first : second);
        }
}
