/*
 * decode.c - finds the decoder of a picture, and applies the EXIF orientation
 * to its result (Pillow's ImageOps.exif_transpose).
 *
 * The format is detected from the first bytes, never from the file's name.
 */
#include "image/decoders.h"

#include "base/memory.h"
#include "image/formats.h"

#include <string.h>

/* NULL: not in this program, or not in this build. */
static vt_decode_fn *const decoders[VT_CODECS] = {
    [VT_CODEC_JPEG] = vt_decode_jpeg, [VT_CODEC_PNG] = vt_decode_png,
    [VT_CODEC_BMP] = vt_decode_bmp,   [VT_CODEC_PSD] = vt_decode_psd,
    [VT_CODEC_PNM] = vt_decode_pnm,   [VT_CODEC_TGA] = vt_decode_tga,
#ifdef VT_WITH_WEBP
    [VT_CODEC_WEBP] = vt_decode_webp,
#endif
#ifdef VT_WITH_GIF
    [VT_CODEC_GIF] = vt_decode_gif,
#endif
#ifdef VT_WITH_TIFF
    [VT_CODEC_TIFF] = vt_decode_tiff,
#endif
#ifdef VT_WITH_HEIF
    [VT_CODEC_HEIF] = vt_decode_heif,
#endif
#ifdef VT_WITH_RAW
    [VT_CODEC_RAW] = vt_decode_raw,
#endif
};

/* New memory with the pixels upright, `each` bytes to a pixel; from: w * h of
 * them. */
static vitcl_status turn(uint8_t **out, const uint8_t *from, size_t each,
                         ptrdiff_t w, ptrdiff_t h, unsigned orientation,
                         const char *name)
{
    const ptrdiff_t right = 1, down = w;
    const ptrdiff_t top_right = w - 1, bottom_left = (h - 1) * w;
    const ptrdiff_t bottom_right = h * w - 1;
    /* for each orientation: the stored index of the first upright pixel, and
     * the steps between its neighbours in a row and in a column */
    const struct {
        ptrdiff_t first, column, row;
    } ways[] =
        {
            {top_right, -right, down},     /* 2: mirrored */
            {bottom_right, -right, -down}, /* 3: rotated by 180 */
            {bottom_left, right, -down},   /* 4: upside down */
            {0, down, right},              /* 5: transposed */
            {bottom_left, -down, right},   /* 6: rotated 90 clockwise */
            {bottom_right, -down, -right}, /* 7: transversed */
            {top_right, down, -right},     /* 8: rotated 90 counterclockwise */
        },
      way = ways[orientation - 2];
    const bool lies = orientation >= 5;
    uint8_t *to = malloc((size_t)w * (size_t)h * each);

    if (!to)
        return vt_fail(VITCL_ENOMEM, "%s: out of memory for %tdx%td pixels",
                       name, w, h);
    *out = to;
    for (ptrdiff_t y = 0; y < (lies ? w : h); y++)
        for (ptrdiff_t x = 0; x < (lies ? h : w); x++, to += each)
            memcpy(to,
                   from + (ptrdiff_t)each *
                              (way.first + y * way.row + x * way.column),
                   each);
    return VITCL_OK;
}

static vitcl_status apply_orientation(vt_picture *p, vt_own *own,
                                      unsigned orientation, const char *name)
{
    const uint32_t w = p->width, h = p->height;
    uint8_t *turned = NULL;

    if (orientation < 2 || orientation > 8)
        return VITCL_OK;
    VT_RET(turn(&turned, p->rgb, 3, w, h, orientation, name));
    free(p->rgb);
    p->rgb = turned;
    if (orientation >= 5)
        p->width = h, p->height = w;
    if (!own || !own->more)
        return VITCL_OK;
    VT_RET(turn(&turned, own->more, vt_own_bytes(own->mode), w, h, orientation,
                name));
    free(own->more);
    own->more = turned;
    return VITCL_OK;
}

