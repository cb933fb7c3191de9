/*
 * rope.c - timm's apply_rot_embed_cat: x * cos + rot(x) * sin on q and k of
 * tokens skip.., rot(x) = (-x[1], x[0], -x[3], x[2], ...) or, with halves,
 * (-x[D/2], ..., x[0], ...). each: table has a part for each head.
 */
#include "ref/ref.h"

static double rot(const double *x, int d, int D, int halves)
{
    if (halves)
        return d < D / 2 ? -x[d + D / 2] : x[d - D / 2];
    return d % 2 ? x[d - 1] : -x[d + 1];
}

void ref_rope(double *out, const double *qkv, const double *table, int B, int T,
              int H, int D, int skip, int halves, int each)
{
    for (int n = 0; n < B * T; n++)
        for (int part = 0; part < 3; part++)
            for (int h = 0; h < H; h++)
                for (int d = 0; d < D; d++) {
                    int at = ((n * 3 + part) * H + h) * D, t = n % T - skip;
                    double v = qkv[at + d];

                    if (part < 2 && t >= 0) {
                        const double *row =
                            table + ((each ? h * (T - skip) : 0) + t) * 2 * D;
                        v = v * row[D + d] +
                            rot(qkv + at, d, D, halves) * row[d];
                    }
                    out[at + d] = v;
                }
}
