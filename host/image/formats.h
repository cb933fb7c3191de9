/*
 * formats.h - the picture formats, known by their first bytes.
 *
 * Whoever sends a picture to a decoder process asks whether it is one of those
 * that the program vitcl-decode-all alone reads; decode.c asks for the decoder.
 */
#ifndef VT_IMAGE_FORMATS_H
#define VT_IMAGE_FORMATS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    VT_CODEC_NONE, /* known, but not supported */
    VT_CODEC_JPEG,
    VT_CODEC_PNG,
    VT_CODEC_BMP,
    VT_CODEC_PSD,
    VT_CODEC_PNM,
    VT_CODEC_TGA,
    VT_CODEC_WEBP, /* from here on: of vitcl-decode-all */
    VT_CODEC_GIF,
    VT_CODEC_TIFF,
    VT_CODEC_HEIF,
    VT_CODEC_RAW,
    VT_CODECS
} vt_codec;

typedef struct vt_picture_format {
    const char *magic;
    size_t at, length; /* offset and length of magic */
    const char *what;  /* for messages */
    vt_codec codec;
} vt_picture_format;

/* So many first bytes are enough. */
enum { VT_FORMAT_BYTES = 32 };
/* NULL: unknown. */
const vt_picture_format *vt_picture_format_of(const uint8_t *data, size_t size);
/* What a TIFF is that vt_tiff_is_raw(). */
extern const vt_picture_format vt_picture_format_raw;
/* Is this format read by vitcl-decode-all alone? */
bool vt_picture_format_is_extra(const vt_picture_format *format);
/* The library that reads it, NULL: one that every build has. */
const char *vt_picture_format_library(const vt_picture_format *format);

#endif
