/*
 * avgpool.c - the mean of each window; one at the edge has fewer pixels.
 */
#include "ref/ref.h"

void ref_avgpool(double *out, const double *x, int planes, int H, int W,
                 int size)
{
    int Ho = (H + size - 1) / size, Wo = (W + size - 1) / size;

    for (int n = 0; n < planes * Ho * Wo; n++) {
        int ox = n % Wo, oy = n / Wo % Ho, c = n / Wo / Ho, seen = 0;
        double sum = 0;

        for (int i = 0; i < size * size; i++) {
            int y = oy * size + i / size, u = ox * size + i % size;

            if (y < H && u < W) {
                sum += x[(c * H + y) * W + u];
                seen++;
            }
        }
        out[n] = sum / seen;
    }
}
