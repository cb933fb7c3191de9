/*
 * bmp.c - BMP with the same bytes as Pillow: 1, 4, 8, 16, 24 and 32 bits per
 * pixel, every header from OS/2's 12 bytes to version 5, palettes, bit fields,
 * RLE4, RLE8.
 *
 * What Pillow rejects is rejected: unusual bit fields, embedded JPEG or PNG,
 * run lengths that end before the picture is full. An index beyond the palette
 * is black; if the palette is the grey ramp, it is the grey of that value. Two
 * forms that Pillow reads wrongly (it takes the ramp for a picture of another
 * depth) are read correctly: 4 bits with a grey ramp, and 4 or 8 bits with a
 * palette of only black and white.
 */
#include "image/decoders.h"

#include "base/memory.h"

#include <string.h>

enum { FILE_HEAD = 14, RAW = 0, RLE8 = 1, RLE4 = 2, FIELDS = 3 };

typedef struct channel { /* of a 16-, 24- or 32-bit pixel */
    uint32_t shift, most;
} channel;

typedef struct bmp {
    const uint8_t *data;
    size_t size;
    const char *name;
    uint32_t width, height, bits, compression;
    bool from_above;
    size_t pixels; /* their offset in the file */
    uint8_t palette[256][3];
    channel rgb[3];
    uint32_t alpha; /* its mask; 0: not used */
    const vt_decode_as *as;
} bmp;

static vitcl_status unsound(const bmp *b, const char *why)
{
    return vt_fail(VITCL_ECORRUPT, "%s: not a valid BMP: %s", b->name, why);
}

static vitcl_status truncated(const bmp *b)
{
    return vt_fail(VITCL_ECORRUPT, "%s: the BMP is truncated", b->name);
}

static uint32_t number(const bmp *b, size_t at, unsigned bytes)
{
    return vt_read_number(b->data + at, bytes, false);
}

/* ---- the header -------------------------------------------------------- */

/* Masks of red, green, blue and alpha as files have them; all zero means BGRA.
 * Without bit fields, 24 and 32 bits use the first row and 16 bits the last. */
static const struct {
    uint32_t bits, mask[4];
    channel rgb[3];
} fields[] = {
    {32, {0xff0000, 0xff00, 0xff, 0}, {{16, 255}, {8, 255}, {0, 255}}},
    {32, {0xff000000, 0xff0000, 0xff00, 0}, {{24, 255}, {16, 255}, {8, 255}}},
    {32, {0xff000000, 0xff00, 0xff, 0}, {{24, 255}, {8, 255}, {0, 255}}},
    {32,
     {0xff000000, 0xff0000, 0xff00, 0xff},
     {{24, 255}, {16, 255}, {8, 255}}},
    {32, {0xff, 0xff00, 0xff0000, 0xff000000}, {{0, 255}, {8, 255}, {16, 255}}},
    {32, {0xff0000, 0xff00, 0xff, 0xff000000}, {{16, 255}, {8, 255}, {0, 255}}},
    {32, {0xff000000, 0xff00, 0xff, 0xff0000}, {{24, 255}, {8, 255}, {0, 255}}},
    {32, {0}, {{16, 255}, {8, 255}, {0, 255}}},
    {24, {0xff0000, 0xff00, 0xff}, {{16, 255}, {8, 255}, {0, 255}}},
    {16, {0xf800, 0x7e0, 0x1f}, {{11, 31}, {5, 63}, {0, 31}}},
    {16, {0x7c00, 0x3e0, 0x1f}, {{10, 31}, {5, 31}, {0, 31}}},
};

/* *at: end of the header; after a header of 40 bytes the fields follow. */
static vitcl_status read_fields(bmp *b, uint32_t head, size_t *at)
{
    uint32_t mask[4] = {0};
    const size_t first = FILE_HEAD + 40;

    if (b->size < first + 12)
        return truncated(b);
    for (size_t i = 0; i < 3; i++)
        mask[i] = number(b, first + 4 * i, 4);
    if (head < 52)
        *at += 12;
    else if (head >= 56 && b->bits == 32)
        mask[3] = number(b, first + 12, 4);
    for (size_t i = 0; i < VT_COUNT(fields); i++)
        if (fields[i].bits == b->bits &&
            memcmp(fields[i].mask, mask, sizeof mask) == 0) {
            memcpy(b->rgb, fields[i].rgb, sizeof b->rgb);
            if (b->as->on_white || b->as->own)
                b->alpha = mask[0] ? mask[3] : 0xff000000;
            return VITCL_OK;
        }
    return vt_fail(VITCL_EUNSUPPORTED,
                   "%s: a BMP of %u bits with unusual bit fields; convert it "
                   "to PNG",
                   b->name, b->bits);
}

