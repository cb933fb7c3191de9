/*
 * stb.c - PSD through stb_image; JPEG and PNG, too, in a build without
 * libjpeg-turbo or libpng.
 *
 * Nothing else: its BMP reader exposes uninitialised memory, and its GIF, HDR,
 * TGA and PNM readers have known memory errors in the releases that
 * distributions carry. STBI_ONLY_* leave their code out of the program. Its
 * pixels of a JPEG differ from Pillow's by a level or two, which the process
 * reports (vt_picture_note()).
 *
 * stb_image reads zeros past the end of a file: a file of 50 bytes would cost
 * as much time as the picture that its header claims, and give a black one. So
 * the bytes that the pixels need are counted first.
 */
#include "image/decoders.h"

#include "base/memory.h"

#include <limits.h>
#include <string.h>

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_PSD
#ifndef VT_WITH_JPEG
#define STBI_ONLY_JPEG
#endif
#ifndef VT_WITH_PNG
#define STBI_ONLY_PNG
#endif
#define STBI_NO_STDIO
#define STBI_NO_LINEAR
#define STBI_NO_HDR
#define STBI_MAX_DIMENSIONS 65500 /* VT_SIDE_MAX */
/* gcc reports these at the end of the file, of system headers, too. */
#pragma GCC diagnostic ignored "-Wunused-function"
#include <stb_image.h>

/* A number of the file; 0 if the file ends before. */
static uint64_t field(const uint8_t *data, size_t size, uint64_t at,
                      unsigned bytes)
{
    return at + bytes <= size ? vt_read_number(data + at, bytes, true) : 0;
}

/* The offset of a PSD's storage method: after the header, the colour mode, the
 * resources and the layers. */
static uint64_t psd_storage(const uint8_t *data, size_t size)
{
    uint64_t at = 26;

    for (int i = 0; i < 3; i++)
        at += 4 + field(data, size, at, 4);
    return at;
}

/* The bytes of a PSD's planes: raw, or packed with a table of row lengths. */
static uint64_t psd_bytes(const uint8_t *data, size_t size, uint64_t w,
                          uint64_t h)
{
    const uint64_t planes = field(data, size, 12, 2);
    const uint64_t depth = field(data, size, 22, 2);
    const uint64_t at = psd_storage(data, size);
    uint64_t sum = at + 2 + 2 * h * planes;

    if (field(data, size, at, 2) == 0)
        return at + 2 + w * h * planes * depth / 8;
    for (uint64_t row = 0; row < h * planes && sum <= size; row++)
        sum += field(data, size, at + 2 + 2 * row, 2);
    /* A bound on any table: two bytes give at most 128 pixels. */
    return VT_MAX(sum, w * h * planes / 64);
}

/* A copy of a PSD with only planes `first` to first + count. The fourth is
 * alpha: stb_image would remove a white matte with it, which is undefined for
 * colours without one; Pillow, our reference, takes the colours as they are.
 * NULL: out of memory. The caller frees it. */
static uint8_t *psd_planes(const uint8_t *data, size_t *size, size_t w,
                           size_t h, size_t first, size_t count)
{
    const size_t planes = (size_t)field(data, *size, 12, 2);
    const size_t at = (size_t)psd_storage(data, *size);
    const bool packed = field(data, *size, at, 2) != 0;
    const size_t table = packed ? 2 * count * h : 0;
    size_t next = at + 2, kept = next;
    uint8_t *copy = malloc(*size);

    if (!copy)
        return NULL;
    memcpy(copy, data, kept);
    memcpy(copy + kept, data + kept + 2 * first * h, table);
    kept += table;
    next += packed ? 2 * planes * h
                   : first * w * h * (size_t)field(data, *size, 22, 2) / 8;
    for (size_t row = 0; packed && row < first * h; row++)
        next += (size_t)field(data, *size, at + 2 + 2 * row, 2);
    memcpy(copy + kept, data + next, *size - next);
    copy[12] = 0, copy[13] = (uint8_t)count;
    *size -= next - kept;
    return copy;
}

/* Some planes of a PSD, as RGB. NULL: the message is stb_image's. */
static uint8_t *psd_load(const uint8_t *data, size_t size, int w, int h,
                         size_t first, size_t count)
{
    uint8_t *copy = psd_planes(data, &size, (size_t)w, (size_t)h, first, count);
    int n = 0;
    uint8_t *rgb =
        copy ? stbi_load_from_memory(copy, (int)size, &w, &h, &n, 3) : NULL;

    if (!copy)
        (void)stbi__err("outofmem", "Out of memory");
    free(copy);
    return rgb;
}

