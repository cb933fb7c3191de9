/*
 * maxpool.c - the largest of each window; pad: top, left, bottom, right.
 */
#include "ref/ref.h"

#include <math.h>

void ref_maxpool(double *out, const double *x, int planes, int H, int W,
                 int size, int stride, const int pad[4])
{
    int Ho = (H + pad[0] + pad[2] - size) / stride + 1;
    int Wo = (W + pad[1] + pad[3] - size) / stride + 1;

    for (int n = 0; n < planes * Ho * Wo; n++) {
        int ox = n % Wo, oy = n / Wo % Ho, c = n / Wo / Ho;
        double top = -INFINITY;

        for (int y = oy * stride - pad[0]; y < oy * stride - pad[0] + size; y++)
            for (int u = ox * stride - pad[1]; u < ox * stride - pad[1] + size;
                 u++)
                if (y >= 0 && y < H && u >= 0 && u < W)
                    top = fmax(top, x[(c * H + y) * W + u]);
        out[n] = top;
    }
}

void ref_maxpool_grad(double *dx, const double *dout, const double *x,
                      int planes, int H, int W, int size, int stride,
                      const int pad[4])
{
    int Ho = (H + pad[0] + pad[2] - size) / stride + 1;
    int Wo = (W + pad[1] + pad[3] - size) / stride + 1;

    for (int i = 0; i < planes * H * W; i++)
        dx[i] = 0;
    for (int n = 0; n < planes * Ho * Wo; n++) {
        int ox = n % Wo, oy = n / Wo % Ho, c = n / Wo / Ho, at = -1;

        for (int y = oy * stride - pad[0]; y < oy * stride - pad[0] + size; y++)
            for (int u = ox * stride - pad[1]; u < ox * stride - pad[1] + size;
                 u++) {
                int i = (c * H + y) * W + u;
                if (y >= 0 && y < H && u >= 0 && u < W &&
                    (at < 0 || x[i] > x[at] || isnan(x[i])))
                    at = i;
            }
        dx[at] += dout[n];
    }
}
