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

float vt_f16_to_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16;
    uint32_t exponent = (h >> 10) & 0x1f, mantissa = h & 0x3ff;

    if (exponent == 31)
        return from_bits(sign | 0x7f800000 | mantissa << 13);
    if (exponent == 0) { /* zero or subnormal: mantissa * 2^-24, exact */
        float f = (float)mantissa * 0x1p-24f;
        return from_bits(sign | to_bits(f));
    }
    return from_bits(sign | (exponent + 112) << 23 | mantissa << 13);
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
