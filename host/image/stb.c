/*
 * stb.c - PSD through stb_image.
 *
 * Nothing else: JPEG and PNG have better decoders here, its BMP shows memory
 * of its own, and the readers of GIF, HDR, TGA and PNM in the releases that
 * distributions carry have known memory errors. STBI_ONLY_PSD leaves their
 * code out of the program altogether.
 *
 * stb_image reads zeros behind a file's end: a head of 50 bytes would cost as
 * long as the picture that it promises and give a black one. So the bytes that
 * the pixels need are counted first.
 */
#include "image/decoders.h"

#include "base/memory.h"

#include <limits.h>
#include <string.h>

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_PSD
#define STBI_NO_STDIO
#define STBI_NO_LINEAR
#define STBI_NO_HDR
#define STBI_MAX_DIMENSIONS 65500 /* VT_SIDE_MAX */
/* Not our code: our warnings are not its measure. No pop at the end: what is
 * declared and not used is found when the whole file is read. */
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wunknown-warning-option"
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wcast-qual"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wimplicit-int-conversion"
#include <stb_image.h>

/* A number of the file; 0 where it ends before. */
static uint64_t field(const uint8_t *data, size_t size, uint64_t at,
                      unsigned bytes)
{
    return at + bytes <= size ? vt_number(data + at, bytes, true) : 0;
}

/* Where a PSD says how its planes are stored: after the head, the colour mode,
 * the resources and the layers. */
static uint64_t psd_storage(const uint8_t *data, size_t size)
{
    uint64_t at = 26;

    for (int i = 0; i < 3; i++)
        at += 4 + field(data, size, at, 4);
    return at;
}

/* The bytes of a PSD's planes: raw, or packed with a table of rows' lengths. */
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
    /* Whatever the table says: two bytes make 128 pixels at best. */
    return VT_MAX(sum, w * h * planes / 64);
}

/* A copy of a PSD without its planes after red, green and blue. The fourth is
 * opacity: stb_image would take a white matte out of the colours by it, which
 * is undefined for those that have none; Pillow, whose pixels are the
 * arbiter's, takes the colours as they are. NULL without memory. To be freed.
 */
static uint8_t *psd_opaque(const uint8_t *data, size_t *size, uint64_t h)
{
    const size_t planes = (size_t)field(data, *size, 12, 2);
    const size_t at = (size_t)psd_storage(data, *size);
    const bool packed = field(data, *size, at, 2) != 0;
    const size_t kept = at + 2 + (packed ? 2 * 3 * (size_t)h : 0);
    const size_t next = kept + (packed ? 2 * (planes - 3) * (size_t)h : 0);
    uint8_t *copy = malloc(*size);

    if (!copy)
        return NULL;
    memcpy(copy, data, kept);
    memcpy(copy + kept, data + next, *size - next);
    copy[12] = 0, copy[13] = 3;
    *size -= next - kept;
    return copy;
}

vitcl_status vt_decode_psd(vt_picture *out, unsigned *turn, const uint8_t *data,
                           size_t size, bool on_white, const char *name)
{
    int w = 0, h = 0, n = 0;
    uint64_t need;
    vitcl_status st;
    uint8_t *opaque = NULL, *rgb;

    *turn = 1;
    if (size > INT_MAX)
        return vt_fail(VITCL_ECORRUPT, "%s: a file of more than 2 GB", name);
    if (!stbi_info_from_memory(data, (int)size, &w, &h, &n))
        return vt_fail(VITCL_ECORRUPT, "%s: not a sound picture: %s", name,
                       stbi_failure_reason());
    if (w < 0 || h < 0)
        return vt_fail(VITCL_ECORRUPT, "%s: a picture of %dx%d pixels", name, w,
                       h);
    st = vt_picture_check((uint32_t)w, (uint32_t)h, name);
    if (st != VITCL_OK)
        return st;
    need = psd_bytes(data, size, (uint64_t)w, (uint64_t)h);
    if (need > size)
        return vt_fail(VITCL_ECORRUPT, "%s: the PSD is cut short", name);
    if (field(data, size, 12, 2) > 3) {
        if (on_white && field(data, size, 12, 2) == 4)
            return vt_fail(VITCL_EUNSUPPORTED,
                           "%s: a PSD with an opacity plane, and the model "
                           "wants it laid on white; convert it to PNG",
                           name);
        opaque = psd_opaque(data, &size, (uint64_t)h);
        if (!opaque)
            return vt_fail(VITCL_ENOMEM, "%s: out of memory", name);
        data = opaque;
    }
    rgb = stbi_load_from_memory(data, (int)size, &w, &h, &n, 3);
    free(opaque);
    if (!rgb && strcmp(stbi_failure_reason(), "outofmem") == 0)
        return vt_fail(VITCL_ENOMEM, "%s: out of memory", name);
    if (!rgb)
        return vt_fail(VITCL_ECORRUPT, "%s: not a sound picture: %s", name,
                       stbi_failure_reason());
    *out = (vt_picture){(uint32_t)w, (uint32_t)h, rgb};
    return VITCL_OK;
}
