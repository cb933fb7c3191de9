/*
 * picture.c - what every decoder needs: pixels, allocated after a check of the
 * size that the file claims; numbers; transparency.
 */
#include "image/decoders.h"

#include "base/memory.h"

static uint64_t most = VT_PIXELS_MAX;

void vt_picture_limit(uint64_t pixels)
{
    most = pixels;
}

vitcl_status vt_picture_check(uint32_t width, uint32_t height, const char *name)
{
    if (width == 0 || height == 0)
        return vt_fail(VITCL_ECORRUPT, "%s: invalid picture size %ux%u", name,
                       width, height);
    if (width > VT_SIDE_MAX || height > VT_SIDE_MAX)
        return vt_fail(VITCL_ECORRUPT,
                       "%s: %ux%u pixels, more than the limit of %u per side",
                       name, width, height, VT_SIDE_MAX);
    if ((uint64_t)width * height > most)
        return vt_fail(VITCL_ECORRUPT,
                       "%s: %ux%u pixels, more than the limit of %u million, "
                       "which VITCL_DECODE_PIXELS sets",
                       name, width, height, (unsigned)(most / 1000000));
    return VITCL_OK;
}

vitcl_status vt_picture_new(vt_picture *out, uint32_t width, uint32_t height,
                            const char *name)
{
    vitcl_status st = vt_picture_check(width, height, name);
    uint8_t *rgb;

    if (st != VITCL_OK)
        return st;
    rgb = malloc((size_t)width * height * 3);
    if (!rgb)
        return vt_fail(VITCL_ENOMEM, "%s: out of memory for %ux%u pixels", name,
                       width, height);
    *out = (vt_picture){width, height, rgb};
    return VITCL_OK;
}

void vt_picture_free(vt_picture *p)
{
    if (!p)
        return;
    free(p->rgb);
    *p = (vt_picture){0};
}

uint32_t vt_number(const uint8_t *p, unsigned bytes, bool big_endian)
{
    uint32_t v = 0;

    for (unsigned i = 0; i < bytes; i++)
        v |= (uint32_t)p[i] << 8 * (big_endian ? bytes - 1 - i : i);
    return v;
}

void vt_lay_on_white(uint8_t rgb[3], uint8_t alpha)
{
    for (int i = 0; i < 3; i++) {
        const uint32_t v =
            (rgb[i] * (uint32_t)alpha + 255u * (255u - alpha)) * 128 + 16384;

        rgb[i] = (uint8_t)(((v >> 8) + v) >> 15);
    }
}
