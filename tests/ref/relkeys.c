/*
 * relkeys.c - q . r for the learnt key r of a relative position
 * (arXiv:2010.11929, appendix D.4), over the square root of D.
 */
#include "ref/ref.h"

#include <math.h>

void ref_relkeys(double *out, const double *qkv, const double *keys, int B,
                 int H, int D, int T, int R)
{
    int N = T - R, C = H * D;

    for (int n = 0; n < B * H * T * T; n++) {
        int j = n % T, i = n / T % T, h = n / T / T % H, b = n / T / T / H;
        /* patches at most N-1 before or behind; then the class token's three */
        int l = i >= R && j >= R ? (i - R) - (j - R) + (N - 1)
                : j >= R         ? 2 * N - 1
                : i >= R         ? 2 * N
                                 : 2 * N + 1;

        out[n] = 0;
        for (int d = 0; d < D; d++)
            out[n] += qkv[(b * T + i) * 3 * C + h * D + d] *
                      keys[l * C + h * D + d] / sqrt(D);
    }
}
