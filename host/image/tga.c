/*
 * tga.c - TGA, with the same bytes as Pillow. It has its own reader because
 * stb_image's has known memory errors.
 *
 * The format has no magic number; formats.c knows it by a plausible header,
 * which is checked there.
 */
#include "image/decoders.h"

#include <stdlib.h>
#include <string.h>

enum { HEADER = 18, FROM_RIGHT = 0x10, FROM_TOP = 0x20, PACKED = 8 };

typedef struct tga_state {
    const uint8_t *data;
    size_t size, at;
    const char *name;
    unsigned kind, bytes; /* 1: palette, 2: colour, 3: grey; of a pixel */
    const vt_decode_as *as;
    uint8_t palette[256][4];
    vt_picture picture;
} tga_state;

/* One colour of `bytes` as red, green, blue, opacity. */
static void read_colour(uint8_t rgba[4], const uint8_t *d, unsigned bytes)
{
    if (bytes == 2) {
        const unsigned v = d[0] | (unsigned)d[1] << 8;

        for (int i = 0; i < 3; i++)
            rgba[i] = (uint8_t)((v >> (10 - 5 * i) & 31) * 255 / 31);
        rgba[3] = v >> 15 ? 0 : 255;
        return;
    }
    rgba[0] = d[2], rgba[1] = d[1], rgba[2] = d[0];
    rgba[3] = bytes == 4 ? d[3] : 255;
}

static vitcl_status truncated(const tga_state *s)
{
    return vt_fail(VITCL_ECORRUPT, "%s: the TGA is truncated", s->name);
}

/* Reads the 256 colours that a pixel can name; skips the others. */
static vitcl_status read_palette(tga_state *s)
{
    const uint32_t first = vt_read_number(s->data + 3, 2, false);
    const uint32_t count = vt_read_number(s->data + 5, 2, false);
    const unsigned bytes = s->data[7] / 8u;

    if (s->data[1] == 0)
        return VITCL_OK;
    if ((s->size - s->at) / bytes < count)
        return truncated(s);
    for (uint32_t i = 0; i < 256; i++)
        s->palette[i][3] = 255;
    for (uint32_t i = 0; i < count && first + i < 256; i++)
        read_colour(s->palette[first + i], s->data + s->at + (size_t)bytes * i,
                    bytes);
    s->at += (size_t)count * bytes;
    return VITCL_OK;
}

/* Its mode in Pillow. */
static vitcl_status find_own(const tga_state *s)
{
    vt_own *own = s->as->own;
    const bool opaque = s->bytes == (s->kind == 3 ? 1 : 3);

    for (int i = 0; own && i < 256; i++)
        memcpy(own->palette[i], s->palette[i], 3);
    return vt_own_new(own,
                      s->kind == 1 ? VT_OWN_NUMBERS
                      : opaque     ? VT_OWN_RGB
                                   : VT_OWN_ALPHA,
                      s->picture.width, s->picture.height, s->name);
}

static void put(const tga_state *s, size_t i, const uint8_t *d)
{
    uint8_t rgba[4], *to = s->picture.rgb + 3 * i;

    if (s->kind == 1) {
        memcpy(rgba, s->palette[d[0]], 4);
    } else if (s->kind == 3) {
        memset(rgba, d[0], 3);
        rgba[3] = s->bytes == 2 ? d[1] : 255;
    } else {
        read_colour(rgba, d, s->bytes);
    }
    memcpy(to, rgba, 3);
    if (s->as->own && s->as->own->mode == VT_OWN_ALPHA)
        vt_opacity(to, s->as, i, rgba[3]);
    else if (s->as->on_white)
        vt_lay_on_white(to, rgba[3]);
}

static vitcl_status read_pixels(tga_state *s)
{
    const bool packed = s->data[2] & PACKED;
    const uint8_t flags = s->data[17];
    const uint32_t width = s->picture.width, height = s->picture.height;
    unsigned left = 0; /* pixels of the packet */
    bool run = false;

    for (uint32_t row = 0; row < height; row++) {
        const uint32_t y = flags & FROM_TOP ? row : height - 1 - row;

        for (uint32_t column = 0; column < width; column++, left--) {
            const uint32_t x = flags & FROM_RIGHT ? width - 1 - column : column;

            if (packed && left == 0) {
                if (s->at == s->size)
                    return truncated(s);
                run = s->data[s->at] & 128;
                left = (s->data[s->at++] & 127u) + 1;
            }
            if (s->size - s->at < s->bytes)
                return truncated(s);
            put(s, (size_t)width * y + x, s->data + s->at);
            if (!run || left == 1)
                s->at += s->bytes;
        }
    }
    return VITCL_OK;
}

vitcl_status vt_decode_tga(vt_picture *out, unsigned *orientation,
                           const uint8_t *data, size_t size,
                           const vt_decode_as *as, const char *name)
{
    tga_state s = {.data = data,
                   .size = size,
                   .at = HEADER,
                   .name = name,
                   .kind = data[2] & 7u,
                   .bytes = data[16] / 8u,
                   .as = as};
    const uint32_t width = vt_read_number(data + 12, 2, false);
    const uint32_t height = vt_read_number(data + 14, 2, false);
    uint64_t least = (uint64_t)width * height * s.bytes;
    vitcl_status st = VITCL_OK;

    *orientation = 1;
    if (data[2] & PACKED) /* a packet has up to 128 pixels */
        least = (uint64_t)width * height / 128 * (s.bytes + 1);
    if (size - s.at < data[0] || size - s.at - data[0] < least) {
        st = truncated(&s);
        goto done;
    }
    s.at += data[0];
    VT_TRY(read_palette(&s));
    VT_TRY(vt_picture_new(&s.picture, width, height, name));
    VT_TRY(find_own(&s));
    VT_TRY(read_pixels(&s));
    *out = s.picture, s.picture = (vt_picture){0};
done:
    vt_picture_free(&s.picture);
    return st;
}
