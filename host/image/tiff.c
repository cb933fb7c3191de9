/*
 * tiff.c - the first picture of a TIFF through libtiff, with the same bytes as
 * Pillow.
 *
 * Every sample becomes one byte as it is read: colour and opacity keep their
 * high byte, grey of more than 8 bits is clipped at 255, fewer bits are spread.
 * Then all kinds of colour become RGB.
 */
#include "image/decoders.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#include <tiffio.h>

enum { CHANNELS = 4, TILE_MAX = 1 << 30, ALPHA_OF_COREL = 999 };

typedef struct tiff_state {
    TIFF *tiff;
    const uint8_t *data;
    size_t size, at;
    const char *name;
    uint32_t width, height;
    uint16_t bits, samples, photometric, planar, format, compression;
    unsigned channels, alpha; /* samples that are used; which is the opacity,
                               * 0: none */
    bool multiplied;          /* by the opacity */
    uint8_t *pixels, *line;   /* width * height * channels; a row or a tile */
    vt_picture picture;
    vt_own *own;
} tiff_state;

/* ---- the file ----------------------------------------------------------- */

static tmsize_t read_bytes(thandle_t handle, void *out, tmsize_t n)
{
    tiff_state *s = handle;
    const size_t count = VT_MIN((size_t)n, s->size - s->at);

    memcpy(out, s->data + s->at, count);
    s->at += count;
    return (tmsize_t)count;
}

static tmsize_t write_bytes(thandle_t handle, void *from, tmsize_t n)
{
    (void)handle, (void)from, (void)n;
    return 0;
}

static toff_t seek(thandle_t handle, toff_t to, int whence)
{
    tiff_state *s = handle;
    const uint64_t from = whence == SEEK_SET   ? 0
                          : whence == SEEK_CUR ? s->at
                                               : s->size;

    s->at = to > s->size - from ? s->size : (size_t)(from + to);
    return s->at;
}

static int close_file(thandle_t handle)
{
    (void)handle;
    return 0;
}

static toff_t file_size(thandle_t handle)
{
    return ((tiff_state *)handle)->size;
}

static vitcl_status broken(const tiff_state *s)
{
    return vt_fail(VITCL_ECORRUPT, "%s: the TIFF is damaged or truncated",
                   s->name);
}

static vitcl_status no_memory(const tiff_state *s)
{
    return vt_fail(VITCL_ENOMEM, "%s: out of memory", s->name);
}

/* ---- what is in it ------------------------------------------------------ */

static bool is_known(const tiff_state *s)
{
    const bool whole = s->format == SAMPLEFORMAT_UINT;

    switch (s->photometric) {
    case PHOTOMETRIC_MINISWHITE:
    case PHOTOMETRIC_MINISBLACK:
        if (s->format == SAMPLEFORMAT_IEEEFP)
            return s->bits == 32;
        if (s->format == SAMPLEFORMAT_INT)
            return s->bits == 8 || s->bits == 16 || s->bits == 32;
        return whole && (s->bits <= 2 || s->bits == 4 || s->bits == 8 ||
                         s->bits == 12 || s->bits == 16 || s->bits == 32);
    case PHOTOMETRIC_PALETTE:
        return whole && (s->bits <= 2 || s->bits == 4 || s->bits == 8);
    case PHOTOMETRIC_RGB:
    case PHOTOMETRIC_SEPARATED:
        return whole && (s->bits == 8 || s->bits == 16);
    default:
        return false;
    }
}

