/*
 * normalise.c - (v * scale - mean) / std, channels first.
 */
#include "ref/ref.h"

void ref_normalise(double *out, const double *rgb, int B, int H, int W,
                   double scale, const double *mean, const double *std)
{
    for (int b = 0; b < B; b++)
        for (int c = 0; c < 3; c++)
            for (int i = 0; i < H * W; i++)
                *out++ =
                    (rgb[(b * H * W + i) * 3 + c] * scale - mean[c]) / std[c];
}