/* Entries missing from the file stay black. */
static vitcl_status read_palette(bmp *b, size_t at, size_t entry,
                                 uint32_t colours)
{
    bool ramp = true;
    size_t room = (b->size - at) / entry;

    if (colours > 256)
        return unsound(b, "its palette has more than 256 colours");
    for (uint32_t i = 0; i < colours && i < room; i++)
        for (size_t c = 0; c < 3; c++)
            b->palette[i][c] = b->data[at + i * entry + 2 - c];
    for (uint32_t i = 0; i < colours && ramp; i++) {
        const int grey = colours == 2 && i == 1 ? 255 : (int)i;

        for (size_t c = 0; c < 3; c++)
            ramp = ramp && i < room && b->palette[i][c] == grey;
    }
    for (uint32_t i = colours; i < 256 && ramp && colours > 2; i++)
        memset(b->palette[i], (int)i, 3);
    if (b->as->own && !(ramp && colours > 2)) { /* else grey */
        memcpy(b->as->own->palette, b->palette, sizeof b->palette);
        b->as->own->mode = VT_OWN_NUMBERS;
        if (ramp)
            memset(b->as->own->palette[1], 255, 3 * 255);
    }
    return VITCL_OK;
}

static vitcl_status read_head(bmp *b)
{
    vitcl_status st = VITCL_OK;
    uint32_t head, colours = 0;
    size_t at;
    bool core;

    if (b->size < FILE_HEAD + 12)
        return truncated(b);
    b->pixels = number(b, 10, 4);
    head = number(b, FILE_HEAD, 4);
    core = head == 12;
    if (!core && head != 40 && head != 52 && head != 56 && head != 64 &&
        head != 108 && head != 124)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: a BMP with an unknown header of %u bytes", b->name,
                       head);
    if (b->size < FILE_HEAD + head)
        return truncated(b);
    at = FILE_HEAD + head;
    b->width = number(b, 18, core ? 2 : 4);
    b->height = number(b, core ? 20 : 22, core ? 2 : 4);
    b->bits = number(b, core ? 24 : 28, 2);
    if (!core) {
        b->from_above = b->height >> 24 == 0xff;
        b->height = b->from_above ? 0u - b->height : b->height;
        b->compression = number(b, 30, 4);
        colours = number(b, 46, 4);
    }
    VT_TRY(vt_picture_check(b->width, b->height, b->name));
    switch (b->bits) {
    case 16:
        memcpy(b->rgb, fields[VT_COUNT(fields) - 1].rgb, sizeof b->rgb);
        break;
    case 24:
    case 32:
        memcpy(b->rgb, fields[0].rgb, sizeof b->rgb);
        break;
    case 1:
    case 4:
    case 8:
        colours = colours ? colours : 1u << b->bits;
        VT_TRY(read_palette(b, at, core ? 3 : 4, colours));
        at += (size_t)colours * (core ? 3 : 4);
        /* some writers do not count the palette */
        if (b->pixels == FILE_HEAD + head)
            b->pixels = at;
        break;
    default:
        return vt_fail(VITCL_EUNSUPPORTED, "%s: a BMP of %u bits per pixel",
                       b->name, b->bits);
    }
    if (b->compression == FIELDS)
        VT_TRY(read_fields(b, head, &at));
    else if (b->compression > RLE4 || (b->compression != RAW && b->bits > 8))
        st = vt_fail(VITCL_EUNSUPPORTED,
                     "%s: a BMP of %u bits with compression %u; convert it to "
                     "PNG",
                     b->name, b->bits, b->compression);
    if (b->pixels == 0)
        b->pixels = at;
done:
    return st;
}

/* ---- pixels ------------------------------------------------------------- */

static uint8_t *row_of(const bmp *b, const vt_picture *p, uint32_t y)
{
    return p->rgb +
           (size_t)3 * p->width * (b->from_above ? y : p->height - 1 - y);
}

static void widen_indices(uint8_t *out, const uint8_t *row, const bmp *b)
{
    const uint32_t each = 8 / b->bits, mask = (1u << b->bits) - 1;

    for (uint32_t x = 0; x < b->width; x++, out += 3) {
        const uint32_t shift = b->bits * (each - 1 - x % each);

        memcpy(out, b->palette[(uint32_t)row[x / each] >> shift & mask], 3);
    }
}

static void widen_colours(uint8_t *first, uint8_t *out, const uint8_t *row,
                          const bmp *b)
{
    const uint32_t bytes = b->bits / 8;

    for (uint32_t x = 0; x < b->width; x++, row += bytes) {
        const uint32_t v = vt_read_number(row, bytes, false);

        for (size_t c = 0; c < 3; c++) {
            const channel *f = &b->rgb[c];

            *out++ = (uint8_t)((v >> f->shift & f->most) * 255 / f->most);
        }
        if (b->alpha) /* the mask is eight bits */
            vt_opacity(out - 3, b->as, (size_t)(out - first) / 3 - 1,
                       (uint8_t)((v & b->alpha) / (b->alpha / 255)));
    }
}