/* Which samples are used, and is there an opacity? */
static vitcl_status find_channels(tiff_state *s)
{
    const unsigned colours = s->photometric == PHOTOMETRIC_RGB         ? 3
                             : s->photometric == PHOTOMETRIC_SEPARATED ? 4
                                                                       : 1;
    uint16_t count = 0, kind = EXTRASAMPLE_UNASSALPHA;
    const uint16_t *extra = NULL;

    if (!is_known(s) || s->samples < colours)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: a TIFF of a rare kind (%u samples of %u bits, "
                       "photometric %u); convert it to PNG",
                       s->name, s->samples, s->bits, s->photometric);
    s->channels = colours;
    if (TIFFGetField(s->tiff, TIFFTAG_EXTRASAMPLES, &count, &extra) &&
        count > 0)
        kind = extra[0];
    if (s->samples > colours && colours < CHANNELS &&
        (kind == EXTRASAMPLE_UNASSALPHA || kind == EXTRASAMPLE_ASSOCALPHA ||
         kind == ALPHA_OF_COREL)) {
        s->alpha = s->channels++;
        s->multiplied = kind == EXTRASAMPLE_ASSOCALPHA;
    }
    return VITCL_OK;
}

static vitcl_status read_tags(tiff_state *s)
{
    TIFF *t = s->tiff;

    if (!TIFFGetField(t, TIFFTAG_IMAGEWIDTH, &s->width) ||
        !TIFFGetField(t, TIFFTAG_IMAGELENGTH, &s->height))
        return broken(s);
    TIFFGetFieldDefaulted(t, TIFFTAG_BITSPERSAMPLE, &s->bits);
    TIFFGetFieldDefaulted(t, TIFFTAG_SAMPLESPERPIXEL, &s->samples);
    TIFFGetFieldDefaulted(t, TIFFTAG_PLANARCONFIG, &s->planar);
    TIFFGetFieldDefaulted(t, TIFFTAG_COMPRESSION, &s->compression);
    TIFFGetFieldDefaulted(t, TIFFTAG_SAMPLEFORMAT, &s->format);
    if (!TIFFGetField(t, TIFFTAG_PHOTOMETRIC, &s->photometric))
        s->photometric = PHOTOMETRIC_MINISWHITE;
    /* libtiff takes numbers of colours for greys where it cannot read these */
    if (s->photometric != PHOTOMETRIC_PALETTE &&
        vt_tiff_has_palette(s->data, s->size))
        return broken(s);
    return vt_picture_check(s->width, s->height, s->name);
}

/* The tag, else XMP, as in Pillow. libtiff takes the first of two tags, and
 * fewer types. */
static unsigned find_orientation(const tiff_state *s)
{
    const unsigned orientation = vt_tiff_orientation(s->data, s->size);
    uint32_t n = 0;
    const uint8_t *xmp = NULL;

    if (orientation == 0 && TIFFGetField(s->tiff, TIFFTAG_XMLPACKET, &n, &xmp))
        return vt_xmp_orientation(xmp, n);
    return orientation;
}

/* ---- samples ------------------------------------------------------------ */

static uint8_t clipped(double v)
{
    return (uint8_t)(v > 255 ? 255 : v > 0 ? v : 0); /* NaN: 0 */
}

/* A grey of more than 8 bits. */
static double wide(const tiff_state *s, const uint8_t *row, size_t i)
{
    int32_t whole;
    uint16_t half;
    float real;

    if (s->bits == 16) {
        memcpy(&half, row + 2 * i, 2);
        return s->format == SAMPLEFORMAT_INT ? (int16_t)half : half;
    }
    if (s->format == SAMPLEFORMAT_IEEEFP) {
        memcpy(&real, row + 4 * i, 4);
        return (double)real;
    }
    memcpy(&whole, row + 4 * i, 4); /* Pillow has no unsigned 32-bit numbers */
    return whole;
}

static unsigned twelve_bits(const uint8_t *row, size_t i)
{
    const uint8_t *p = row + i / 2 * 3;

    return i % 2 ? (p[1] & 15u) << 8 | p[2] : (unsigned)p[0] << 4 | p[1] >> 4;
}

/* Keeps a grey of more than 8 bits for a resize in its own mode. */
static void keep(const tiff_state *s, const uint8_t *row, size_t i, size_t at)
{
    const double v = s->bits == 12 ? twelve_bits(row, i) : wide(s, row, i);

    if (s->own->mode == VT_OWN_FLOAT)
        ((float *)s->own->more)[at] = (float)v;
    else
        ((int32_t *)s->own->more)[at] = (int32_t)v;
}

