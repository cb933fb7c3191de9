/*
 * pnm.c - PBM, PGM and PPM, binary (P4 to P6) and as text (P1 to P3), of any
 * depth: the simplest way to pass exact pixels. It has its own reader because
 * stb_image's overflows on 16-bit files.
 *
 * The values are Pillow's: colour becomes 8 bits; grey of more than 8 bits is
 * first spread over 16 bits, and then clipped at 255.
 */
#include "image/decoders.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_space(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* From `at` past white space and comments, which run from # to line end. */
static size_t skip_space(const uint8_t *d, size_t size, size_t at)
{
    while (at < size && (is_space(d[at]) || d[at] == '#')) {
        if (d[at] == '#')
            while (at < size && d[at] != '\n' && d[at] != '\r')
                at++;
        else
            at++;
    }
    return at;
}

/* The next decimal number. */
static bool header_number(uint32_t *out, const uint8_t *d, size_t size,
                          size_t *at)
{
    uint32_t v = 0;
    size_t digits = 0;

    *at = skip_space(d, size, *at);
    for (; *at < size && d[*at] >= '0' && d[*at] <= '9'; ++*at, digits++)
        if (digits < 9)
            v = v * 10 + (uint32_t)(d[*at] - '0');
    *out = v;
    return digits > 0 && digits < 9;
}

typedef struct pnm_header {
    bool text, bits; /* of P1 to P3; of P1 and P4, which are black and white */
    uint32_t width, height, top, planes;
    size_t at; /* of the pixels */
} pnm_header;

static vitcl_status read_header(pnm_header *out, const uint8_t *data,
                                size_t size, const char *name)
{
    pnm_header h = {.text = data[1] <= '3', .top = 1, .at = 2};
    const int kind = (data[1] - '1') % 3;

    h.bits = kind == 0;
    h.planes = kind == 2 ? 3 : 1;
    if (!header_number(&h.width, data, size, &h.at) ||
        !header_number(&h.height, data, size, &h.at) ||
        (!h.bits && !header_number(&h.top, data, size, &h.at)) || h.at >= size)
        return vt_fail(VITCL_ECORRUPT, "%s: not a valid PNM header", name);
    if (h.top == 0 || h.top > 65535)
        return vt_fail(VITCL_ECORRUPT,
                       "%s: PNM with maximum value %u, must be 1 to 65535",
                       name, h.top);
    h.at++; /* one white space */
    *out = h;
    return vt_picture_check(h.width, h.height, name);
}

/* The value of each number in the file, 0 to top; NULL: out of memory. */
static uint16_t *scale(const pnm_header *h)
{
    const bool wide = h->planes == 1 && h->top > 255;
    uint16_t *out = malloc(65536 * sizeof *out);

    for (uint32_t v = 0; out && v < 65536; v++) {
        /* rounds halves to even, like Python */
        const double x = nearbyint((double)v / h->top * (wide ? 65535 : 255));

        out[v] = (uint16_t)VT_MIN(x, 65535);
    }
    return out;
}

static vitcl_status truncated(const char *name)
{
    return vt_fail(VITCL_ECORRUPT, "%s: the PNM is truncated", name);
}

/* A number of the file. wide: NULL, or where its greys are not clipped. */
static void put(uint8_t *to, int32_t *wide, size_t i, uint16_t v)
{
    to[i] = (uint8_t)VT_MIN(v, 255);
    if (wide)
        wide[i] = v;
}

static vitcl_status read_binary(uint8_t *to, int32_t *wide, const pnm_header *h,
                                const uint8_t *data, size_t size,
                                const uint16_t *scaled, const char *name)
{
    const size_t n = (size_t)h->width * h->height * h->planes;
    const uint8_t *d = data + h->at;

    if ((size - h->at) / (h->top > 255 ? 2 : 1) < n)
        return truncated(name);
    for (size_t i = 0; i < n; i++)
        put(to, wide, i,
            scaled[h->top > 255 ? d[2 * i] * 256u + d[2 * i + 1] : d[i]]);
    return VITCL_OK;
}

