/*
 * rope.c - timm's apply_rot_embed_cat: x * cos + rot(x) * sin, rot(x) =
 * (-x[1], x[0], -x[3], x[2], ...), on q and k of tokens skip..
 */
#include "ref/ref.h"

void ref_rope(double *out, const double *qkv, const double *table, int B, int T,
              int H, int D, int skip)
{
    for (int n = 0; n < B * T; n++)
        for (int part = 0; part < 3; part++)
            for (int h = 0; h < H; h++)
                for (int d = 0; d < D; d++) {
                    int at = ((n * 3 + part) * H + h) * D, t = n % T - skip;
                    double v = qkv[at + d];

                    if (part < 2 && t >= 0) {
                        double rot = d % 2 ? qkv[at + d - 1] : -qkv[at + d + 1];
                        const double *row = table + t * 2 * D;
                        v = v * row[D + d] + rot * row[d];
                    }
                    out[at + d] = v;
                }
}