/* Sample i of a row, as a byte. */
static uint8_t sample(const tiff_state *s, const uint8_t *row, size_t i,
                      size_t channel)
{
    const bool opacity = s->alpha && channel == s->alpha;
    const bool palette = s->photometric == PHOTOMETRIC_PALETTE;
    uint8_t v;
    uint16_t half;
    uint32_t whole;

    if (s->bits == 12) {
        const unsigned twelve = twelve_bits(row, i);

        return opacity ? (uint8_t)(twelve >> 4) : clipped(twelve);
    }
    if ((s->photometric >= PHOTOMETRIC_RGB || opacity) && s->bits == 16) {
        memcpy(&half, row + 2 * i, 2);
        return (uint8_t)(half >> 8);
    }
    if (opacity && s->bits == 32 && s->format == SAMPLEFORMAT_UINT) {
        memcpy(&whole, row + 4 * i, 4);
        return (uint8_t)(whole >> 24);
    }
    if (s->bits > 8)
        return clipped(wide(s, row, i));
    if (s->bits == 8) {
        v = row[i];
    } else {
        const unsigned shift = 8u - s->bits - (unsigned)(i * s->bits % 8);
        const unsigned top = (1u << s->bits) - 1;

        v = (uint8_t)((unsigned)row[i * s->bits / 8] >> shift & top);
        if (!palette || opacity)
            v = (uint8_t)(v * (255 / top));
    }
    return s->photometric == PHOTOMETRIC_MINISWHITE && !opacity
               ? (uint8_t)(255 - v)
               : v;
}

/* Takes n pixels of a row: all samples, or those of one plane. */
static void take(tiff_state *s, uint32_t x, uint32_t y, uint32_t n,
                 const uint8_t *row, unsigned plane)
{
    const size_t at = (size_t)s->width * y + x;
    const bool keeps = s->own && s->own->mode >= VT_OWN_INT16;
    uint8_t *to = s->pixels + at * s->channels;

    for (size_t i = 0; keeps && plane == 0 && i < n; i++)
        keep(s, row, s->planar == PLANARCONFIG_SEPARATE ? i : i * s->samples,
             at + i);
    for (size_t i = 0; i < n; i++, to += s->channels)
        if (s->planar == PLANARCONFIG_SEPARATE)
            to[plane] = sample(s, row, i, plane);
        else
            for (size_t c = 0; c < s->channels; c++)
                to[c] = sample(s, row, i * s->samples + c, c);
}

static vitcl_status read_tiles(tiff_state *s, unsigned plane)
{
    const tmsize_t stride = TIFFTileRowSize(s->tiff);
    uint32_t width = 0, height = 0;

    TIFFGetField(s->tiff, TIFFTAG_TILEWIDTH, &width);
    TIFFGetField(s->tiff, TIFFTAG_TILELENGTH, &height);
    if (width == 0 || height == 0)
        return broken(s);
    for (uint32_t y = 0; y < s->height; y += VT_MIN(height, s->height - y))
        for (uint32_t x = 0; x < s->width; x += VT_MIN(width, s->width - x)) {
            const uint32_t n = VT_MIN(width, s->width - x);

            if (TIFFReadTile(s->tiff, s->line, x, y, 0, (uint16_t)plane) < 0)
                return broken(s);
            for (uint32_t i = 0; i < height && i < s->height - y; i++)
                take(s, x, y + i, n, s->line + (size_t)stride * i, plane);
        }
    return VITCL_OK;
}

static vitcl_status read_rows(tiff_state *s, unsigned plane)
{
    for (uint32_t y = 0; y < s->height; y++) {
        if (TIFFReadScanline(s->tiff, s->line, y, (uint16_t)plane) < 0)
            return broken(s);
        take(s, 0, y, s->width, s->line, plane);
    }
    return VITCL_OK;
}

