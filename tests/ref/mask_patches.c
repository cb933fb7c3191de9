/*
 * mask_patches.c - a patch, another one of the picture, or the mask.
 */
#include "ref/ref.h"

void ref_mask_patches(double *out, const double *x, const double *source,
                      const double *mask, int B, int N, int C)
{
    for (int b = 0; b < B; b++)
        for (int n = 0; n < N; n++)
            for (int c = 0; c < C; c++) {
                const int from = (int)source[b * N + n];

                *out++ = from < 0 ? mask[c] : x[(b * N + from) * C + c];
            }
}
