/*
 * decoders.h - what the picture decoders share; decode.c has their table.
 *
 * A decoder gets the whole file. It fills `out` with the RGB pixels as stored
 * and sets *orientation to the EXIF orientation (1 to 8; 0: none), which
 * decode.c applies.
 */
#ifndef VT_IMAGE_DECODERS_H
#define VT_IMAGE_DECODERS_H
#include "image/image.h"

typedef struct vt_decode_as {
    bool on_white; /* blend transparent pixels with white; else drop the alpha
                    * channel */
    vt_own *own;   /* NULL: RGB is enough; else it is filled by vt_own_new() */
} vt_decode_as;
typedef vitcl_status vt_decode_fn(vt_picture *out, unsigned *orientation,
                                  const uint8_t *data, size_t size,
                                  const vt_decode_as *as, const char *name);
vt_decode_fn vt_decode_jpeg, vt_decode_png, vt_decode_bmp, vt_decode_psd,
    vt_decode_pnm, vt_decode_tga;
/* Of vitcl-decode-all, each in builds that have its library. */
vt_decode_fn vt_decode_webp, vt_decode_gif, vt_decode_tiff, vt_decode_heif,
    vt_decode_raw;
void vt_heif_start(void); /* loads libheif's plugins */

/* ---- picture.c ---- */
/* Reads an unsigned number of at most four bytes. */
uint32_t vt_read_number(const uint8_t *p, unsigned bytes, bool big_endian);
/* Sets the mode, and allocates what it needs beside the RGB pixels. */
vitcl_status vt_own_new(vt_own *own, vt_own_mode mode, uint32_t width,
                        uint32_t height, const char *name);
/* The bytes of a pixel in own->more. */
size_t vt_own_bytes(vt_own_mode mode);
/* Does with the opacity of pixel i what is asked for; own->mode is
 * VT_OWN_ALPHA. */
void vt_opacity(uint8_t rgb[3], const vt_decode_as *as, size_t i,
                uint8_t alpha);
/* Pillow's cmyk2rgb. */
void vt_cmyk_to_rgb(uint8_t *rgb, const uint8_t *cmyk, size_t n);
/* Blends a pixel of this opacity with white, with the rounding of Pillow's
 * alpha_composite. */
void vt_lay_on_white(uint8_t rgb[3], uint8_t alpha);
/* Sets the pixel limit of the process; the default is VT_PIXELS_MAX. */
void vt_picture_limit(uint64_t pixels);
/* Checks a size from a file against the limits, then allocates the pixels. */
vitcl_status vt_picture_check(uint32_t width, uint32_t height,
                              const char *name);
vitcl_status vt_picture_new(vt_picture *out, uint32_t width, uint32_t height,
                            const char *name);

/* What a decoder reports of a picture beside its pixels. */
enum {
    VT_NOTE_APPROXIMATE = 1, /* pixels may differ from Pillow's */
    VT_NOTE_CLIPPED = 2, /* grey of more than 8 bits, clipped at 255; decode.c
                          * drops it if most pixels are not white */
    VT_NOTE_NO_ROOM = 4  /* to return the pixels: no error of the picture */
};
void vt_picture_note(unsigned note);
/* Those since the last call. */
unsigned vt_picture_notes(void);

/* ---- png_chunks.c ---- */
typedef struct vt_png_chunks {
    uint8_t palette[256][3]; /* entries not in the file are black */
    uint8_t trns[256];       /* tRNS: opacities of a palette, or a colour */
    size_t trns_size;
    unsigned orientation;
} vt_png_chunks;
/* Checks the chunks before the picture data, and looks for an orientation
 * before and after it. `out` begins as zeros. */
vitcl_status vt_png_walk(vt_png_chunks *out, const uint8_t *d, size_t size,
                         const char *name);

/* ---- exif.c ---- */
/* The orientation from an EXIF block with up to `names` times "Exif\0\0" before
 * it, from ImageMagick's hex text of one, from a TIFF file, or from an XMP
 * packet; 0: none. */
unsigned vt_exif_orientation(const uint8_t *exif, size_t size, unsigned names);
/* The segments APP1 of a JPEG before its first scan, added one by one. As in
 * Pillow, those of EXIF are one block, one behind the other, and of XMP the
 * last packet counts. vt_app1_orientation() also frees what was added. */
typedef struct vt_app1 {
    uint8_t *exif;
    size_t size;
    unsigned xmp; /* orientation */
} vt_app1;
vitcl_status vt_app1_add(vt_app1 *a, const uint8_t *body, size_t n);
unsigned vt_app1_orientation(vt_app1 *a);
vitcl_status vt_exif_hex_orientation(unsigned *out, const uint8_t *text,
                                     size_t size);
unsigned vt_tiff_orientation(const uint8_t *tiff, size_t size);
/* Does this TIFF say that its pixels are numbers of colours? */
bool vt_tiff_has_palette(const uint8_t *tiff, size_t size);
unsigned vt_xmp_orientation(const uint8_t *text, size_t size);
/* Is this TIFF a camera's RAW file? */
bool vt_tiff_is_raw(const uint8_t *tiff, size_t size);

/* ---- resize.c ---- */
/* An axis that is resized from `in` to `out`. */
typedef struct vt_resize_axis {
    vt_pixels pixels;
    vt_filter filter;
    uint32_t in, out;
} vt_resize_axis;
/* The most weights of one output. */
size_t vt_resize_room(const vt_resize_axis *a);
/* The weights of output i, whose sum is 1. Returns how many: at most `room`. */
uint32_t vt_resize_weights(double *w, uint32_t *first, const vt_resize_axis *a,
                           uint32_t i, size_t room);
/* Does the pass over the rows come before that over the columns? */
bool vt_across_first(const vt_resize_axis *across, const vt_resize_axis *down);
/* A part of a resized picture of width * height pixels: columns x to x + w and
 * rows y to y + h. Only that part is computed. */
vitcl_status vt_resize_part(vt_picture *out, const vt_picture *in,
                            vt_pixels pixels, uint32_t width, uint32_t height,
                            vt_filter filter, uint32_t x, uint32_t y,
                            uint32_t w, uint32_t h);
/* The same of bytes instead of RGB pixels: `each` to a pixel, the order of
 * Pillow's own bytes. out: w * h * each. */
vitcl_status vt_resize_bytes(uint8_t *out, const uint8_t *in, size_t each,
                             const vt_resize_axis *ax, const vt_resize_axis *ay,
                             uint32_t x, uint32_t y, uint32_t w, uint32_t h);

/* ---- own.c ---- */
/* vt_resize_part() of Pillow, of a picture in its own mode, as RGB. */
vitcl_status vt_own_part(vt_picture *out, const vt_picture *in,
                         const vt_own *own, uint32_t width, uint32_t height,
                         vt_filter filter, uint32_t x, uint32_t y, uint32_t w,
                         uint32_t h);
/* A border whose numbers in that mode are all `fill`, as RGB. */
void vt_own_fill(uint8_t rgb[3], const vt_own *own, uint8_t fill);

#endif
