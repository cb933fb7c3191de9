/*
 * pick.c - token number token[b] of picture b.
 */
#include "ref/ref.h"

void ref_pick(double *out, const double *x, const double *token, int B, int T,
              int C)
{
    for (int b = 0; b < B; b++)
        for (int i = 0; i < C; i++) {
            const int t = (int)token[b];

            *out++ = t < 0 || t >= T ? 0 : x[(b * T + t) * C + i];
        }
}
