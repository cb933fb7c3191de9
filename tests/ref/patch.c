/*
 * patch.c - non-overlapping patches, row by row, each as (c, y, x).
 */
#include "ref/ref.h"

void ref_patch(double *out, const double *x, int B, int C, int H, int W, int Ph,
               int Pw)
{
    for (int b = 0; b < B; b++)
        for (int py = 0; py < H / Ph; py++)
            for (int px = 0; px < W / Pw; px++)
                for (int c = 0; c < C; c++)
                    for (int i = 0; i < Ph; i++)
                        for (int j = 0; j < Pw; j++)
                            *out++ = x[((b * C + c) * H + py * Ph + i) * W +
                                       px * Pw + j];
}
