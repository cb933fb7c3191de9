/*
 * png.c - PNG through libpng, with the same bytes as Pillow.
 *
 * libpng sees only the chunks that affect pixels (png_chunks.c reads others);
 * text, colour profiles and the like are skipped unread. Transparency is
 * dropped unless a white background is requested; gamma is not applied. As with
 * Pillow's convert("RGB"), 16-bit grey is clipped at 255 and 16-bit colour
 * keeps its high byte.
 */
#include "image/decoders.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>

typedef struct png_state {
    png_structp png;
    png_infop info;
    const uint8_t *data;
    size_t size, at;
    const char *name;
    char text[128];
    vt_picture picture;
    vt_png_chunks chunks;
    const vt_decode_as *as;
    int depth;     /* in the file: libpng forgets it as it expands greys */
    uint8_t *wide; /* rows with alpha */
} png_state;

static void on_error(png_structp png, png_const_charp text)
{
    png_state *s = png_get_error_ptr(png);

    snprintf(s->text, sizeof s->text, "%s", text);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp text)
{
    (void)png, (void)text;
}

static void read_bytes(png_structp png, png_bytep out, size_t n)
{
    png_state *s = png_get_io_ptr(png);

    if (n > s->size - s->at)
        png_error(png, "it is truncated");
    memcpy(out, s->data + s->at, n);
    s->at += n;
}

/* Asks libpng for 4 bytes per pixel (colour and alpha), 3 (colour), 2 (16-bit
 * grey) or 1 (grey or palette index); returns that number. */
static uint32_t set_transforms(png_state *s)
{
    int color = png_get_color_type(s->png, s->info);

    s->depth = png_get_bit_depth(s->png, s->info);
    png_set_packing(s->png);
    if (color == PNG_COLOR_TYPE_PALETTE)
        return 1;
    if (color == PNG_COLOR_TYPE_GRAY) {
        if (s->depth == 16)
            return 2;
        png_set_expand_gray_1_2_4_to_8(s->png);
        return 1;
    }
    png_set_strip_16(s->png);
    if ((s->as->on_white || s->as->own) && color & PNG_COLOR_MASK_ALPHA) {
        png_set_gray_to_rgb(s->png);
        return 4;
    }
    png_set_strip_alpha(s->png);
    return color & PNG_COLOR_MASK_COLOR ? 3 : 1;
}

/* Converts line y of `bytes` per pixel, stored at its end, to RGB in place: the
 * write never overtakes the read. */
static void widen(const png_state *s, uint32_t y, uint32_t width,
                  uint32_t bytes, bool palette)
{
    uint8_t *line = s->picture.rgb + (size_t)3 * width * y;
    int32_t *grey = s->as->own ? s->as->own->more : NULL;
    const uint8_t *in = line + (size_t)(3 - bytes) * width;

    for (uint32_t x = 0; x < width; x++, line += 3, in += bytes) {
        uint8_t v = in[0];

        if (bytes == 2 && s->as->own)
            grey[(size_t)width * y + x] = in[0] << 8 | in[1];
        if (bytes == 2)
            v = in[0] ? 255 : in[1];
        if (palette) {
            memcpy(line, s->chunks.palette[v], 3);
            if (s->as->on_white && v < s->chunks.trns_size)
                vt_lay_on_white(line, s->chunks.trns[v]);
        } else {
            line[0] = line[1] = line[2] = v;
        }
    }
}

/* tRNS may declare one colour transparent. Pillow compares the converted pixels
 * with the low byte of the values in tRNS. */
static void whiten(const png_state *s)
{
    const int color = png_get_color_type(s->png, s->info);
    const bool grey = color == PNG_COLOR_TYPE_GRAY;
    const size_t n = (size_t)s->picture.width * s->picture.height;
    uint8_t key[3], *p = s->picture.rgb;

    if (!s->as->on_white || (!grey && color != PNG_COLOR_TYPE_RGB) ||
        s->chunks.trns_size < (grey ? 2 : 6))
        return;
    for (int i = 0; i < 3; i++)
        key[i] = s->chunks.trns[grey ? 1 : 2 * i + 1];
    if (grey && s->depth == 1)
        memset(key, s->chunks.trns[0] || s->chunks.trns[1] ? 255 : 0, 3);
    for (size_t i = 0; i < n; i++, p += 3)
        if (memcmp(p, key, 3) == 0)
            memset(p, 255, 3);
}

