/*
 * pad.c - planes with zeros around them.
 */
#include "ref/ref.h"

void ref_pad(double *out, const double *x, int planes, int H, int W,
             const int pad[4])
{
    int h = H + pad[0] + pad[2], w = W + pad[1] + pad[3];

    for (int i = 0; i < planes * h * w; i++)
        out[i] = 0;
    for (int p = 0; p < planes; p++)
        for (int y = 0; y < H; y++)
            for (int z = 0; z < W; z++) {
                int Y = y + pad[0], Z = z + pad[1];

                if (Y >= 0 && Y < h && Z >= 0 && Z < w)
                    out[(p * h + Y) * w + Z] = x[(p * H + y) * W + z];
            }
}