/* The padding of the last row may be missing. */
static vitcl_status read_rows(vt_picture *p, const bmp *b)
{
    const uint64_t line = ((uint64_t)b->width * b->bits + 7) / 8;
    const uint64_t stride = (line + 3) / 4 * 4;
    vitcl_status st;

    if (b->pixels > b->size ||
        (b->height - 1) * stride + line > b->size - b->pixels)
        return truncated(b);
    st = vt_picture_new(p, b->width, b->height, b->name);
    if (st == VITCL_OK && b->alpha)
        st = vt_own_new(b->as->own, VT_OWN_ALPHA, b->width, b->height, b->name);
    for (uint32_t y = 0; y < b->height && st == VITCL_OK; y++) {
        const uint8_t *row = b->data + b->pixels + y * stride;

        if (b->bits <= 8)
            widen_indices(row_of(b, p, y), row, b);
        else
            widen_colours(p->rgb, row_of(b, p, y), row, b);
    }
    return st;
}

typedef struct runs {
    const bmp *b;
    vt_picture *p;
    size_t at;        /* in the file */
    uint64_t n, all;  /* pixels written so far, and in total */
    uint64_t in_line; /* Pillow's count: raw runs are not clipped */
} runs;

static void put(runs *r, unsigned index)
{
    if (r->n < r->all)
        memcpy(row_of(r->b, r->p, (uint32_t)(r->n / r->b->width)) +
                   3 * (r->n % r->b->width),
               r->b->palette[index], 3);
    r->n++;
}

static void skip_pixels(runs *r, uint64_t count)
{
    for (count = VT_MIN(count, r->all - r->n); count > 0; count--)
        put(r, 0);
}

/* Copies `count` raw pixels; false: the picture is complete. */
static bool raw_stretch(runs *r, uint64_t count, bool four)
{
    const uint64_t left = VT_MIN(count, r->all - r->n);
    const size_t bytes = (size_t)(four ? (left + 1) / 2 : left);
    const uint8_t *from = r->b->data + r->at;

    if (bytes > r->b->size - r->at)
        return false;
    for (uint64_t i = 0; i < left; i++)
        put(r, !four   ? from[i]
               : i % 2 ? from[i / 2] & 15u
                       : (unsigned)from[i / 2] >> 4);
    r->at += bytes;
    if (r->at < r->b->size)
        r->at += r->at % 2; /* align to an even offset */
    r->in_line += count;
    return r->n < r->all;
}

/* Reads one code; false: it was the last. */
static bool code(runs *r, bool four)
{
    const uint8_t *d = r->b->data + r->at;
    const uint64_t width = r->b->width;
    uint64_t count;

    if (r->b->size - r->at < 2)
        return false;
    r->at += 2;
    if (d[0]) {
        count = r->in_line >= width ? 0 : VT_MIN(d[0], width - r->in_line);
        for (uint64_t i = 0; i < count; i++)
            put(r, !four ? d[1] : i % 2 ? d[1] & 15u : (unsigned)d[1] >> 4);
        r->in_line += count;
    } else if (d[1] == 0) {
        skip_pixels(r, (width - r->n % width) % width);
        r->in_line = 0;
    } else if (d[1] == 1) {
        return false;
    } else if (d[1] == 2) {
        if (r->b->size - r->at < 2)
            return false;
        skip_pixels(r, d[2] + d[3] * width);
        r->at += 2;
        r->in_line = r->n % width;
    } else {
        return raw_stretch(r, d[1], four);
    }
    return true;
}

static vitcl_status read_runs(vt_picture *p, const bmp *b)
{
    runs r = {.b = b, .p = p, .at = b->pixels};
    vitcl_status st;

    r.all = (uint64_t)b->width * b->height;
    /* Four bytes skip at most 256 rows; a shorter file cannot fill the
     * picture. */
    if (b->pixels > b->size ||
        r.all / (256 * (uint64_t)b->width + 255) > (b->size - b->pixels) / 2)
        return truncated(b);
    st = vt_picture_new(p, b->width, b->height, b->name);
    if (st != VITCL_OK)
        return st;
    while (r.n < r.all && code(&r, b->compression == RLE4))
        ;
    return r.n < r.all ? truncated(b) : VITCL_OK;
}

vitcl_status vt_decode_bmp(vt_picture *out, unsigned *orientation,
                           const uint8_t *data, size_t size,
                           const vt_decode_as *as, const char *name)
{
    bmp b = {.data = data, .size = size, .name = name, .as = as};
    vt_picture p = {0};
    vitcl_status st;

    *orientation = 1;
    VT_TRY(read_head(&b));
    VT_TRY(b.compression == RLE4 || b.compression == RLE8 ? read_runs(&p, &b)
                                                          : read_rows(&p, &b));
    *out = p, p = (vt_picture){0};
done:
    vt_picture_free(&p);
    return st;
}
