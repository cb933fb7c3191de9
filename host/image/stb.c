/*
 * stb.c - BMP and PSD through stb_image.
 *
 * Only these two: JPEG and PNG have better decoders here, and the readers of
 * GIF, HDR, TGA and PNM in the releases that distributions carry have known
 * memory errors. STBI_ONLY_* leaves their code out of the program altogether.
 */
#include "image/decoders.h"

#include <limits.h>

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_BMP
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

vitcl_status vt_decode_stb(vt_picture *out, unsigned *turn, const uint8_t *data,
                           size_t size, const char *name)
{
    int w = 0, h = 0, n = 0;
    vitcl_status st;
    uint8_t *rgb;

    *turn = 1;
    if (size > INT_MAX)
        return vt_fail(VITCL_ECORRUPT, "%s: a file of more than 2 GB", name);
    if (!stbi_info_from_memory(data, (int)size, &w, &h, &n) || w < 0 || h < 0)
        return vt_fail(VITCL_ECORRUPT, "%s: not a sound picture: %s", name,
                       stbi_failure_reason());
    st = vt_picture_check((uint32_t)w, (uint32_t)h, name);
    if (st != VITCL_OK)
        return st;
    rgb = stbi_load_from_memory(data, (int)size, &w, &h, &n, 3);
    if (!rgb)
        return vt_fail(VITCL_ECORRUPT, "%s: not a sound picture: %s", name,
                       stbi_failure_reason());
    *out = (vt_picture){(uint32_t)w, (uint32_t)h, rgb};
    return VITCL_OK;
}
