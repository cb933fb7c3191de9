/*
 * preprocess.c - resize and crop like the library that trained the model.
 *
 * Easy to get wrong: timm and torchvision round an odd crop margin to even
 * (Python's round), HF rounds it down; both truncate the long edge; a picture
 * smaller than the crop is padded with black, and the extra line of an odd
 * padding comes first in HF with Pillow, last in torchvision. The pixels stay
 * 8-bit until the device scales and normalises them. The configs are parsed in
 * preprocess_timm.c and preprocess_hf.c.
 */
#include "image/decoders.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

static const char *const pixels_names[] = {"pillow", "torchvision"};

const char *vt_pixels_name(vt_pixels pixels)
{
    return pixels_names[pixels];
}

bool vt_pixels_named(vt_pixels *out, const char *name)
{
    for (unsigned i = 0; i < VT_COUNT(pixels_names); i++)
        if (strcmp(name, pixels_names[i]) == 0) {
            *out = (vt_pixels)i;
            return true;
        }
    return false;
}

void vt_preprocess_default(vt_preprocess *out, uint32_t height, uint32_t width)
{
    *out = (vt_preprocess){
        .fit = VT_FIT_SQUASH,
        .filter = VT_BILINEAR,
        .crop = VT_CROP_NONE,
        .resize_height = height,
        .resize_width = width,
        .height = height,
        .width = width,
        .scale = 1.0f / 255,
    };
    for (int i = 0; i < 3; i++)
        out->mean[i] = out->std[i] = 0.5f;
}

/* The size after the resize. Extreme aspect ratios give huge sizes: only the
 * cropped part is ever computed. */
static vitcl_status resized(uint32_t *w, uint32_t *h, const vt_picture *in,
                            const vt_preprocess *how)
{
    double rw = in->width, rh = in->height, ratio;
    const double tw = how->resize_width, th = how->resize_height;

    if (how->fit == VT_FIT_SQUASH) {
        rw = tw, rh = th;
    } else if (how->fit == VT_FIT_SHORTEST && tw == th) {
        if (in->width <= in->height)
            rw = tw, rh = floor(tw * in->height / in->width);
        else
            rh = th, rw = floor(th * in->width / in->height);
    } else if (how->fit != VT_FIT_NONE) { /* timm's ResizeKeepRatio */
        ratio = how->fit == VT_FIT_BORDER
                    ? VT_MAX(in->width / tw, in->height / th)
                    : VT_MIN(in->width / tw, in->height / th);
        rw = rint(in->width / ratio);
        rh = rint(in->height / ratio);
    }
    if (!(rw >= 1 && rh >= 1 && rw < UINT32_MAX && rh < UINT32_MAX))
        return vt_fail(VITCL_ECORRUPT,
                       "a picture of %ux%u pixels is too narrow to be "
                       "resized for the model",
                       in->width, in->height);
    *w = (uint32_t)rw, *h = (uint32_t)rh;
    return VITCL_OK;
}

/* Where the crop starts in the resized edge; negative: padding. */
static int64_t crop_start(const vt_preprocess *how, uint32_t have,
                          uint32_t want)
{
    const int64_t margin = (int64_t)have - want;
    const bool hf = how->crop == VT_CROP_HF;

    if (margin < 0)
        return hf && how->pixels == VT_PIXELS_PILLOW ? -((1 - margin) / 2)
                                                     : -(-margin / 2);
    return hf ? margin / 2 : (int64_t)rint((double)margin / 2);
}

/* Copies a part that is smaller than the canvas and fills the border. */
static vitcl_status pad(vt_picture *out, const vt_picture *part,
                        const vt_preprocess *how, const uint8_t fill[3],
                        uint32_t x, uint32_t y)
{
    vitcl_status st = vt_picture_new(out, how->width, how->height, "padded");

    if (st != VITCL_OK)
        return st;
    for (size_t i = 0; i < (size_t)how->width * how->height; i++)
        memcpy(out->rgb + 3 * i, fill, 3);
    for (uint32_t r = 0; r < part->height; r++)
        memcpy(out->rgb + ((size_t)(y + r) * how->width + x) * 3,
               part->rgb + (size_t)r * part->width * 3,
               (size_t)part->width * 3);
    return VITCL_OK;
}

/* ---- NaFlex ---- */

void vt_preprocess_any(vt_preprocess *p, uint32_t patch, uint32_t patches)
{
    p->fit = VT_FIT_PATCHES;
    p->crop = VT_CROP_NONE;
    p->patch = p->width = patch;
    p->patches = patches;
    p->height = patch * patches + 1;
    p->resize_height = p->resize_width = 0;
}

static double whole_patches(double scale, uint32_t side, uint32_t patch)
{
    return VT_MAX(ceil(side * scale / patch), 1);
}

/* transformers' get_image_size_for_max_num_patches() and timm's
 * get_image_size_for_seq(), whose answers differ by no bit. */
