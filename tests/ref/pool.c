/*
 * pool.c - a token, the mean, both, or the maximum.
 */
#include "ref/ref.h"

void ref_pool(double *out, const double *x, int B, int T, int C, int kind,
              int first)
{
    for (int b = 0; b < B; b++) {
        const double *r = x + b * T * C;

        if (kind == 2)
            for (int c = 0; c < C; c++)
                *out++ = r[c];
        for (int c = 0; c < C; c++) {
            double sum = 0, top = r[first * C + c];

            for (int t = first; t < T; t++) {
                sum += r[t * C + c];
                top = r[t * C + c] > top ? r[t * C + c] : top;
            }
            *out++ = kind == 0   ? r[first * C + c]
                     : kind == 3 ? top
                                 : sum / (T - first);
        }
    }
}
