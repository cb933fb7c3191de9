/*
 * formats.c - names the format of a picture by its first bytes, never by its
 * file's name.
 */
#include "image/formats.h"

#include "base/memory.h"

#include <string.h>

#define MAGIC(at, text) text, at, sizeof text - 1
static const vt_picture_format formats[] = {
    {MAGIC(0, "\xff\xd8\xff"), "JPEG", VT_CODEC_JPEG},
    {MAGIC(0, "\x89PNG\r\n\x1a\n"), "PNG", VT_CODEC_PNG},
    {MAGIC(0, "BM"), "BMP", VT_CODEC_BMP},
    {MAGIC(0, "8BPS"), "PSD", VT_CODEC_PSD},
    {MAGIC(0, "P1"), "PBM", VT_CODEC_PNM},
    {MAGIC(0, "P2"), "PGM", VT_CODEC_PNM},
    {MAGIC(0, "P3"), "PPM", VT_CODEC_PNM},
    {MAGIC(0, "P4"), "PBM", VT_CODEC_PNM},
    {MAGIC(0, "P5"), "PGM", VT_CODEC_PNM},
    {MAGIC(0, "P6"), "PPM", VT_CODEC_PNM},
    {MAGIC(0, "GIF87a"), "GIF", VT_CODEC_GIF},
    {MAGIC(0, "GIF89a"), "GIF", VT_CODEC_GIF},
    {MAGIC(8, "WEBP"), "WebP", VT_CODEC_WEBP},
    {MAGIC(0, "II*\0"), "TIFF", VT_CODEC_TIFF},
    {MAGIC(0, "MM\0*"), "TIFF", VT_CODEC_TIFF},
    {MAGIC(0, "II+\0"), "TIFF", VT_CODEC_TIFF}, /* BigTIFF */
    {MAGIC(0, "MM\0+"), "TIFF", VT_CODEC_TIFF},
    {MAGIC(4, "ftypavif"), "AVIF", VT_CODEC_HEIF},
    {MAGIC(4, "ftypavis"), "AVIF", VT_CODEC_HEIF},
    {MAGIC(4, "ftyphei"), "HEIC", VT_CODEC_HEIF},
    {MAGIC(4, "ftyphev"), "HEIC", VT_CODEC_HEIF},
    {MAGIC(4, "ftypmif1"), "HEIF", VT_CODEC_HEIF},
    {MAGIC(4, "ftypmsf1"), "HEIF", VT_CODEC_HEIF},
    {MAGIC(4, "ftypcrx "), "RAW", VT_CODEC_RAW},        /* Canon CR3 */
    {MAGIC(0, "FUJIFILMCCD-RAW"), "RAW", VT_CODEC_RAW}, /* RAF */
    {MAGIC(0, "IIRO"), "RAW", VT_CODEC_RAW},            /* Olympus ORF */
    {MAGIC(0, "IIRS"), "RAW", VT_CODEC_RAW},
    {MAGIC(0, "MMOR"), "RAW", VT_CODEC_RAW},
    {MAGIC(0, "IIU\0"), "RAW", VT_CODEC_RAW},    /* Panasonic RW2 */
    {MAGIC(6, "HEAPCCDR"), "RAW", VT_CODEC_RAW}, /* Canon CRW */
    {MAGIC(0, "\0MRM"), "RAW", VT_CODEC_RAW},    /* Minolta MRW */
    {MAGIC(0, "FOVb"), "RAW", VT_CODEC_RAW},     /* Sigma X3F */
    {MAGIC(0, "#?RADIANCE"), "HDR", VT_CODEC_NONE},
    {MAGIC(4, "jP  \r\n\x87\n"), "JPEG 2000", VT_CODEC_NONE},
    {MAGIC(4, "JXL \r\n\x87\n"), "JPEG XL", VT_CODEC_NONE},
    {MAGIC(0, "\xff\x0a"), "JPEG XL", VT_CODEC_NONE},
};

const vt_picture_format vt_picture_format_raw = {MAGIC(0, ""), "RAW",
                                                 VT_CODEC_RAW};
static const vt_picture_format tga = {MAGIC(0, ""), "TGA", VT_CODEC_TGA};

/* TGA has no magic number: is this a header that a decoder could use? */
static bool is_tga(const uint8_t *d, size_t size)
{
    const unsigned kind = size < 18 ? 0 : d[2] & ~8u,
                   depth = size < 18 ? 0 : d[16];
    const bool colour = depth == 16 || depth == 24 || depth == 32;

    if (size < 18 || d[1] > 1 || (d[12] | d[13]) == 0 || (d[14] | d[15]) == 0 ||
        d[17] & 0xc0 || (d[1] == 1 && d[7] != 16 && d[7] != 24 && d[7] != 32))
        return false;
    return (kind == 1 && d[1] == 1 && depth == 8) || (kind == 2 && colour) ||
           (kind == 3 && (depth == 8 || depth == 16));
}

const vt_picture_format *vt_picture_format_of(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < VT_COUNT(formats); i++) {
        const vt_picture_format *f = &formats[i];

        if (size >= f->at + f->length &&
            memcmp(data + f->at, f->magic, f->length) == 0)
            return f;
    }
    return is_tga(data, size) ? &tga : NULL;
}

bool vt_picture_format_is_extra(const vt_picture_format *format)
{
    return format->codec >= VT_CODEC_WEBP;
}

const char *vt_picture_format_library(const vt_picture_format *format)
{
    static const char *const names[VT_CODECS] = {
        [VT_CODEC_WEBP] = "libwebp", [VT_CODEC_GIF] = "giflib",
        [VT_CODEC_TIFF] = "libtiff", [VT_CODEC_HEIF] = "libheif",
        [VT_CODEC_RAW] = "libraw",
    };

    return names[format->codec];
}
