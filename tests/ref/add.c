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
