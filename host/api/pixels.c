/*
 * pixels.c - pictures from pixels in memory, in the host's layout.
 */
#include "api/handles.h"
#include "base/memory.h"
#include "image/decoders.h"

/* Bytes a pixel, and the offsets of red, green and blue. */
static const struct layout {
    uint8_t bytes, red, green, blue, alpha; /* alpha 0: none */
} layouts[] = {[VITCL_RGB] = {3, 0, 1, 2, 0},  [VITCL_BGR] = {3, 2, 1, 0, 0},
               [VITCL_RGBX] = {4, 0, 1, 2, 0}, [VITCL_BGRX] = {4, 2, 1, 0, 0},
               [VITCL_GREY] = {1, 0, 0, 0, 0}, [VITCL_RGBA] = {4, 0, 1, 2, 3},
               [VITCL_BGRA] = {4, 2, 1, 0, 3}};

vitcl_status vitcl_image_new(vitcl_image *out, const void *pixels,
                             uint32_t width, uint32_t height,
                             size_t stride_bytes, vitcl_layout layout)
{
    const struct layout *l;
    const uint8_t *row = pixels;
    uint8_t *rgb = NULL, *to;
    size_t dense;

    VT_GIVEN(out);
    VT_GIVEN(pixels);
    if ((unsigned)layout >= VT_COUNT(layouts))
        return vt_fail(VITCL_EINVAL, "unknown pixel layout %d", (int)layout);
    if (!width || !height || width > VT_SIDE_MAX || height > VT_SIDE_MAX)
        return vt_fail(VITCL_EINVAL,
                       "a picture of %ux%u: sides must be 1 to %u", width,
                       height, VT_SIDE_MAX);
    l = &layouts[layout];
    dense = (size_t)width * l->bytes;
    stride_bytes = stride_bytes ? stride_bytes : dense;
    if (stride_bytes < dense)
        return vt_fail(
            VITCL_EINVAL,
            "a stride of %zu bytes is too small for %u pixels of %u bytes",
            stride_bytes, width, l->bytes);
    VT_RET(vt_new(&rgb, (size_t)width * height, 3));
    to = rgb;
    for (uint32_t y = 0; y < height; y++) {
        const uint8_t *p = row;

        for (uint32_t x = 0; x < width; x++, p += l->bytes) {
            to[0] = p[l->red], to[1] = p[l->green], to[2] = p[l->blue];
            if (l->alpha)
                vt_lay_on_white(to, p[l->alpha]);
            to += 3;
        }
        if (y + 1 < height)
            row += stride_bytes;
    }
    *out = (vitcl_image){width, height, rgb};
    return VITCL_OK;
}
