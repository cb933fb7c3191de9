/*
 * slice.c - tokens first .. first + count - 1.
 */
#include "ref/ref.h"

void ref_slice(double *out, const double *x, int B, int T, int C, int first,
               int count)
{
    for (int b = 0; b < B; b++)
        for (int i = 0; i < count * C; i++)
            *out++ = x[(b * T + first) * C + i];
}
