/*
 * base64.c - three bytes become four digits; = fills the last group.
 */
#include "base/base64.h"

#include <stdint.h>

void vt_base64_put(FILE *f, const void *data, size_t size)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "abcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *in = data;

    for (size_t i = 0; i < size; i += 3) {
        const size_t n = size - i < 3 ? size - i : 3;
        const uint32_t bits = (uint32_t)in[i] << 16 |
                              (n > 1 ? (uint32_t)in[i + 1] << 8 : 0) |
                              (n > 2 ? (uint32_t)in[i + 2] : 0);

        putc(digit[bits >> 18], f);
        putc(digit[bits >> 12 & 63], f);
        putc(n > 1 ? digit[bits >> 6 & 63] : '=', f);
        putc(n > 2 ? digit[bits & 63] : '=', f);
    }
}