/* Did clipping make most of it white? */
static bool is_white(const vt_picture *p)
{
    const size_t n = (size_t)p->width * p->height;
    size_t white = 0;

    for (size_t i = 0; i < n; i++)
        white += p->rgb[3 * i] == 255;
    return white > n / 2;
}

static const char *archive(const uint8_t *data, size_t size)
{
    static const vt_picture_format kinds[] = {
        {"ustar", 257, 5, "a tar archive", VT_CODEC_NONE},
        {"\x1f\x8b", 0, 2, "a gzip file", VT_CODEC_NONE},
        {"\x28\xb5\x2f\xfd", 0, 4, "a zstd file", VT_CODEC_NONE},
        {"\3757zXZ", 0, 6, "an xz file", VT_CODEC_NONE},
        {"1AY&SY", 4, 6, "a bzip2 file", VT_CODEC_NONE},
        {"PK\3\4", 0, 4, "a ZIP archive", VT_CODEC_NONE},
    };

    for (size_t i = 0; i < VT_COUNT(kinds); i++)
        if (size >= kinds[i].at + kinds[i].length &&
            memcmp(data + kinds[i].at, kinds[i].magic, kinds[i].length) == 0)
            return kinds[i].what;
    return NULL;
}

static vitcl_status unsupported(const vt_picture_format *format,
                                const uint8_t *data, size_t size,
                                const char *name)
{
    const char *other = archive(data, size);
    const char *library = format ? vt_picture_format_library(format) : NULL;

    if (!format && other)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: %s, not a picture (--tar reads tar archives)", name,
                       other);
    if (!format)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: not a supported picture format (JPEG, PNG, WebP, "
                       "HEIC, AVIF, TIFF, GIF, BMP, PSD, TGA, PNM, RAW)",
                       name);
    if (library)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: %s pictures need %s, which this build lacks; "
                       "convert it to PNG or JPEG",
                       name, format->what, library);
    return vt_fail(VITCL_EUNSUPPORTED,
                   "%s: %s pictures are not supported; convert it to PNG or "
                   "JPEG",
                   name, format->what);
}

static vitcl_status decode(vt_picture *out, const void *bytes, size_t size,
                           const vt_decode_as *as, const char *name)
{
    vitcl_status st = VITCL_OK;
    vt_picture p = {0};
    const vt_picture_format *format;
    vt_decode_fn *fill;
    unsigned orientation = 1, notes;

    if (size == 0)
        return vt_fail(VITCL_ECORRUPT, "%s: the file is empty", name);
    format = vt_picture_format_of(bytes, size);
    if (format && format->codec == VT_CODEC_TIFF && vt_tiff_is_raw(bytes, size))
        format = &vt_picture_format_raw;
    fill = format ? decoders[format->codec] : NULL;
    if (!fill)
        return unsupported(format, bytes, size, name);
    VT_TRY(fill(&p, &orientation, bytes, size, as, name));
    notes = vt_picture_notes();
    if (!(notes & VT_NOTE_CLIPPED) || is_white(&p))
        vt_picture_note(notes);
    VT_TRY(apply_orientation(&p, as->own, orientation, name));
    *out = p, p = (vt_picture){0};
done:
    if (st != VITCL_OK)
        vt_picture_notes(); /* only of what is returned */
    if (st != VITCL_OK && as->own)
        vt_own_free(as->own);
    vt_picture_free(&p);
    return st;
}

vitcl_status vt_image_decode(vt_picture *out, const void *bytes, size_t size,
                             const char *name)
{
    return decode(out, bytes, size, &(vt_decode_as){false, NULL}, name);
}

vitcl_status vt_image_decode_on_white(vt_picture *out, const void *bytes,
                                      size_t size, const char *name)
{
    return decode(out, bytes, size, &(vt_decode_as){true, NULL}, name);
}

vitcl_status vt_image_decode_own(vt_picture *out, vt_own *own,
                                 const void *bytes, size_t size,
                                 const char *name)
{
    *own = (vt_own){.mode = VT_OWN_RGB};
    return decode(out, bytes, size, &(vt_decode_as){false, own}, name);
}