/* Sets the size after a check. */
static vitcl_status size_of(int *w, int *h, const uint8_t *data, size_t size,
                            const char *what, const char *name)
{
    int n = 0;

    if (size > INT_MAX)
        return vt_fail(VITCL_ECORRUPT, "%s: a file of more than 2 GB", name);
    if (!stbi_info_from_memory(data, (int)size, w, h, &n))
        return vt_fail(VITCL_ECORRUPT, "%s: not a valid %s: %s", name, what,
                       stbi_failure_reason());
    if (*w < 0 || *h < 0)
        return vt_fail(VITCL_ECORRUPT, "%s: invalid picture size %dx%d", name,
                       *w, *h);
    return vt_picture_check((uint32_t)*w, (uint32_t)*h, name);
}

static vitcl_status failed(const char *what, const char *name)
{
    if (strcmp(stbi_failure_reason(), "outofmem") == 0)
        return vt_fail(VITCL_ENOMEM, "%s: out of memory", name);
    return vt_fail(VITCL_ECORRUPT, "%s: not a valid %s: %s", name, what,
                   stbi_failure_reason());
}

vitcl_status vt_decode_psd(vt_picture *out, unsigned *orientation,
                           const uint8_t *data, size_t size,
                           const vt_decode_as *as, const char *name)
{
    enum { HEAD = 26, RGB = 3 }; /* bytes; a mode of colours */
    const size_t planes = (size_t)field(data, size, 12, 2);
    int w = 0, h = 0;
    uint64_t need;
    vitcl_status st;
    uint8_t *alpha = NULL, *rgb;

    *orientation = 1;
    if (size >= HEAD && field(data, size, 24, 2) != RGB)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: a PSD in colours other than RGB; convert it to PNG",
                       name);
    st = size_of(&w, &h, data, size, "PSD", name);
    if (st != VITCL_OK)
        return st;
    need = psd_bytes(data, size, (uint64_t)w, (uint64_t)h);
    if (need > size)
        return vt_fail(VITCL_ECORRUPT, "%s: the PSD is truncated", name);
    rgb = psd_load(data, size, w, h, 0, VT_MIN(planes, 3));
    if (rgb && planes == 4 && (as->on_white || as->own)) {
        st = vt_own_new(as->own, VT_OWN_ALPHA, (uint32_t)w, (uint32_t)h, name);
        alpha = st == VITCL_OK ? psd_load(data, size, w, h, 3, 1) : NULL;
        for (size_t i = 0; alpha && i < (size_t)w * (size_t)h; i++)
            vt_opacity(rgb + 3 * i, as, i, alpha[3 * i]);
        if (!alpha)
            free(rgb), rgb = NULL;
    }
    free(alpha);
    if (!rgb)
        return st == VITCL_OK ? failed("PSD", name) : st;
    *out = (vt_picture){(uint32_t)w, (uint32_t)h, rgb};
    return VITCL_OK;
}

#ifndef VT_WITH_JPEG
/* ---- JPEG ---- */

typedef struct head {
    bool progressive;
    bool no_memory;
    unsigned orientation;
    size_t scan; /* where the first scan begins; 0: nowhere */
} head;

/* Reads the segments before the first scan. */
static head jpeg_head(const uint8_t *d, size_t size)
{
    vt_app1 found = {NULL, 0, 0};
    head h = {.scan = 0};

    for (size_t at = 2; at + 4 <= size && d[at] == 0xff;) {
        const uint8_t kind = d[at + 1], *body = d + at + 4;
        const size_t n = vt_read_number(d + at + 2, 2, true);

        if (kind == 0xff) { /* a fill byte */
            at++;
            continue;
        }
        if (n < 2 || n > size - at - 2)
            break;
        h.progressive = h.progressive || kind == 0xc2;
        if (kind == 0xe1 && vt_app1_add(&found, body, n - 2) != VITCL_OK)
            h.no_memory = true;
        if (kind == 0xda) {
            h.scan = at + 2 + n;
            break;
        }
        at += 2 + n;
    }
    h.orientation = vt_app1_orientation(&found);
    return h;
}

static bool has_end(const uint8_t *data, size_t size, size_t from)
{
    for (size_t i = from; from && i + 2 <= size; i++)
        if (data[i] == 0xff && data[i + 1] == 0xd9)
            return true;
    return false;
}

/* stb_image reads zeros past the end. Is the picture the same with other bytes
 * there, so that only the end marker is missing? */
