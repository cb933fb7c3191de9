/*
 * pnm.c - binary 8-bit PGM and PPM: the simplest way to pass exact pixels. It
 * has its own reader because stb_image's overflows on 16-bit files.
 */
#include "image/decoders.h"

#include <string.h>

/* The next decimal number of the header; comments run from # to line end. */
static bool header_number(uint32_t *out, const uint8_t *d, size_t size,
                          size_t *at)
{
    uint32_t v = 0;
    size_t digits = 0;

    while (*at < size && (strchr(" \t\r\n\v\f", d[*at]) || d[*at] == '#')) {
        if (d[*at] == 0)
            return false;
        if (d[*at] == '#')
            while (*at < size && d[*at] != '\n')
                ++*at;
        else
            ++*at;
    }
    for (; *at < size && d[*at] >= '0' && d[*at] <= '9'; ++*at, digits++)
        if (digits < 9)
            v = v * 10 + (uint32_t)(d[*at] - '0');
    *out = v;
    return digits > 0 && digits < 9;
}

vitcl_status vt_decode_pnm(vt_picture *out, unsigned *orientation,
                           const uint8_t *data, size_t size, bool on_white,
                           const char *name)
{
    uint32_t width, height, top;
    size_t at = 2, bytes = data[1] == '6' ? 3 : 1, n;
    vt_picture p = {0};
    vitcl_status st;

    (void)on_white; /* PNM has no alpha */
    *orientation = 1;
    if (!header_number(&width, data, size, &at) ||
        !header_number(&height, data, size, &at) ||
        !header_number(&top, data, size, &at) || at >= size)
        return vt_fail(VITCL_ECORRUPT, "%s: not a valid PPM header", name);
    at++; /* one white space */
    if (top != 255)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: PPM with maximum value %u; only 255 is supported",
                       name, top);
    st = vt_picture_check(width, height, name);
    if (st != VITCL_OK)
        return st;
    n = (size_t)width * height;
    if (size - at < n * bytes)
        return vt_fail(VITCL_ECORRUPT, "%s: the PPM is truncated", name);
    st = vt_picture_new(&p, width, height, name);
    if (st != VITCL_OK)
        return st;
    if (bytes == 3)
        memcpy(p.rgb, data + at, n * 3);
    else
        for (size_t i = 0; i < n; i++)
            memset(p.rgb + 3 * i, data[at + i], 3);
    *out = p;
    return VITCL_OK;
}