static vitcl_status read_bits(uint8_t *to, const pnm_header *h,
                              const uint8_t *data, size_t size,
                              const char *name)
{
    const size_t stride = ((size_t)h->width + 7) / 8;
    const uint8_t *d = data + h->at;

    if ((size - h->at) / stride < h->height)
        return truncated(name);
    for (uint32_t y = 0; y < h->height; y++, d += stride)
        for (uint32_t x = 0; x < h->width; x++)
            *to++ = d[x / 8] & (128 >> x % 8) ? 0 : 255;
    return VITCL_OK;
}

static vitcl_status read_text(uint8_t *to, int32_t *wide, const pnm_header *h,
                              const uint8_t *data, size_t size,
                              const uint16_t *scaled, const char *name)
{
    const size_t n = (size_t)h->width * h->height * h->planes;
    size_t at = h->at;
    uint32_t v;

    if (size - at < n) /* a digit each */
        return truncated(name);
    for (size_t i = 0; i < n; i++) {
        if (h->bits) { /* need no space between */
            at = skip_space(data, size, at);
            if (at == size)
                return truncated(name);
            v = (uint32_t)data[at++] - '0';
        } else if (!header_number(&v, data, size, &at)) {
            return at == size
                       ? truncated(name)
                       : vt_fail(VITCL_ECORRUPT,
                                 "%s: not a valid PNM: not a number", name);
        }
        if (v > h->top)
            return vt_fail(VITCL_ECORRUPT,
                           "%s: not a valid PNM: a value above the maximum",
                           name);
        put(to, wide, i, h->bits ? (v ? 0 : 255) : scaled[v]);
    }
    return VITCL_OK;
}

vitcl_status vt_decode_pnm(vt_picture *out, unsigned *orientation,
                           const uint8_t *data, size_t size,
                           const vt_decode_as *as, const char *name)
{
    uint16_t *scaled = NULL;
    int32_t *wide = NULL;
    uint8_t *to;
    vt_picture p = {0};
    pnm_header h = {0};
    vitcl_status st;
    size_t n;

    *orientation = 1;
    VT_TRY(read_header(&h, data, size, name));
    scaled = scale(&h);
    if (!scaled)
        VT_TRY(vt_fail(VITCL_ENOMEM, "%s: out of memory", name));
    n = (size_t)h.width * h.height;
    if (size - h.at < n * h.planes / 8) { /* before memory is taken */
        st = truncated(name);
        goto done;
    }
    VT_TRY(vt_picture_new(&p, h.width, h.height, name));
    VT_TRY(vt_own_new(as->own,
                      h.bits                         ? VT_OWN_NUMBERS
                      : h.planes == 1 && h.top > 255 ? VT_OWN_INT32
                                                     : VT_OWN_RGB,
                      h.width, h.height, name));
    if (as->own && h.bits)
        memset(as->own->palette[1], 255, sizeof as->own->palette - 3);
    if (h.planes == 1 && h.top > 255) {
        vt_picture_note(VT_NOTE_CLIPPED);
        wide = as->own ? as->own->more : NULL;
    }
    to = p.rgb + (3 - h.planes) * n; /* grey: spread from the end later */
    if (h.text)
        VT_TRY(read_text(to, wide, &h, data, size, scaled, name));
    else if (h.bits)
        VT_TRY(read_bits(to, &h, data, size, name));
    else
        VT_TRY(read_binary(to, wide, &h, data, size, scaled, name));
    for (size_t i = 0; h.planes == 1 && i < n; i++)
        memset(p.rgb + 3 * i, to[i], 3); /* never overtakes `to` */
    *out = p, p = (vt_picture){0};
done:
    vt_picture_free(&p);
    free(scaled);
    return st;
}
