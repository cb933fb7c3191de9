/*
 * image.h - from the bytes of a picture file to the pixels that a model reads.
 *
 * decode (upright, 8-bit RGB) -> prepare (resize, crop: still 8-bit, the same
 * values as Pillow); scaling and normalising happen on the device.
 */
#ifndef VT_IMAGE_IMAGE_H
#define VT_IMAGE_IMAGE_H
#include "base/json.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The largest picture that is decoded: this many pixels (Pillow rejects twice
 * 89 million), and VT_SIDE_MAX per side. */
#define VT_PIXELS_MAX (179u * 1000 * 1000)
#define VT_SIDE_MAX 65500u

typedef struct vt_picture {
    uint32_t width, height;
    uint8_t *rgb; /* malloc'd; height * width * 3 */
} vt_picture;

/* Decodes any supported format. The EXIF orientation is applied, alpha is
 * dropped, and grey, palette, 16-bit and CMYK become RGB as with Pillow's
 * convert("RGB"). name: for messages. */
vitcl_status vt_image_decode(vt_picture *out, const void *bytes, size_t size,
                             const char *name);
/* The same, but transparent pixels are blended with white, like the HF
 * processors that convert to RGB themselves (vt_preprocess.on_white). */
vitcl_status vt_image_decode_on_white(vt_picture *out, const void *bytes,
                                      size_t size, const char *name);
void vt_picture_free(vt_picture *p);

/* What a resize in the file's own mode needs beside the RGB pixels; Pillow's
 * names of modes. */
typedef enum {
    VT_OWN_RGB,     /* nothing: RGB, or grey of 8 bits */
    VT_OWN_NUMBERS, /* P and 1: numbers of colours, which are not mixed; PA,
                     * too, of which Pillow makes a black picture */
    VT_OWN_ALPHA,   /* RGBA and LA: opacity */
    VT_OWN_CMYK,    /* four bytes, 255 is ink */
    VT_OWN_INT16,   /* I;16, as int32_t */
    VT_OWN_INT16B,  /* I;16B, whose bytes Pillow confuses as it resizes */
    VT_OWN_INT32,   /* I */
    VT_OWN_FLOAT    /* F */
} vt_own_mode;
typedef struct vt_own {
    vt_own_mode mode;
    uint8_t palette[256][3]; /* of numbers of colours */
    void *more;              /* malloc'd: of each pixel, in its mode */
} vt_own;
/* The RGB pixels, and their own mode if it is another one. */
vitcl_status vt_image_decode_own(vt_picture *out, vt_own *own,
                                 const void *bytes, size_t size,
                                 const char *name);
void vt_own_free(vt_own *own);

/* Is a failure to read or decode a picture its own? Others, such as lack of
 * memory, are not. */
bool vt_picture_broken(vitcl_status st);

/* A copy whose longer side has at most `side` pixels: each is the mean of those
 * that it covers. */
vitcl_status vt_shrink(vt_picture *out, const vt_picture *in, uint32_t side);

typedef enum { /* Pillow's numbers, as in preprocessor_config.json */
               VT_NEAREST = 0,
               VT_LANCZOS = 1,
               VT_BILINEAR = 2,
               VT_BICUBIC = 3,
               VT_BOX = 4,
               VT_HAMMING = 5
} vt_filter;
const char *vt_filter_name(vt_filter filter); /* as timm's "interpolation" */

/* Whose resize: Pillow's Image.resize, or torchvision's of 8-bit tensors, which
 * transformers may use. */
typedef enum { VT_PIXELS_PILLOW, VT_PIXELS_TORCHVISION } vt_pixels;
const char *vt_pixels_name(vt_pixels pixels);
bool vt_pixels_named(vt_pixels *out, const char *name);

/* Image.resize of Pillow 13: two 8-bit passes, 22-bit fixed-point weights; or
 * torchvision's, with 16-bit weights. */
vitcl_status vt_resize(vt_picture *out, const vt_picture *in, vt_pixels pixels,
                       uint32_t width, uint32_t height, vt_filter filter);

