/*
 * png.c - PNG through libpng, with the same bytes as Pillow.
 *
 * The chunks are walked here first, as in Pillow: everything before the picture
 * data must have a correct checksum, the data itself need not, and later chunks
 * may be broken. libpng then sees only the chunks that affect pixels; text,
 * colour profiles and the like are skipped unread. Transparency is dropped
 * unless a white background is requested; gamma is not applied. As with
 * Pillow's convert("RGB"), 16-bit grey is clipped at 255 and 16-bit colour
 * keeps its high byte.
 */
#include "image/decoders.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>
#include <zlib.h>

typedef struct png_state {
    png_structp png;
    png_infop info;
    const uint8_t *data;
    size_t size, at;
    const char *name;
    char text[128];
    vt_picture picture;
    uint8_t palette[256][3]; /* entries not in the file are black */
    bool on_white;
    int depth;         /* in the file: libpng forgets it as it expands greys */
    uint8_t trns[256]; /* tRNS: opacities of a palette, or a colour */
    size_t trns_size;
    uint8_t *wide; /* rows with alpha */
    unsigned orientation, xmp_orientation;
    bool got_exif;
} png_state;

/* The text of a zTXt chunk, used for the orientation only. A text longer than
 * the buffer is truncated; the first directory still fits. */
static size_t inflate_some(uint8_t *out, size_t room, const uint8_t *in,
                           size_t size)
{
    z_stream z = {0};

    if (inflateInit(&z) != Z_OK)
        return 0;
    z.next_in = (uint8_t *)(uintptr_t)in;
    z.avail_in = (uInt)size;
    z.next_out = out;
    z.avail_out = (uInt)room;
    (void)inflate(&z, Z_SYNC_FLUSH);
    inflateEnd(&z);
    return room - z.avail_out;
}

static void look_for_orientation(png_state *s, const uint8_t *type,
                                 const uint8_t *body, size_t n)
{
    static const char hex[] = "Raw profile type exif";
    static const char xmp[] = "XML:com.adobe.xmp";
    uint8_t text[8192];

    if (memcmp(type, "eXIf", 4) == 0) {
        s->got_exif = true;
        s->orientation = vt_exif_orientation(body, n);
    } else if (!s->got_exif && n > sizeof hex + 1 &&
               memcmp(body, hex, sizeof hex) == 0) {
        if (memcmp(type, "tEXt", 4) == 0)
            s->orientation =
                vt_exif_hex_orientation(body + sizeof hex, n - sizeof hex);
        else if (memcmp(type, "zTXt", 4) == 0)
            s->orientation = vt_exif_hex_orientation(
                text, inflate_some(text, sizeof text, body + sizeof hex + 1,
                                   n - sizeof hex - 1));
    } else if (memcmp(type, "iTXt", 4) == 0 && n > sizeof xmp + 4 &&
               memcmp(body, xmp, sizeof xmp) == 0 && body[sizeof xmp] == 0) {
        s->xmp_orientation =
            vt_xmp_orientation(body + sizeof xmp, n - sizeof xmp);
    }
}

static bool is_chunk_name(const uint8_t *p)
{
    for (int i = 0; i < 4; i++)
        if (!((p[i] | 0x20) >= 'a' && (p[i] | 0x20) <= 'z'))
            return false;
    return true;
}

/* Checks and notes the chunks before the picture data, and looks for an
 * orientation after it. */
static vitcl_status walk(png_state *s)
{
    bool in_data = false;
    const uint8_t *d = s->data;

    for (size_t at = 8;;) {
        const uint8_t *type = d + at + 4, *body = d + at + 8;
        uint32_t n;

        if (s->size - at < 12 || !is_chunk_name(type) ||
            (n = vt_number(d + at, 4, true)) > s->size - at - 12) {
            if (in_data || (s->size - at >= 8 && is_chunk_name(type) &&
                            memcmp(type, "IDAT", 4) == 0))
                return VITCL_OK; /* libpng checks the data */
            return vt_fail(VITCL_ECORRUPT, "%s: the PNG is truncated", s->name);
        }
        in_data = in_data || memcmp(type, "IDAT", 4) == 0;
        if (!in_data && crc32(0, type, n + 4) != vt_number(body + n, 4, true))
            return vt_fail(VITCL_ECORRUPT,
                           "%s: wrong checksum in PNG chunk %.4s", s->name,
                           (const char *)type);
        if (memcmp(type, "PLTE", 4) == 0 && !in_data)
            memcpy(s->palette, body, n < 768 ? n / 3 * 3 : 768);
        if (memcmp(type, "tRNS", 4) == 0 && !in_data) {
            s->trns_size = n < sizeof s->trns ? n : sizeof s->trns;
            memcpy(s->trns, body, s->trns_size);
        }
        if (memcmp(type, "IEND", 4) == 0)
            return VITCL_OK;
        look_for_orientation(s, type, body, n);
        at += (size_t)n + 12;
    }
}

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
    if (s->on_white && color & PNG_COLOR_MASK_ALPHA) {
        png_set_gray_to_rgb(s->png);
        return 4;
    }
    png_set_strip_alpha(s->png);
    return color & PNG_COLOR_MASK_COLOR ? 3 : 1;
}

