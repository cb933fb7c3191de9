/*
 * viridis.h - the colours of maps.
 */
#ifndef VT_PLOT_VIRIDIS_H
#define VT_PLOT_VIRIDIS_H
#include <stddef.h>
#include <stdint.h>

/* 0xRRGGBB of v, from 0 to 1. Nine of matplotlib's viridis (Smith and van der
 * Walt, CC0), with straight lines between: equal steps look equal, also to
 * people with any colour vision and in print. */
static inline uint32_t vt_viridis(double v)
{
    static const unsigned char at[][3] = {
        {68, 1, 84},    {71, 44, 122},  {59, 81, 139},
        {44, 113, 142}, {33, 144, 141}, {39, 173, 129},
        {92, 200, 99},  {170, 220, 50}, {253, 231, 37}};
    const size_t last = sizeof at / sizeof *at - 1;
    const double place = v > 0 ? (v < 1 ? v : 1) * (double)last : 0;
    const size_t i = place >= (double)last ? last - 1 : (size_t)place;
    uint32_t pixel = 0;

    for (int k = 0; k < 3; k++) {
        const double x =
            at[i][k] + (place - (double)i) * (at[i + 1][k] - at[i][k]);

        pixel = pixel << 8 | (uint32_t)(x + 0.5);
    }
    return pixel;
}

#endif
