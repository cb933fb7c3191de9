/*
 * relpos.c - bias[h, pair] = table[index[pair], h].
 */
#include "ref/ref.h"

void ref_relpos(double *out, const double *table, const int *index, int H,
                int pairs)
{
    for (int h = 0; h < H; h++)
        for (int i = 0; i < pairs; i++)
            out[h * pairs + i] = table[index[i] * H + h];
}
