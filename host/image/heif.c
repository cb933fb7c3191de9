/*
 * heif.c - HEIC and AVIF through libheif: the primary picture, in 8 bits.
 *
 * A file says by its own boxes how the picture is turned, and libheif does so;
 * as HEIF wants it, the orientation in EXIF counts for nothing. libheif and its
 * codecs are C++ that ends the process where memory is short, so the memory
 * that a picture needs is tried out first.
 */
#include "image/decoders.h"

#include <stdlib.h>
#include <string.h>

#include <libheif/heif.h>

/* Bytes a pixel that decoding takes at most: planes of the codec with their
 * references, of libheif before and after turning, and the result. */
enum { BYTES_PER_PIXEL = 12 };

void vt_heif_start(void)
{
    (void)heif_init(NULL);
}

static vitcl_status failed(const struct heif_error *error, const char *name)
{
    if (error->code == heif_error_Memory_allocation_error)
        return vt_fail(VITCL_ENOMEM, "%s: out of memory", name);
    if (error->code == heif_error_Unsupported_filetype ||
        error->code == heif_error_Unsupported_feature)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: a kind of HEIF that libheif does not read here: "
                       "%.200s",
                       name, error->message);
    return vt_fail(VITCL_ECORRUPT, "%s: not a valid HEIF: %.200s", name,
                   error->message);
}

static vitcl_status room_for(uint64_t pixels, const char *name)
{
    void *room = malloc((size_t)pixels * BYTES_PER_PIXEL);

    if (!room)
        return vt_fail(VITCL_ENOMEM, "%s: out of memory", name);
    free(room);
    return VITCL_OK;
}

/* A colour that was multiplied by its opacity, as it was before. */
static uint8_t divided(uint8_t v, uint8_t alpha)
{
    const unsigned whole = alpha ? (255u * v + alpha / 2) / alpha : 0;

    return (uint8_t)(whole > 255 ? 255 : whole);
}

static vitcl_status copy_pixels(vt_picture *p, const struct heif_image *image,
                                bool alpha, bool multiplied,
                                const vt_decode_as *as, const char *name)
{
    const uint32_t bytes = alpha ? 4 : 3;
    vitcl_status st;
    int stride = 0;
    const uint8_t *from =
        heif_image_get_plane_readonly(image, heif_channel_interleaved, &stride);
    const int width = heif_image_get_width(image, heif_channel_interleaved);
    const int height = heif_image_get_height(image, heif_channel_interleaved);

    if (!from || width <= 0 || height <= 0 ||
        (int64_t)stride < (int64_t)width * bytes)
        return vt_fail(VITCL_ECORRUPT, "%s: not a valid HEIF", name);
    st = vt_picture_new(p, (uint32_t)width, (uint32_t)height, name);
    if (st == VITCL_OK && alpha)
        st = vt_own_new(as->own, VT_OWN_ALPHA, p->width, p->height, name);
    if (st != VITCL_OK)
        return st;
    for (uint32_t y = 0; y < p->height; y++) {
        const uint8_t *in = from + (size_t)stride * y;
        uint8_t *to = p->rgb + (size_t)p->width * 3 * y;

        for (uint32_t x = 0; x < p->width; x++, in += bytes, to += 3) {
            memcpy(to, in, 3);
            for (int i = 0; multiplied && i < 3; i++)
                to[i] = divided(to[i], in[3]);
            if (alpha)
                vt_opacity(to, as, (size_t)p->width * y + x, in[3]);
        }
    }
    return VITCL_OK;
}

vitcl_status vt_decode_heif(vt_picture *out, unsigned *orientation,
                            const uint8_t *data, size_t size,
                            const vt_decode_as *as, const char *name)
{
    struct heif_context *file = heif_context_alloc();
    struct heif_decoding_options *how = heif_decoding_options_alloc();
    struct heif_image_handle *handle = NULL;
    struct heif_image *image = NULL;
    vitcl_status st = VITCL_OK;
    struct heif_error error;
    vt_picture p = {0};
    bool alpha;

    *orientation = 1;
    if (!file || !how)
        VT_TRY(vt_fail(VITCL_ENOMEM, "%s: out of memory", name));
    heif_context_set_max_decoding_threads(file, 0);
    how->convert_hdr_to_8bit = 1;
    error = heif_context_read_from_memory_without_copy(file, data, size, NULL);
    if (error.code == heif_error_Ok)
        error = heif_context_get_primary_image_handle(file, &handle);
    if (error.code != heif_error_Ok) {
        st = failed(&error, name);
        goto done;
    }
    const int width = heif_image_handle_get_width(handle);
    const int height = heif_image_handle_get_height(handle);
    VT_TRY(vt_picture_check(width > 0 ? (uint32_t)width : 0,
                            height > 0 ? (uint32_t)height : 0, name));
    VT_TRY(room_for((uint64_t)width * (uint64_t)height, name));
    alpha = heif_image_handle_has_alpha_channel(handle);
    error = heif_decode_image(handle, &image, heif_colorspace_RGB,
                              alpha ? heif_chroma_interleaved_RGBA
                                    : heif_chroma_interleaved_RGB,
                              how);
    if (error.code != heif_error_Ok) {
        st = failed(&error, name);
        goto done;
    }
    VT_TRY(copy_pixels(
        &p, image, alpha,
        alpha && heif_image_handle_is_premultiplied_alpha(handle), as, name));
    *out = p, p = (vt_picture){0};
done:
    vt_picture_free(&p);
    heif_image_release(image);
    heif_image_handle_release(handle);
    heif_decoding_options_free(how);
    heif_context_free(file);
    return st;
}