/* Its mode in Pillow. */
static vitcl_status find_own(tiff_state *s)
{
    const bool palette = s->photometric == PHOTOMETRIC_PALETTE;
    const bool grey = s->photometric < PHOTOMETRIC_RGB;

    if (s->own && !palette)
        memset(s->own->palette[1], 255, sizeof s->own->palette - 3);
    return vt_own_new(s->own,
                      palette                                   ? VT_OWN_NUMBERS
                      : s->alpha                                ? VT_OWN_ALPHA
                      : s->photometric == PHOTOMETRIC_SEPARATED ? VT_OWN_CMYK
                      : !grey || (s->bits <= 8 && s->bits != 1) ? VT_OWN_RGB
                      : s->bits == 1                            ? VT_OWN_NUMBERS
                      : s->format == SAMPLEFORMAT_IEEEFP        ? VT_OWN_FLOAT
                      : s->bits == 32 || s->format == SAMPLEFORMAT_INT
                          ? VT_OWN_INT32
                      : TIFFIsBigEndian(s->tiff) ? VT_OWN_INT16B
                                                 : VT_OWN_INT16,
                      s->width, s->height, s->name);
}

static vitcl_status read_samples(tiff_state *s)
{
    const bool tiled = TIFFIsTiled(s->tiff);
    const tmsize_t size =
        tiled ? TIFFTileSize(s->tiff) : TIFFScanlineSize(s->tiff);
    const unsigned planes =
        s->planar == PLANARCONFIG_SEPARATE ? s->channels : 1;
    const uint64_t row = (uint64_t)s->width * s->bits *
                         (s->planar == PLANARCONFIG_SEPARATE ? 1 : s->samples);

    if (size <= 0 || size > TILE_MAX || (!tiled && (uint64_t)size * 8 < row))
        return broken(s);
    s->line = calloc(1, (size_t)size);
    s->pixels = malloc((size_t)s->width * s->height * s->channels);
    if (!s->line || !s->pixels)
        return no_memory(s);
    for (unsigned plane = 0; plane < planes; plane++) {
        const vitcl_status st =
            tiled ? read_tiles(s, plane) : read_rows(s, plane);

        if (st != VITCL_OK)
            return st;
    }
    return VITCL_OK;
}

/* ---- colours ------------------------------------------------------------ */

static void to_rgb(uint8_t rgb[3], const tiff_state *s, const uint8_t *p,
                   uint16_t *const map[3])
{
    if (s->photometric == PHOTOMETRIC_PALETTE) {
        for (int i = 0; i < 3; i++)
            rgb[i] = (uint8_t)(map[i][p[0]] >> 8);
    } else if (s->photometric == PHOTOMETRIC_SEPARATED) {
        const int white = 255 - p[3]; /* Pillow's cmyk2rgb */

        for (int i = 0; i < 3; i++) {
            const int t = p[i] * white + 128;

            rgb[i] = (uint8_t)(white - (((t >> 8) + t) >> 8));
        }
    } else if (s->photometric == PHOTOMETRIC_RGB) {
        memcpy(rgb, p, 3);
    } else {
        memset(rgb, p[0], 3);
    }
}

/* Of a pixel of bytes, what its mode has beside RGB. */
static void keep_bytes(const tiff_state *s, const uint8_t *p, size_t i)
{
    const size_t bytes = s->own ? vt_own_bytes(s->own->mode) : 0;

    if (bytes == 1)
        ((uint8_t *)s->own->more)[i] = p[s->alpha];
    else if (s->own && s->own->mode == VT_OWN_CMYK)
        memcpy((uint8_t *)s->own->more + 4 * i, p, 4);
}

