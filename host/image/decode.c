/*
 * decode.c - finds the decoder of a picture, and applies the EXIF orientation
 * to its result (Pillow's ImageOps.exif_transpose).
 *
 * The format is detected from the first bytes, never from the file's name.
 */
#include "image/decoders.h"

#include "base/memory.h"

#include <string.h>

typedef struct vt_decoder {
    const char *magic;
    size_t at, length;    /* offset and length of magic */
    const char *what;     /* for messages */
    vt_decode_fn *decode; /* NULL: known, but not supported */
} vt_decoder;

#define MAGIC(at, text) text, at, sizeof text - 1
static const vt_decoder decoders[] = {
    {MAGIC(0, "\xff\xd8\xff"), "JPEG", vt_decode_jpeg},
    {MAGIC(0, "\x89PNG\r\n\x1a\n"), "PNG", vt_decode_png},
    {MAGIC(0, "BM"), "BMP", vt_decode_bmp},
    {MAGIC(0, "8BPS"), "PSD", vt_decode_psd},
    {MAGIC(0, "P5"), "PGM", vt_decode_pnm},
    {MAGIC(0, "P6"), "PPM", vt_decode_pnm},
    /* stb_image could read GIF, HDR and TGA, but these readers have known
     * memory errors that no release has fixed. */
    {MAGIC(0, "GIF8"), "GIF", NULL},
    {MAGIC(0, "#?RADIANCE"), "HDR", NULL},
    {MAGIC(8, "WEBP"), "WebP", NULL},
    {MAGIC(0, "II*\0"), "TIFF", NULL},
    {MAGIC(0, "MM\0*"), "TIFF", NULL},
    {MAGIC(4, "ftypavif"), "AVIF", NULL},
    {MAGIC(4, "ftyphei"), "HEIC", NULL},
    {MAGIC(4, "jP  \r\n\x87\n"), "JPEG 2000", NULL},
    {MAGIC(4, "JXL \r\n\x87\n"), "JPEG XL", NULL},
    {MAGIC(0, "\xff\x0a"), "JPEG XL", NULL},
};

/* For each orientation: the stored index of the first upright pixel, and the
 * steps between its neighbours in a row and in a column. */
static vitcl_status apply_orientation(vt_picture *p, unsigned orientation,
                                      const char *name)
{
    const ptrdiff_t w = p->width, h = p->height;
    const ptrdiff_t right = 1, down = w;
    const ptrdiff_t top_right = w - 1, bottom_left = (h - 1) * w;
    const ptrdiff_t bottom_right = h * w - 1;
    const struct {
        ptrdiff_t first, column, row;
    } ways[] = {
        {top_right, -right, down},     /* 2: mirrored */
        {bottom_right, -right, -down}, /* 3: rotated by 180 */
        {bottom_left, right, -down},   /* 4: upside down */
        {0, down, right},              /* 5: transposed */
        {bottom_left, -down, right},   /* 6: rotated 90 clockwise */
        {bottom_right, -down, -right}, /* 7: transversed */
        {top_right, down, -right},     /* 8: rotated 90 counterclockwise */
    };
    vt_picture out = {0};
    vitcl_status st;
    uint8_t *to;

    if (orientation < 2 || orientation > 8)
        return VITCL_OK;
    if (orientation >= 5)
        st = vt_picture_new(&out, p->height, p->width, name);
    else
        st = vt_picture_new(&out, p->width, p->height, name);
    if (st != VITCL_OK)
        return st;
    to = out.rgb;
    for (ptrdiff_t y = 0; y < (ptrdiff_t)out.height; y++)
        for (ptrdiff_t x = 0; x < (ptrdiff_t)out.width; x++, to += 3)
            memcpy(to,
                   p->rgb + 3 * (ways[orientation - 2].first +
                                 y * ways[orientation - 2].row +
                                 x * ways[orientation - 2].column),
                   3);
    vt_picture_free(p);
    *p = out;
    return VITCL_OK;
}

static const vt_decoder *find(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < VT_COUNT(decoders); i++) {
        const vt_decoder *d = &decoders[i];

        if (size >= d->at + d->length &&
            memcmp(data + d->at, d->magic, d->length) == 0)
            return d;
    }
    return NULL;
}

static vitcl_status decode(vt_picture *out, const void *bytes, size_t size,
                           bool on_white, const char *name)
{
    vitcl_status st = VITCL_OK;
    vt_picture p = {0};
    const vt_decoder *d;
    unsigned orientation = 1;

    if (size == 0)
        return vt_fail(VITCL_ECORRUPT, "%s: the file is empty", name);
    d = find(bytes, size);
    if (!d)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: not a supported picture format (JPEG, PNG, BMP, "
                       "PSD, PPM, PGM)",
                       name);
    if (!d->decode)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: %s pictures are not supported; convert it "
                       "to PNG or JPEG",
                       name, d->what);
    VT_TRY(d->decode(&p, &orientation, bytes, size, on_white, name));
    VT_TRY(apply_orientation(&p, orientation, name));
    *out = p, p = (vt_picture){0};
done:
    vt_picture_free(&p);
    return st;
}

vitcl_status vt_image_decode(vt_picture *out, const void *bytes, size_t size,
                             const char *name)
{
    return decode(out, bytes, size, false, name);
}

vitcl_status vt_image_decode_on_white(vt_picture *out, const void *bytes,
                                      size_t size, const char *name)
{
    return decode(out, bytes, size, true, name);
}