static bool is_whole(const uint8_t *data, size_t size, const uint8_t *rgb,
                     size_t bytes)
{
    enum { MORE = 64 };
    uint8_t *longer = malloc(size + MORE), *again = NULL;
    int w, h, n;
    bool same;

    if (!longer)
        return false;
    memcpy(longer, data, size);
    memset(longer + size, 0x55, MORE);
    again = stbi_load_from_memory(longer, (int)(size + MORE), &w, &h, &n, 3);
    same = again && memcmp(again, rgb, bytes) == 0;
    free(again);
    free(longer);
    return same;
}

vitcl_status vt_decode_jpeg(vt_picture *out, unsigned *orientation,
                            const uint8_t *data, size_t size,
                            const vt_decode_as *as, const char *name)
{
    const head begin = jpeg_head(data, size);
    int w = 0, h = 0, n = 0;
    vitcl_status st;
    uint8_t *rgb;

    (void)as; /* JPEG has no alpha */
    if (begin.no_memory)
        return vt_fail(VITCL_ENOMEM, "%s: out of memory", name);
    st = size_of(&w, &h, data, size, "JPEG", name);
    if (st != VITCL_OK)
        return st;
    rgb = stbi_load_from_memory(data, (int)size, &w, &h, &n, 3);
    if (!rgb)
        return failed("JPEG", name);
    if (!has_end(data, size, begin.scan) &&
        (begin.progressive || size > INT_MAX / 2 ||
         !is_whole(data, size, rgb, 3 * (size_t)w * (size_t)h))) {
        free(rgb);
        return vt_fail(VITCL_ECORRUPT, "%s: the JPEG is truncated", name);
    }
    vt_picture_note(VT_NOTE_APPROXIMATE);
    *orientation = begin.orientation;
    *out = (vt_picture){(uint32_t)w, (uint32_t)h, rgb};
    return VITCL_OK;
}
#endif

#ifndef VT_WITH_PNG
/* ---- PNG ---- */

/* Pillow clips 16-bit grey at 255; stb_image would keep the high bytes. */
static uint8_t *clipped(const uint8_t *data, size_t size, const vt_own *own)
{
    int w, h, n;
    stbi_us *grey = stbi_load_16_from_memory(data, (int)size, &w, &h, &n, 1);
    const size_t pixels = grey ? (size_t)w * (size_t)h : 0;
    uint8_t *rgb = grey ? malloc(3 * pixels) : NULL;

    vt_picture_note(VT_NOTE_CLIPPED);
    for (size_t i = 0; rgb && i < pixels; i++)
        memset(rgb + 3 * i, grey[i] > 255 ? 255 : grey[i], 3);
    for (size_t i = 0; own && i < pixels; i++)
        ((int32_t *)own->more)[i] = grey[i];
    free(grey);
    return rgb;
}

vitcl_status vt_decode_png(vt_picture *out, unsigned *orientation,
                           const uint8_t *data, size_t size,
                           const vt_decode_as *as, const char *name)
{
    enum { PALETTE = 3, ALPHA = 4, BIT = 0x100, WIDE = 0x1000 };
    vt_png_chunks chunks = {.trns_size = 0};
    const uint64_t kind = field(data, size, 24, 2); /* depth and colours */
    const bool alpha = kind & ALPHA;
    const bool four = as->on_white || (as->own && alpha);
    int w = 0, h = 0, n = 0;
    uint8_t *rgb = NULL;

    VT_RET(vt_png_walk(&chunks, data, size, name));
    VT_RET(size_of(&w, &h, data, size, "PNG", name));
    VT_RET(vt_own_new(as->own,
                      (kind & 0xff) == PALETTE || kind == BIT ? VT_OWN_NUMBERS
                      : alpha                                 ? VT_OWN_ALPHA
                      : kind == WIDE                          ? VT_OWN_INT16
                                                              : VT_OWN_RGB,
                      (uint32_t)w, (uint32_t)h, name));
    if (as->own && kind == BIT)
        memset(as->own->palette[1], 255, sizeof as->own->palette - 3);
    else if (as->own)
        memcpy(as->own->palette, chunks.palette, sizeof chunks.palette);
    if (kind == WIDE)
        rgb = clipped(data, size, as->own);
    else
        rgb = stbi_load_from_memory(data, (int)size, &w, &h, &n, four ? 4 : 3);
    if (!rgb)
        return failed("PNG", name);
    for (size_t i = 0; four && kind != WIDE && i < (size_t)w * (size_t)h;
         i++) { /* in place: the write never overtakes the read */
        const uint8_t opacity = rgb[4 * i + 3];

        memmove(rgb + 3 * i, rgb + 4 * i, 3);
        vt_opacity(rgb + 3 * i, as, i, opacity);
    }
    *orientation = chunks.orientation;
    *out = (vt_picture){(uint32_t)w, (uint32_t)h, rgb};
    return VITCL_OK;
}
#endif
