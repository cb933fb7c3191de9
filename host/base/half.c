/*
 * half.c - 16-bit floats by bit operations: the same on every compiler.
 */
#include "base/half.h"

#include <string.h>

static float from_bits(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

static uint32_t to_bits(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

/* Without branches, so that a compiler can widen several at once. */
static inline float widen(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h & 0x8000) << 16, a = h & 0x7fff;
    const uint32_t subnormal = to_bits((float)(int32_t)a * 0x1p-24f);
    const uint32_t is_subnormal = -(uint32_t)(a < 0x400);
    const uint32_t is_infinite = -(uint32_t)(a >= 0x7c00); /* or NaN */
    const uint32_t normal =
        (a << 13) + (112u << 23) + (is_infinite & (112u << 23));

    return from_bits(sign | (subnormal & is_subnormal) |
                     (normal & ~is_subnormal));
}

float vt_f16_to_f32(uint16_t h)
{
    return widen(h);
}

void vt_f16_row_to_f32(float *restrict out, const uint8_t *restrict from,
                       size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint16_t h;

        memcpy(&h, from + i * sizeof h, sizeof h);
        out[i] = widen(h);
    }
}

uint16_t vt_f32_to_f16(float f)
{
    uint32_t u = to_bits(f), sign = u >> 16 & 0x8000, a = u & 0x7fffffff;

    if (a > 0x7f800000)
        return (uint16_t)(sign | 0x7e00 | (a >> 13 & 0x3ff));
    if (a >= 0x477ff000) /* rounds to 65536 or more */
        return (uint16_t)(sign | 0x7c00);
    if (a < 0x38800000) { /* subnormal: let the addition round it */
        float r = from_bits(a) + 0.5f;
        return (uint16_t)(sign | (to_bits(r) - 0x3f000000));
    }
    a += 0xfff + (a >> 13 & 1);
    return (uint16_t)(sign | (a - 0x38000000) >> 13);
}

float vt_bf16_to_f32(uint16_t h)
{
    return from_bits((uint32_t)h << 16);
}

uint16_t vt_f32_to_bf16(float f)
{
    uint32_t u = to_bits(f);

    if ((u & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(u >> 16 | 0x40);
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
