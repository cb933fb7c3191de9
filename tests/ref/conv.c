/*
 * conv.c - cross-correlation with a border of zeros; pad: top, left, bottom,
 * right.
 */
#include "ref/ref.h"

void ref_conv(double *out, const double *x, const double *w, const double *b,
              int B, int C, int H, int W, int O, int kh, int kw, int stride,
              const int pad[4])
{
    int Ho = (H + pad[0] + pad[2] - kh) / stride + 1;
    int Wo = (W + pad[1] + pad[3] - kw) / stride + 1;

    for (int n = 0; n < B * O * Ho * Wo; n++) {
        int ox = n % Wo, oy = n / Wo % Ho, o = n / Wo / Ho % O;
        int i = n / Wo / Ho / O;
        double s = b ? b[o] : 0;

        for (int c = 0; c < C; c++)
            for (int ky = 0; ky < kh; ky++)
                for (int kx = 0; kx < kw; kx++) {
                    int y = oy * stride + ky - pad[0];
                    int u = ox * stride + kx - pad[1];

                    if (y >= 0 && y < H && u >= 0 && u < W)
                        s += x[((i * C + c) * H + y) * W + u] *
                             w[((o * C + c) * kh + ky) * kw + kx];
                }
        out[n] = s;
    }
}
