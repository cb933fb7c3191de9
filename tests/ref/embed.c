/*
 * embed.c - Dosovitskiy et al. 2021, equation 1, with further prefix tokens.
 */
#include "ref/ref.h"

void ref_embed(double *out, const double *x, const double *const *prefix,
               const int *rows, int n, const double *pos, int Q, int B, int N,
               int C)
{
    for (int b = 0; b < B; b++) {
        int token = 0;

        for (int k = 0; k < n; k++)
            for (int j = 0; j < rows[k]; j++, token++)
                for (int c = 0; c < C; c++)
                    *out++ = prefix[k][j * C + c] +
                             (pos && token < Q ? pos[token * C + c] : 0);
        for (int i = 0; i < N; i++)
            for (int c = 0; c < C; c++)
                *out++ =
                    x[(b * N + i) * C + c] + (pos ? pos[(Q + i) * C + c] : 0);
    }
}
