/*
 * test_half.c - all 16-bit floats, and values between two of them. The arbiter
 * is ldexp() and IEEE 754's rule: round to nearest, ties to even.
 */
#include "base/half.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* The value of a finite 16-bit float with m fraction bits. */
static double value(unsigned h, int m, int bias)
{
    const int exponent = (int)(h & 0x7fff) >> m;
    const int fraction = (int)h & ((1 << m) - 1);

    return exponent ? ldexp((1 << m) + fraction, exponent - bias - m)
                    : ldexp(fraction, 1 - bias - m);
}

static void check(int m, int bias, float (*widen)(uint16_t),
                  uint16_t (*narrow)(float))
{
    const unsigned infinite = 0x7fffU >> m << m;

    for (unsigned h = 0; h < infinite; h++) {
        const double v = value(h, m, bias), next = value(h + 1, m, bias);
        const float middle = (float)((v + next) / 2);
        const float below = nextafterf(middle, 0);
        const float above = nextafterf(middle, INFINITY);

        cr_assert_eq((double)middle, (v + next) / 2, "no exact test");
        for (unsigned s = 0; s <= 0x8000; s += 0x8000) {
            const float sign = s ? -1.0f : 1.0f;
            cr_assert_eq(widen((uint16_t)(s | h)), sign * (float)v, "%04x", h);
            cr_assert_eq(narrow(sign * (float)v), s | h, "%04x", h);
            cr_assert_eq(narrow(sign * below), s | h, "below %04x", h);
            cr_assert_eq(narrow(sign * middle), s | (h + (h & 1)), "tie %04x",
                         h);
            cr_assert_eq(narrow(sign * above), s | (h + 1), "above %04x", h);
        }
    }
    for (unsigned s = 0; s <= 0x8000; s += 0x8000) {
        const float sign = s ? -1.0f : 1.0f;
        cr_expect_eq(widen((uint16_t)(s | infinite)), sign * INFINITY);
        cr_expect_eq(narrow(sign * INFINITY), s | infinite);
        cr_expect_eq(narrow(sign * 0x1.fffffep127f), s | infinite);
        for (unsigned h = infinite + 1; h < 0x8000; h++)
            cr_assert(isnan(widen((uint16_t)(s | h))), "%04x", s | h);
    }
    /* A NaN stays a NaN, whichever bits are set. */
    for (uint32_t u = 1; u < 0x800000; u <<= 1)
        for (uint32_t s = 0; s <= 1; s++) {
            const uint32_t bits = s << 31 | 0x7f800000 | u;
            float f;

            memcpy(&f, &bits, sizeof f);
            cr_expect_gt(narrow(f) & 0x7fffU, infinite, "%08x", bits);
            cr_expect_eq(narrow(f) >> 15, s, "%08x", bits);
        }
}

Test(half, f16)
{
    check(10, 15, vt_f16_to_f32, vt_f32_to_f16);
}

Test(half, a_row_is_its_elements)
{
    static uint8_t bytes[1 + 2 * 65536];
    static float row[65536];

    for (unsigned h = 0; h < 65536; h++)
        memcpy(bytes + 1 + (size_t)2 * h, &(uint16_t){(uint16_t)h}, 2);
    vt_f16_row_to_f32(row, bytes + 1, 65536);
    for (unsigned h = 0; h < 65536; h++) {
        const float one = vt_f16_to_f32((uint16_t)h);

        cr_assert_eq(memcmp(&one, &row[h], sizeof one), 0, "%04x", h);
    }
}

Test(half, bf16)
{
    check(7, 127, vt_bf16_to_f32, vt_f32_to_bf16);
}
