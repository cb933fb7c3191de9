/*
 * qknorm.c - layer norm of each head of q and k, or of the only part; weights:
 * q gamma, q beta, k gamma, k beta, each or NULL. rms: with a mean of 0.
 */
#include "ref/ref.h"

#include <string.h>

void ref_qknorm(double *out, const double *qkv, const double *const *weights,
                int N, int H, int D, double eps, int parts, int rms)
{
    for (int n = 0; n < N; n++)
        for (int part = 0; part < parts; part++)
            for (int h = 0; h < H; h++) {
                int at = ((n * parts + part) * H + h) * D;

                if (part == 2)
                    memcpy(out + at, qkv + at, (unsigned)D * sizeof *out);
                else
                    ref_layernorm(out + at, qkv + at, weights[2 * part],
                                  weights[2 * part + 1], 1, 1, D, 1, eps, rms);
            }
}