void vt_patches_fit(uint32_t *rows, uint32_t *columns, uint32_t height,
                    uint32_t width, uint32_t patch, uint32_t patches)
{
    static const double eps = 1e-5;
    double low = eps / 10, high = 100;

    while (high - low >= eps) {
        const double scale = (low + high) / 2;

        if (whole_patches(scale, height, patch) *
                whole_patches(scale, width, patch) <=
            patches)
            low = scale;
        else
            high = scale;
    }
    *rows = (uint32_t)whole_patches(low, height, patch);
    *columns = (uint32_t)whole_patches(low, width, patch);
}

bool vt_patches_grid(uint32_t *rows, uint32_t *columns, const uint8_t *rgb,
                     const vt_preprocess *how)
{
    const uint8_t *last = rgb + (size_t)(how->height - 1) * how->width * 3;

    *rows = (uint32_t)last[0] | (uint32_t)last[1] << 8;
    *columns = (uint32_t)last[2] | (uint32_t)last[3] << 8;
    return *rows && *columns && (uint64_t)*rows * *columns <= how->patches;
}

static vitcl_status prepare_patches(vt_picture *out, const vt_picture *in,
                                    const vt_preprocess *how)
{
    vitcl_status st = VITCL_OK;
    vt_picture part = {0};
    uint32_t rows, columns, w, h;
    uint8_t *rgb = NULL, *last;

    vt_patches_fit(&rows, &columns, in->height, in->width, how->patch,
                   how->patches);
    if ((uint64_t)rows * columns > how->patches || rows > 0xffff ||
        columns > 0xffff)
        return vt_fail(VITCL_ECORRUPT,
                       "a picture of %ux%u pixels is too narrow for %u patches "
                       "of %u",
                       in->width, in->height, how->patches, how->patch);
    w = columns * how->patch, h = rows * how->patch;
    VT_TRY(
        vt_resize_part(&part, in, how->pixels, w, h, how->filter, 0, 0, w, h));
    /* no picture that anybody decodes: the limit of a side is not for it */
    VT_TRY(vt_new(&rgb, (size_t)how->width * how->height, 3));
    *out = (vt_picture){how->width, how->height, rgb};
    memcpy(rgb, part.rgb, (size_t)w * h * 3);
    last = rgb + (size_t)(how->height - 1) * how->width * 3;
    last[0] = (uint8_t)rows, last[1] = (uint8_t)(rows >> 8);
    last[2] = (uint8_t)columns, last[3] = (uint8_t)(columns >> 8);
done:
    vt_picture_free(&part);
    return st;
}

vitcl_status vt_prepare(vt_picture *out, const vt_picture *in,
                        const vt_preprocess *how)
{
    return vt_prepare_own(out, in, &(vt_own){.mode = VT_OWN_RGB}, how);
}

/* convert("L") of Pillow, three times. */
static vitcl_status make_grey(vt_picture *out, const vt_picture *in)
{
    const vitcl_status st = vt_picture_new(out, in->width, in->height, "grey");
    const size_t n = (size_t)in->width * in->height;

    for (size_t i = 0; st == VITCL_OK && i < n; i++) {
        const uint8_t *p = in->rgb + 3 * i;

        memset(out->rgb + 3 * i,
               (int)((p[0] * 19595u + p[1] * 38470u + p[2] * 7471u + 0x8000u) >>
                     16),
               3);
    }
    return st;
}

vitcl_status vt_prepare_own(vt_picture *out, const vt_picture *in,
                            const vt_own *own, const vt_preprocess *how)
{
    uint8_t fill[3];
    uint32_t rw = 0, rh = 0, x, y, w, h;
    int64_t left, top;
    vitcl_status st;
    vt_picture part = {0}, grey = {0};

    if (how->fit == VT_FIT_PATCHES)
        return prepare_patches(out, in, how);
    if (how->grey) {
        VT_TRY(make_grey(&grey, in));
        in = &grey;
    }
    VT_TRY(resized(&rw, &rh, in, how));
    if (how->crop == VT_CROP_NONE && (rw != how->width || rh != how->height))
        VT_TRY(vt_fail(
            VITCL_EINVAL,
            "the picture has %ux%u pixels after the resize, the model reads "
            "%ux%u, and its config asks for no crop",
            rw, rh, how->width, how->height));
    memcpy(fill, how->fill, sizeof fill);
    if (own->mode != VT_OWN_RGB)
        vt_own_fill(fill, own, how->fill[0]);
    left = crop_start(how, rw, how->width);
    top = crop_start(how, rh, how->height);
    x = (uint32_t)VT_MAX(left, 0), y = (uint32_t)VT_MAX(top, 0);
    w = VT_MIN(rw, how->width), h = VT_MIN(rh, how->height);
    VT_TRY(own->mode == VT_OWN_RGB
               ? vt_resize_part(&part, in, how->pixels, rw, rh, how->filter, x,
                                y, w, h)
               : vt_own_part(&part, in, own, rw, rh, how->filter, x, y, w, h));
    if (w == how->width && h == how->height)
        *out = part, part = (vt_picture){0};
    else
        VT_TRY(pad(out, &part, how, fill, (uint32_t)-VT_MIN(left, 0),
                   (uint32_t)-VT_MIN(top, 0)));
done:
    vt_picture_free(&part);
    vt_picture_free(&grey);
    return st;
}