static vitcl_status colour(tiff_state *s, const vt_decode_as *as)
{
    const size_t n = (size_t)s->width * s->height;
    const uint8_t *p = s->pixels;
    uint16_t *map[3] = {NULL, NULL, NULL};
    uint8_t *rgb;
    vitcl_status st;

    if (s->photometric == PHOTOMETRIC_PALETTE &&
        !TIFFGetField(s->tiff, TIFFTAG_COLORMAP, &map[0], &map[1], &map[2]))
        return broken(s);
    st = vt_picture_new(&s->picture, s->width, s->height, s->name);
    if (st != VITCL_OK)
        return st;
    for (int i = 0; s->own && map[0] && i < 1 << s->bits; i++)
        for (int k = 0; k < 3; k++)
            s->own->palette[i][k] = (uint8_t)(map[k][i] >> 8);
    if (s->bits > 8 && s->photometric < PHOTOMETRIC_RGB)
        vt_picture_note(VT_NOTE_CLIPPED);
    rgb = s->picture.rgb;
    for (size_t i = 0; i < n; i++, p += s->channels, rgb += 3) {
        const uint8_t alpha = s->alpha ? p[s->alpha] : 255;

        to_rgb(rgb, s, p, map);
        for (int k = 0; s->multiplied && alpha && alpha != 255 && k < 3; k++)
            rgb[k] = (uint8_t)VT_MIN(255 * rgb[k] / alpha, 255);
        keep_bytes(s, p, i);
        if (as->on_white)
            vt_lay_on_white(rgb, alpha);
    }
    return VITCL_OK;
}

/* Luminance and colour differences of one resolution or several: libtiff's own
 * way to RGB, which Pillow takes too. */
static vitcl_status read_ycc(tiff_state *s)
{
    const size_t n = (size_t)s->width * s->height;
    uint32_t *raster = malloc(n * sizeof *raster);
    vitcl_status st = VITCL_OK;
    uint8_t *rgb;

    if (!raster)
        return no_memory(s);
    (void)TIFFSetField(s->tiff, TIFFTAG_ORIENTATION, ORIENTATION_TOPLEFT);
    if (!TIFFReadRGBAImageOriented(s->tiff, s->width, s->height, raster,
                                   ORIENTATION_TOPLEFT, 1)) {
        st = broken(s);
        goto done;
    }
    VT_TRY(vt_picture_new(&s->picture, s->width, s->height, s->name));
    rgb = s->picture.rgb;
    for (size_t i = 0; i < n; i++, rgb += 3) {
        rgb[0] = (uint8_t)TIFFGetR(raster[i]);
        rgb[1] = (uint8_t)TIFFGetG(raster[i]);
        rgb[2] = (uint8_t)TIFFGetB(raster[i]);
    }
done:
    free(raster);
    return st;
}

vitcl_status vt_decode_tiff(vt_picture *out, unsigned *orientation,
                            const uint8_t *data, size_t size,
                            const vt_decode_as *as, const char *name)
{
    tiff_state s = {.data = data, .size = size, .name = name, .own = as->own};
    vitcl_status st = VITCL_OK;

    TIFFSetErrorHandler(NULL); /* they would print */
    TIFFSetWarningHandler(NULL);
    s.tiff = TIFFClientOpen(name, "rm", &s, read_bytes, write_bytes, seek,
                            close_file, file_size, NULL, NULL);
    if (!s.tiff)
        return broken(&s);
    VT_TRY(read_tags(&s));
    *orientation = find_orientation(&s);
    if (s.photometric == PHOTOMETRIC_YCBCR && s.samples == 3 &&
        s.compression == COMPRESSION_JPEG) {
        (void)TIFFSetField(s.tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
        s.photometric = PHOTOMETRIC_RGB;
    }
    if (s.compression == COMPRESSION_OJPEG ||
        (s.photometric == PHOTOMETRIC_YCBCR && s.samples == 3)) {
        VT_TRY(read_ycc(&s));
    } else {
        if (s.photometric == PHOTOMETRIC_YCBCR && s.samples == 1)
            s.photometric = PHOTOMETRIC_MINISBLACK;
        VT_TRY(find_channels(&s));
        VT_TRY(find_own(&s));
        VT_TRY(read_samples(&s));
        VT_TRY(colour(&s, as));
    }
    *out = s.picture, s.picture = (vt_picture){0};
done:
    vt_picture_free(&s.picture);
    free(s.pixels);
    free(s.line);
    TIFFClose(s.tiff);
    return st;
}
