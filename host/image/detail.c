/*
 * detail.c - how fine the detail of a picture is.
 *
 * With d1 the differences of neighbours in rows and columns, and d2 those of
 * neighbouring d1, it is
 *
 *     sum d2^2 / sum d1^2
 *
 * over all pixels and colours. For waves of one length it is 4 sin^2(pi /
 * length), and for a picture their mean, weighted by what each has of the
 * contrast: 0 for a plain or evenly changing picture, 3 for noise, 4 for a
 * chequered one. Brightness and contrast do not change it. A picture that was
 * enlarged has little.
 */
#include "image/image.h"

#include <math.h>

/* Adds a line of n pixels, `step` bytes apart, of one colour. Integers: the
 * same bits everywhere. */
static void add_line(uint64_t sum[2], const uint8_t *v, uint32_t n, size_t step)
{
    int before = 0;

    for (uint32_t i = 1; i < n; i++) {
        const int d = v[i * step] - v[(i - 1) * step];
        const int dd = i > 1 ? d - before : 0;

        sum[0] += (uint64_t)(d * d);
        sum[1] += (uint64_t)(dd * dd);
        before = d;
    }
}

double vt_detail(const uint8_t *rgb, uint32_t height, uint32_t width)
{
    const size_t row = (size_t)width * 3;
    uint64_t sum[2] = {0, 0};

    for (size_t c = 0; c < 3; c++) {
        for (uint32_t y = 0; y < height; y++)
            add_line(sum, rgb + y * row + c, width, 3);
        for (uint32_t x = 0; x < width; x++)
            add_line(sum, rgb + (size_t)x * 3 + c, height, row);
    }
    return sum[0] ? (double)sum[1] / (double)sum[0] : 0;
}

void vt_unnormalise(uint8_t *rgb, const float *pixels, const vt_preprocess *how)
{
    const size_t plane = (size_t)how->height * how->width;

    for (size_t i = 0; i < 3 * plane; i++) {
        const size_t c = i / plane;
        const double v =
            ((double)pixels[i] * (double)how->std[c] + (double)how->mean[c]) /
            (double)how->scale;

        rgb[i % plane * 3 + c] = (uint8_t)(fmin(fmax(v, 0), 255) + 0.5);
    }
}
