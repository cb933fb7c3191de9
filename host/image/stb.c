/*
 * stb.c - PSD through stb_image.
 *
 * Only PSD: JPEG and PNG have better decoders here, stb_image's BMP reader
 * exposes uninitialised memory, and its GIF, HDR, TGA and PNM readers have
 * known memory errors in the releases that distributions carry. STBI_ONLY_PSD
 * leaves their code out of the program.
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
#define STBI_NO_STDIO
#define STBI_NO_LINEAR
#define STBI_NO_HDR
#define STBI_MAX_DIMENSIONS 65500 /* VT_SIDE_MAX */
/* Third-party code: our warnings do not apply. No pop at the end, because
 * unused declarations are reported at the end of the file. */
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

/* A number of the file; 0 if the file ends before. */
static uint64_t field(const uint8_t *data, size_t size, uint64_t at,
                      unsigned bytes)
{
    return at + bytes <= size ? vt_number(data + at, bytes, true) : 0;
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

/* A copy of a PSD with only the planes red, green and blue. The fourth is
 * alpha: stb_image would remove a white matte with it, which is undefined for
 * colours without one; Pillow, our reference, takes the colours as they are.
 * NULL: out of memory. The caller frees it. */
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

vitcl_status vt_decode_psd(vt_picture *out, unsigned *orientation,
                           const uint8_t *data, size_t size, bool on_white,
                           const char *name)
{
    int w = 0, h = 0, n = 0;
    uint64_t need;
    vitcl_status st;
    uint8_t *opaque = NULL, *rgb;

    *orientation = 1;
    if (size > INT_MAX)
        return vt_fail(VITCL_ECORRUPT, "%s: a file of more than 2 GB", name);
    if (!stbi_info_from_memory(data, (int)size, &w, &h, &n))
        return vt_fail(VITCL_ECORRUPT, "%s: not a valid PSD: %s", name,
                       stbi_failure_reason());
    if (w < 0 || h < 0)
        return vt_fail(VITCL_ECORRUPT, "%s: invalid picture size %dx%d", name,
                       w, h);
    st = vt_picture_check((uint32_t)w, (uint32_t)h, name);
    if (st != VITCL_OK)
        return st;
    need = psd_bytes(data, size, (uint64_t)w, (uint64_t)h);
    if (need > size)
        return vt_fail(VITCL_ECORRUPT, "%s: the PSD is truncated", name);
    if (field(data, size, 12, 2) > 3) {
        if (on_white && field(data, size, 12, 2) == 4)
            return vt_fail(VITCL_EUNSUPPORTED,
                           "%s: a PSD with an alpha plane, but the model "
                           "needs it blended with white; convert it to PNG",
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
        return vt_fail(VITCL_ECORRUPT, "%s: not a valid PSD: %s", name,
                       stbi_failure_reason());
    *out = (vt_picture){(uint32_t)w, (uint32_t)h, rgb};
    return VITCL_OK;
}
