/*
 * picture.c - what every decoder needs: pixels, allocated after a check of the
 * size that the file claims; numbers; transparency.
 */
#include "image/decoders.h"

#include "base/memory.h"

static uint64_t most = VT_PIXELS_MAX;

static unsigned notes;

void vt_picture_note(unsigned note)
{
    notes |= note;
}

unsigned vt_picture_notes(void)
{
    const unsigned all = notes;

    notes = 0;
    return all;
}

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

bool vt_picture_broken(vitcl_status st)
{
    return st == VITCL_EIO || st == VITCL_ECORRUPT || st == VITCL_EUNSUPPORTED;
}

void vt_picture_free(vt_picture *p)
{
    if (!p)
        return;
    free(p->rgb);
    *p = (vt_picture){0};
}

/* The mean of the pixels from `left` and `top` to before `right` and `end`. */
static void mean(uint8_t out[3], const vt_picture *in, uint64_t left,
                 uint64_t top, uint64_t right, uint64_t end)
{
    uint64_t sum[3] = {0, 0, 0};
    const uint64_t n = (right - left) * (end - top);

    for (uint64_t v = top; v < end; v++) {
        const uint8_t *p = in->rgb + (v * in->width + left) * 3;

        for (uint64_t u = left; u < right; u++, p += 3)
            for (int c = 0; c < 3; c++)
                sum[c] += p[c];
    }
    for (int c = 0; c < 3; c++)
        out[c] = (uint8_t)((sum[c] + n / 2) / n);
}

vitcl_status vt_shrink(vt_picture *out, const vt_picture *in, uint32_t side)
{
    const uint64_t longer = VT_MAX(in->width, in->height),
                   smaller = VT_MIN((uint64_t)side, longer);
    const uint64_t width = VT_MAX(in->width * smaller / longer, 1),
                   height = VT_MAX(in->height * smaller / longer, 1);
    uint8_t *rgb = NULL, *to;
    const vitcl_status st = vt_new(&rgb, (size_t)(width * height), 3);

    if (st != VITCL_OK)
        return st;
    to = rgb;
    for (uint64_t y = 0; y < height; y++)
        for (uint64_t x = 0; x < width; x++, to += 3)
            mean(to, in, x * in->width / width, y * in->height / height,
                 (x + 1) * in->width / width, (y + 1) * in->height / height);
    *out = (vt_picture){(uint32_t)width, (uint32_t)height, rgb};
    return VITCL_OK;
}

uint32_t vt_read_number(const uint8_t *p, unsigned bytes, bool big_endian)
{
    uint32_t v = 0;

    for (unsigned i = 0; i < bytes; i++)
        v |= (uint32_t)p[i] << 8 * (big_endian ? bytes - 1 - i : i);
    return v;
}

size_t vt_own_bytes(vt_own_mode mode)
{
    return mode < VT_OWN_ALPHA ? 0 : mode == VT_OWN_ALPHA ? 1 : 4;
}

vitcl_status vt_own_new(vt_own *own, vt_own_mode mode, uint32_t width,
                        uint32_t height, const char *name)
{
    const size_t bytes = vt_own_bytes(mode);

    if (!own)
        return VITCL_OK;
    if (bytes && !(own->more = malloc((size_t)width * height * bytes)))
        return vt_fail(VITCL_ENOMEM, "%s: out of memory for %ux%u pixels", name,
                       width, height);
    own->mode = mode;
    return VITCL_OK;
}

void vt_own_free(vt_own *own)
{
    free(own->more);
    *own = (vt_own){.mode = VT_OWN_RGB};
}

void vt_opacity(uint8_t rgb[3], const vt_decode_as *as, size_t i, uint8_t alpha)
{
    if (as->on_white)
        vt_lay_on_white(rgb, alpha);
    if (as->own)
        ((uint8_t *)as->own->more)[i] = alpha;
}

void vt_cmyk_to_rgb(uint8_t *rgb, const uint8_t *cmyk, size_t n)
{
    for (; n > 0; n--, rgb += 3, cmyk += 4)
        for (int i = 0; i < 3; i++) {
            const int white = 255 - cmyk[3], t = cmyk[i] * white + 128;

            rgb[i] = (uint8_t)(white - (((t >> 8) + t) >> 8));
        }
}

void vt_lay_on_white(uint8_t rgb[3], uint8_t alpha)
{
    for (int i = 0; i < 3; i++) {
        const uint32_t v =
            (rgb[i] * (uint32_t)alpha + 255u * (255u - alpha)) * 128 + 16384;

        rgb[i] = (uint8_t)(((v >> 8) + v) >> 15);
    }
}