/* Converts one line of `bytes` per pixel, stored at the end of `line`, to RGB
 * in place: the write never overtakes the read. */
static void widen(const png_state *s, uint8_t *line, uint32_t width,
                  uint32_t bytes, bool palette)
{
    const uint8_t *in = line + (size_t)(3 - bytes) * width;

    for (uint32_t x = 0; x < width; x++, line += 3, in += bytes) {
        uint8_t v = in[0];

        if (bytes == 2)
            v = in[0] ? 255 : in[1];
        if (palette) {
            memcpy(line, s->palette[v], 3);
            if (s->on_white && v < s->trns_size)
                vt_lay_on_white(line, s->trns[v]);
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

    if (!s->on_white || (!grey && color != PNG_COLOR_TYPE_RGB) ||
        s->trns_size < (grey ? 2 : 6))
        return;
    for (int i = 0; i < 3; i++)
        key[i] = s->trns[grey ? 1 : 2 * i + 1];
    if (grey && s->depth == 1)
        memset(key, s->trns[0] || s->trns[1] ? 255 : 0, 3);
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

    s->wide = malloc(width * 4 * (all ? height : 1));
    if (!s->wide)
        return vt_fail(VITCL_ENOMEM, "%s: out of memory", s->name);
    for (; passes > 0; passes--)
        for (size_t y = 0; y < height; y++) {
            uint8_t *line = s->wide + (all ? y * width * 4 : 0);

            png_read_row(s->png, line, NULL);
            for (size_t x = 0; passes == 1 && x < width; x++, to += 3) {
                memcpy(to, line + 4 * x, 3);
                vt_lay_on_white(to, line[4 * x + 3]);
            }
        }
    return VITCL_OK;
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
        widen(s, s->picture.rgb + y * stride, width, bytes,
              png_get_color_type(s->png, s->info) == PNG_COLOR_TYPE_PALETTE);
    whiten(s);
    return VITCL_OK;
}

vitcl_status vt_decode_png(vt_picture *out, unsigned *orientation,
                           const uint8_t *data, size_t size, bool on_white,
                           const char *name)
{
    vitcl_status st;
    png_state *s = calloc(1, sizeof *s); /* on the heap: survives longjmp */

    if (!s)
        return vt_fail(VITCL_ENOMEM, "%s: out of memory", name);
    s->data = data, s->size = size, s->name = name;
    s->on_white = on_white;
    VT_TRY(walk(s));
    s->png =
        png_create_read_struct(PNG_LIBPNG_VER_STRING, s, on_error, on_warning);
    s->info = s->png ? png_create_info_struct(s->png) : NULL;
    if (!s->info) {
        st = vt_fail(VITCL_ENOMEM, "%s: out of memory", name);
        goto done;
    }
    if (setjmp(png_jmpbuf(s->png)) == 0)
        st = decode(s);
    else if (strstr(s->text, "emory")) /* libpng has no code for it */
        st = vt_fail(VITCL_ENOMEM, "%s: out of memory", s->name);
    else
        st = vt_fail(VITCL_ECORRUPT, "%s: not a valid PNG: %s", s->name,
                     s->text);
    if (st == VITCL_OK) {
        *orientation = s->orientation ? s->orientation : s->xmp_orientation;
        *out = s->picture, s->picture = (vt_picture){0};
    }
done:
    vt_picture_free(&s->picture);
    free(s->wide);
    png_destroy_read_struct(&s->png, &s->info, NULL);
    free(s);
    return st;
}
