/*
 * to_tokens.c - each [R,S] transposed.
 */
#include "ref/ref.h"

void ref_to_tokens(double *out, const double *x, int B, int R, int S)
{
    for (int b = 0; b < B; b++)
        for (int s = 0; s < S; s++)
            for (int r = 0; r < R; r++)
                *out++ = x[(b * R + r) * S + s];
}