/* Pixels with alpha: row by row, or all rows if the file is interlaced. */
static vitcl_status read_wide(png_state *s, int passes)
{
    const size_t width = s->picture.width, height = s->picture.height;
    const bool all = passes > 1;
    uint8_t *to = s->picture.rgb;
    size_t i = 0;

    s->wide = malloc(width * 4 * (all ? height : 1));
    if (!s->wide)
        return vt_fail(VITCL_ENOMEM, "%s: out of memory", s->name);
    for (; passes > 0; passes--)
        for (size_t y = 0; y < height; y++) {
            uint8_t *line = s->wide + (all ? y * width * 4 : 0);

            png_read_row(s->png, line, NULL);
            for (size_t x = 0; passes == 1 && x < width; x++, to += 3) {
                memcpy(to, line + 4 * x, 3);
                vt_opacity(to, s->as, i++, line[4 * x + 3]);
            }
        }
    return VITCL_OK;
}

/* Its mode in Pillow. */
static vitcl_status find_own(png_state *s, uint32_t bytes)
{
    vt_own *own = s->as->own;
    const bool palette =
        png_get_color_type(s->png, s->info) == PNG_COLOR_TYPE_PALETTE;

    if (own && palette)
        memcpy(own->palette, s->chunks.palette, sizeof own->palette);
    else if (own)
        memset(own->palette[1], 255, sizeof own->palette - 3);
    return vt_own_new(own,
                      palette || (bytes == 1 && s->depth == 1) ? VT_OWN_NUMBERS
                      : bytes == 2                             ? VT_OWN_INT16
                      : bytes == 4                             ? VT_OWN_ALPHA
                                                               : VT_OWN_RGB,
                      s->picture.width, s->picture.height, s->name);
}

/* libpng may longjmp out of any call here. */
static vitcl_status decode(png_state *s)
{
    vitcl_status st;
    uint32_t width, height, bytes;
    int passes;
    size_t stride;

    png_set_read_fn(s->png, s, read_bytes);
    png_set_crc_action(s->png, PNG_CRC_QUIET_USE, PNG_CRC_QUIET_USE);
    png_set_keep_unknown_chunks(s->png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    png_set_benign_errors(s->png, 1);
    png_set_user_limits(s->png, VT_SIDE_MAX, VT_SIDE_MAX);
    png_read_info(s->png, s->info);
    width = png_get_image_width(s->png, s->info);
    height = png_get_image_height(s->png, s->info);
    bytes = set_transforms(s);
    passes = png_set_interlace_handling(s->png);
    png_read_update_info(s->png, s->info);
    if (png_get_rowbytes(s->png, s->info) != (size_t)width * bytes)
        return vt_fail(VITCL_EUNSUPPORTED, "%s: unknown colour type in a PNG",
                       s->name);
    st = vt_picture_new(&s->picture, width, height, s->name);
    if (st != VITCL_OK)
        return st;
    st = find_own(s, bytes);
    if (st != VITCL_OK)
        return st;
    if (bytes == 2)
        vt_picture_note(VT_NOTE_CLIPPED);
    if (bytes == 4)
        return read_wide(s, passes);
    stride = (size_t)width * 3;
    for (; passes > 0; passes--)
        for (uint32_t y = 0; y < height; y++)
            png_read_row(s->png,
                         s->picture.rgb + y * stride +
                             (size_t)(3 - bytes) * width,
                         NULL);
    for (uint32_t y = 0; y < height && bytes < 3; y++)
        widen(s, y, width, bytes,
              png_get_color_type(s->png, s->info) == PNG_COLOR_TYPE_PALETTE);
    whiten(s);
    return VITCL_OK;
}

vitcl_status vt_decode_png(vt_picture *out, unsigned *orientation,
                           const uint8_t *data, size_t size,
                           const vt_decode_as *as, const char *name)
{
    vitcl_status st;
    png_state *s = calloc(1, sizeof *s); /* on the heap: survives longjmp */

    if (!s)
        return vt_fail(VITCL_ENOMEM, "%s: out of memory", name);
    s->data = data, s->size = size, s->name = name;
    s->as = as;
    VT_TRY(vt_png_walk(&s->chunks, data, size, name));
    s->png =
        png_create_read_struct(PNG_LIBPNG_VER_STRING, s, on_error, on_warning);
    s->info = s->png ? png_create_info_struct(s->png) : NULL;
    if (!s->info)
        VT_TRY(vt_fail(VITCL_ENOMEM, "%s: out of memory", name));
    if (setjmp(png_jmpbuf(s->png)) == 0)
        st = decode(s);
    else if (strstr(s->text, "emory")) /* libpng has no code for it */
        st = vt_fail(VITCL_ENOMEM, "%s: out of memory", s->name);
    else
        st = vt_fail(VITCL_ECORRUPT, "%s: not a valid PNG: %s", s->name,
                     s->text);
    if (st == VITCL_OK) {
        *orientation = s->chunks.orientation;
        *out = s->picture, s->picture = (vt_picture){0};
    }
done:
    vt_picture_free(&s->picture);
    free(s->wide);
    png_destroy_read_struct(&s->png, &s->info, NULL);
    free(s);
    return st;
}
