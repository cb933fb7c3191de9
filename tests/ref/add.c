/*
 * add.c - sums.
 */
#include "ref/ref.h"

void ref_add(double *out, const double *a, const double *b, int n)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] + b[i];
}

void ref_add_rows(double *out, const double *x, const double *y, int N, int R)
{
    for (int i = 0; i < N * R; i++)
        out[i] = x[i] + y[i % R];
}

void ref_add_channels(double *out, const double *x, const double *b,
                      const double *residual, int B, int C, int S, int relu)
{
    for (int i = 0; i < B * C * S; i++) {
        out[i] = x[i] + b[i / S % C] + (residual ? residual[i] : 0);
        if (relu && out[i] < 0)
            out[i] = 0;
    }
}

void ref_add_grid(double *out, const double *x, const double *across,
                  const double *down, int B, int R, int gh, int gw, int C)
{
    int T = R + gh * gw, half = C / 2;

    for (int i = 0; i < B * T * C; i++) {
        int c = i % C, t = i / C % T - R;

        out[i] = x[i];
        if (t >= 0)
            out[i] += c < half ? across[t % gw * half + c]
                               : down[t / gw * half + c - half];
    }
}
