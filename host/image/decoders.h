/*
 * decoders.h - what the picture decoders share; decode.c owns the table.
 *
 * A decoder gets the whole file, fills `out` with RGB as the file has it and
 * leaves the EXIF orientation (1 to 8; 0: none) in *turn; decode.c turns the
 * picture upright.
 */
#ifndef VT_IMAGE_DECODERS_H
#define VT_IMAGE_DECODERS_H
#include "image/image.h"

/* on_white: what is transparent is laid on white, else its colours are taken
 * as they are. */
typedef vitcl_status vt_decode_fn(vt_picture *out, unsigned *turn,
                                  const uint8_t *data, size_t size,
                                  bool on_white, const char *name);
/* A pixel of this opacity on white, with the rounding of Pillow's
 * alpha_composite. */
void vt_lay_on_white(uint8_t rgb[3], uint8_t alpha);
vt_decode_fn vt_decode_jpeg, vt_decode_png, vt_decode_bmp, vt_decode_psd,
    vt_decode_pnm;

/* An unsigned number of at most four bytes. */
uint32_t vt_number(const uint8_t *p, unsigned bytes, bool big_endian);
/* The most pixels of a picture, for the process; VT_PIXELS_MAX if not said. */
void vt_picture_limit(uint64_t pixels);
/* Check a size from a file against the ceilings, then allocate the pixels. */
vitcl_status vt_picture_check(uint32_t width, uint32_t height,
                              const char *name);
vitcl_status vt_picture_new(vt_picture *out, uint32_t width, uint32_t height,
                            const char *name);

/* Orientation from a TIFF block (after "Exif\0\0"), from the hex text that
 * ImageMagick writes, or from an XMP packet; 0 where there is none. */
unsigned vt_exif_turn(const uint8_t *tiff, size_t size);
unsigned vt_exif_hex_turn(const uint8_t *text, size_t size);
unsigned vt_xmp_turn(const uint8_t *text, size_t size);

/* Part of vt_resize's result: columns x to x + w and rows y to y + h of the
 * picture that would be width * height; only that part is computed. */
vitcl_status vt_resize_part(vt_picture *out, const vt_picture *in,
                            uint32_t width, uint32_t height, vt_filter filter,
                            uint32_t x, uint32_t y, uint32_t w, uint32_t h);

#endif
