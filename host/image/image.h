/*
 * image.h - from a picture file's bytes to the pixels that a model reads.
 *
 * decode (upright, 8-bit RGB) -> prepare (resize, crop: still 8-bit, Pillow's
 * own numbers); scaling and normalising happen on the device.
 */
#ifndef VT_IMAGE_IMAGE_H
#define VT_IMAGE_IMAGE_H
#include "base/json.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No picture above this many pixels is decoded (Pillow refuses at twice 89
 * million), nor one with a side above VT_SIDE_MAX. */
#define VT_PIXELS_MAX (179u * 1000 * 1000)
#define VT_SIDE_MAX 65500u

typedef struct vt_picture {
    uint32_t width, height;
    uint8_t *rgb; /* malloc'd; height * width * 3 */
} vt_picture;

/* Decode whatever format the bytes are in; EXIF orientation is applied, alpha
 * is dropped, grey, palette, 16-bit and CMYK become RGB as Pillow's
 * convert("RGB") makes them. name: for messages. */
vitcl_status vt_image_decode(vt_picture *out, const void *bytes, size_t size,
                             const char *name);
/* The same, but what is transparent is laid on white, as the processors of
 * transformers do that convert to RGB themselves (vt_preprocess.on_white). */
vitcl_status vt_image_decode_on_white(vt_picture *out, const void *bytes,
                                      size_t size, const char *name);
void vt_picture_free(vt_picture *p);

typedef enum { /* numbers are Pillow's, as preprocessor_config.json has them */
               VT_NEAREST = 0,
               VT_LANCZOS = 1,
               VT_BILINEAR = 2,
               VT_BICUBIC = 3,
               VT_BOX = 4,
               VT_HAMMING = 5
} vt_filter;

/* Image.resize of Pillow 13: two 8-bit passes, 22-bit fixed-point weights. */
vitcl_status vt_resize(vt_picture *out, const vt_picture *in, uint32_t width,
                       uint32_t height, vt_filter filter);

typedef enum {
    VT_FIT_NONE,     /* no resize */
    VT_FIT_SQUASH,   /* to exactly resize_height x resize_width */
    VT_FIT_SHORTEST, /* shortest edge to resize_height (= width), keep aspect;
                      * HF: long = int(size * long / short) */
    VT_FIT_BORDER    /* timm "border": fit inside, pad with fill */
} vt_fit;
typedef enum { VT_CROP_NONE, VT_CROP_HF, VT_CROP_TORCHVISION } vt_crop;

typedef struct vt_preprocess {
    vt_fit fit;
    vt_filter filter;
    vt_crop crop; /* how an odd margin is rounded, and how small is padded */
    uint32_t resize_height, resize_width;
    uint32_t height, width; /* what the model reads */
    uint8_t fill[3];        /* border */
    bool on_white; /* lay what is transparent on white before all this */
    float scale;   /* rescale_factor; 1/255 */
    float mean[3], std[3]; /* x = (value * scale - mean) / std */
} vt_preprocess;

/* From a checkpoint's JSON: timm's config.json (its pretrained_cfg), or HF's
 * preprocessor_config.json (model_type: the model's, since a bare `size` means
 * different things). height, width: the picture the model reads now; when they
 * differ from the config's own size, resize sizes scale along as the library
 * would do it. An unknown key that changes pixels is an error. */
vitcl_status vt_preprocess_timm(vt_preprocess *out, const vt_json *config,
                                uint32_t height, uint32_t width,
                                const char *name);
/* preprocessor NULL: what transformers does for that type by itself. */
vitcl_status vt_preprocess_hf(vt_preprocess *out, const vt_json *preprocessor,
                              const char *model_type, uint32_t height,
                              uint32_t width, const char *name);
/* The size of the pictures that such a processor gives. */
vitcl_status vt_preprocess_hf_size(uint32_t *height, uint32_t *width,
                                   const vt_json *preprocessor,
                                   const char *model_type, const char *name);
/* As Google's .npz files want it, which have no config. */
void vt_preprocess_default(vt_preprocess *out, uint32_t height, uint32_t width);

/* Resize and crop; out->rgb is height * width * 3. */
vitcl_status vt_prepare(vt_picture *out, const vt_picture *in,
                        const vt_preprocess *how);

/*
 * Decoding ahead, in decoder processes that may only read, write and exit. One
 * thread pushes and takes. A process that dies (a crash in a decoder, a time
 * or memory limit) costs its picture an error line and is replaced.
 */
typedef struct vt_decoder_pool vt_decoder_pool;
/* how NULL: whole pictures, taken by vt_pool_whole(); else as it makes them.
 * workers 0: one a core. */
vitcl_status vt_pool_new(vt_decoder_pool **out, const vt_preprocess *how,
                         unsigned workers);
/* Whole pictures by one process that has its part of the memory that `sharers`
 * such pools share, and says VITCL_ENOMEM where that is not enough; large: one
 * with the half that is kept for such pictures. */
vitcl_status vt_pool_new_shared(vt_decoder_pool **out, unsigned sharers,
                                bool large);
vitcl_status vt_pool_push(vt_decoder_pool *p, const char *path);
/* The bytes are copied; name: for messages. */
vitcl_status vt_pool_push_bytes(vt_decoder_pool *p, const void *bytes,
                                size_t size, const char *name);
unsigned vt_pool_pending(const vt_decoder_pool *p);
/* Next picture in the order of the pushes: height * width * 3 bytes. */
vitcl_status vt_pool_next(uint8_t *rgb, vt_decoder_pool *p);
vitcl_status vt_pool_whole(vt_picture *out, vt_decoder_pool *p);
void vt_pool_free(vt_decoder_pool *p);
/* Has a decoder of this process had to work without its filter? */
bool vt_pool_unlocked(void);

#endif