typedef enum {
    VT_FIT_NONE,     /* no resize */
    VT_FIT_SQUASH,   /* to exactly resize_height x resize_width */
    VT_FIT_SHORTEST, /* shortest edge to resize_height (= width), same aspect;
                      * HF: long = int(size * long / short) */
    VT_FIT_BORDER,   /* timm "border": fit inside, pad with fill */
    VT_FIT_PATCHES   /* NaFlex: about the same aspect, at most `patches` whole
                      * patches; see vt_patches_grid() */
} vt_fit;
typedef enum { VT_CROP_NONE, VT_CROP_HF, VT_CROP_TORCHVISION } vt_crop;

typedef struct vt_preprocess {
    vt_fit fit;
    vt_pixels pixels; /* torchvision: without box and hamming */
    vt_filter filter;
    vt_crop crop; /* rounding of odd margins, padding of small pictures */
    uint32_t resize_height, resize_width;
    uint32_t height, width;  /* what the model reads */
    uint8_t fill[3];         /* border */
    uint32_t patch, patches; /* of VT_FIT_PATCHES */
    bool on_white;           /* first blend transparent pixels with white */
    bool grey;               /* first make it grey, as Pillow does */
    bool own_mode;           /* resize in the file's mode, then make RGB */
    float scale;             /* rescale_factor; 1/255 */
    float mean[3], std[3];   /* x = (value * scale - mean) / std */
} vt_preprocess;

/* From a checkpoint's JSON: timm's config.json (its pretrained_cfg), or HF's
 * preprocessor_config.json (model_type: the model's, because a bare `size`
 * depends on it). height, width: the model's input size; if it differs from the
 * config's, the resize sizes are scaled as the library would. An unknown key
 * that may change pixels is an error. */
vitcl_status vt_preprocess_timm(vt_preprocess *out, const vt_json *config,
                                uint32_t height, uint32_t width,
                                const char *name);
/* VITCL_EUNSUPPORTED: p.pixels does not have p.filter. */
vitcl_status vt_preprocess_check(const vt_preprocess *p, const char *name);
/* As timm, refuses keys of a pretrained_cfg that it does not have; NULL: there
 * is none. */
vitcl_status vt_preprocess_timm_keys(const vt_json *cfg, const char *name);
/* The defaults of a processor of Hugging Face. */
typedef struct vt_processor {
    const char *name; /* before ImageProcessor or FeatureExtractor */
    const float *mean, *std;
    vt_filter filter;
    uint32_t size, crop_size; /* 0: what the model reads */
    bool shortest;            /* is the size one of the shortest edge? */
    bool number_shortest;     /* and a bare number as `size`? */
    bool crop;
    bool on_white;    /* do_convert_rgb; else alpha is dropped */
    uint32_t patches; /* NaFlex: max_num_patches */
} vt_processor;
extern const float vt_zeros[3], vt_ones[3], vt_halves[3], vt_imagenet_mean[3],
    vt_imagenet_std[3], vt_clip_mean[3], vt_clip_std[3];
typedef struct vt_processor_list {
    const vt_processor *const *all; /* lists that end without a name; NULL */
    const char *usual; /* of a model whose file names none, such as "CLIP" */
} vt_processor_list;

/* preprocessor NULL: the defaults of transformers. Says Pillow's or
 * torchvision's by the preprocessor alone. */
vitcl_status vt_preprocess_hf(vt_preprocess *out, const vt_json *preprocessor,
                              const vt_processor_list *of, uint32_t height,
                              uint32_t width, const char *name);
/* Whose resize transformers had by default when it saved these files. joined:
 * the preprocessor is a part of processor_config.json, as since transformers 5.
 * config: config.json. Both may be NULL. */
vt_pixels vt_hf_pixels(const vt_json *preprocessor, bool joined,
                       const vt_json *config);
/* The most patches that a processor of NaFlex makes, of `patch` pixels; 0: this
 * is another processor. */
vitcl_status vt_preprocess_hf_patches(uint32_t *patches,
                                      const vt_json *preprocessor,
                                      const vt_processor_list *of,
                                      uint32_t patch, const char *name);
/* The size of the pictures that this processor makes. */
vitcl_status vt_preprocess_hf_size(uint32_t *height, uint32_t *width,
                                   const vt_json *preprocessor,
                                   const vt_processor_list *of,
                                   const char *name);
/* The preprocessing of Google's .npz files, which have no config. */
void vt_preprocess_default(vt_preprocess *out, uint32_t height, uint32_t width);

/* Resizes and crops; out->rgb is height * width * 3. */
vitcl_status vt_prepare(vt_picture *out, const vt_picture *in,
                        const vt_preprocess *how);
