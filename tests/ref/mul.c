/*
 * mul.c - products.
 */
#include "ref/ref.h"

void ref_mul(double *out, const double *a, const double *b, int n)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] * b[i];
}

void ref_mul_rows(double *out, const double *x, const double *y, int N, int R)
{
    for (int i = 0; i < N * R; i++)
        out[i] = x[i] * y[i % R];
}