/* The same, of a picture that is resized in its own mode. */
vitcl_status vt_prepare_own(vt_picture *out, const vt_picture *in,
                            const vt_own *own, const vt_preprocess *how);

/* Makes p one of VT_FIT_PATCHES: pictures of any aspect ratio, whose `patches`
 * patches at most are `patch` wide and high, at least 2. A prepared one has the
 * same bytes always, width * height * 3: its own rows of pixels, zeros, and in
 * the last row its grid of patches. */
void vt_preprocess_any(vt_preprocess *p, uint32_t patch, uint32_t patches);
/* The grid of a prepared one; false: it has none, or one that is too large. */
bool vt_patches_grid(uint32_t *rows, uint32_t *columns, const uint8_t *rgb,
                     const vt_preprocess *how);
/* The library's own: whole patches for a picture of height x width. */
void vt_patches_fit(uint32_t *rows, uint32_t *columns, uint32_t height,
                    uint32_t width, uint32_t patch, uint32_t patches);

/* How fine the detail of a prepared picture is: from 0, plain, to 4, chequered
 * (detail.c). */
#define VT_DETAIL_MAX 4.0
double vt_detail(const uint8_t *rgb, uint32_t height, uint32_t width);
/* The 8-bit picture of pixel values [3, height, width], as prepared. */
void vt_unnormalise(uint8_t *rgb, const float *pixels,
                    const vt_preprocess *how);

/*
 * Decoding in advance, in decoder processes that can only read, write and exit.
 * One thread pushes and takes. If a process dies (a crash in a decoder, a time
 * or memory limit), its picture gets an error message and the process is
 * replaced.
 */
typedef struct vt_decoder_pool vt_decoder_pool;
/* how NULL: whole pictures, taken with vt_pool_whole(); else prepared ones.
 * workers 0: one per core. */
vitcl_status vt_pool_new(vt_decoder_pool **out, const vt_preprocess *how,
                         unsigned workers);
/* The pool also makes a thumbnail of each picture, by vt_shrink(). how NULL:
 * that alone. side: at most VT_THUMB_MAX; 0: none. */
#define VT_THUMB_MAX 1024u
vitcl_status vt_pool_new_thumbs(vt_decoder_pool **out, const vt_preprocess *how,
                                unsigned workers, uint32_t side);
/* A pool of whole pictures with one process. on_white: as vt_preprocess has
 * it. */
vitcl_status vt_pool_new_one(vt_decoder_pool **out, bool on_white);
/* A pool of whole pictures with one process. Its memory is one share of what
 * `sharers` such pools divide; VITCL_ENOMEM if that is too little. large: it
 * gets the half that is reserved for large pictures. */
vitcl_status vt_pool_new_shared(vt_decoder_pool **out, unsigned sharers,
                                bool large);
vitcl_status vt_pool_push(vt_decoder_pool *p, const char *path);
/* Copies the bytes; name: for messages. */
vitcl_status vt_pool_push_bytes(vt_decoder_pool *p, const void *bytes,
                                size_t size, const char *name);
/* From any thread. */
unsigned vt_pool_pending(const vt_decoder_pool *p);
/* The next picture in push order: height * width * 3 bytes. rgb NULL: it is not
 * copied. */
vitcl_status vt_pool_next(uint8_t *rgb, vt_decoder_pool *p);
/* Size and time of change (ns since 1970) of the file that vt_pool_next() has
 * returned, when it was opened; -1: bytes, or it could not be opened. */
typedef struct vt_opened {
    int64_t size, changed;
} vt_opened;
vt_opened vt_pool_opened(const vt_decoder_pool *p);
/* The thumbnail of the picture that vt_pool_next() has returned. */
vitcl_status vt_pool_thumb(vt_picture *out, const vt_decoder_pool *p);
vitcl_status vt_pool_whole(vt_picture *out, vt_decoder_pool *p);
void vt_pool_free(vt_decoder_pool *p);
/* Of all decoders of this process. */
typedef struct vt_pool_notes {
    bool unlocked;    /* one had to run without seccomp */
    bool approximate; /* pixels may differ from Pillow's */
    bool clipped;     /* clipping made a picture white */
} vt_pool_notes;
vt_pool_notes vt_pool_noted(void);

#endif
