/*
 * augment.h - random changes that keep a picture's class.
 *
 * All randomness comes from a vt_random, so a picture's change is a function of
 * (random state, epoch, picture) and does not depend on which thread made it.
 * Input and output are 8-bit RGB, as in Pillow and torchvision.
 */
#ifndef VT_DATA_AUGMENT_H
#define VT_DATA_AUGMENT_H
#include "base/json.h"
#include "base/random.h"
#include "image/image.h"

/* How much an operation of RandAugment does at a level: as in torchvision, or
 * as in timm's auto_augment.py, where with `inc1` more is always stronger. */
typedef enum { VT_LEVELS, VT_LEVELS_TIMM, VT_LEVELS_TIMM_INC } vt_levels;

typedef struct vt_augment {
    double crop_scale; /* random resized crop: smallest share of the area; 0:
                             off */
    int pad;           /* crop with padding: pixels a side; 0: off */
    bool flip;         /* left-right with probability 1/2 */
    double jitter;     /* brightness, contrast, saturation: +- share */
    int randaugment;   /* number of random operations */
    double magnitude;  /* their strength, 0 to 1 (RandAugment's M / 10) */
    vt_levels levels;
    /* timm's: the standard deviation of the strength (INFINITY: uniform up to
     * it), its maximum, and the probability of each operation */
    double spread, most, chance;
    double erase;         /* probability of random erasing */
    double mixup, cutmix; /* alphas of Beta; 0: off */
    double mixup_prob;    /* share of batches to mix */
} vt_augment;

/* "none", "crop", "light" (crop, flip) or "full" (everything) for pictures of
 * height x width: small ones are padded and cropped, others cropped and
 * resized. False: unknown name. */
bool vt_augment_named(vt_augment *out, const char *name, uint32_t height,
                      uint32_t width);
/* Overrides from the settings, mostly with timm's names: color_jitter, aa
 * (number of RandAugment operations, or timm's string), magnitude, reprob,
 * mixup, cutmix, mixup_prob. name is for messages. */
vitcl_status vt_augment_change(vt_augment *out, const vt_json *settings,
                               const char *name);
/* Whether any change applies to single pictures (not to batches). */
bool vt_augment_any(const vt_augment *how);

/* in (any size) -> out, width x height. */
vitcl_status vt_augment_picture(vt_picture *out, const vt_picture *in,
                                uint32_t width, uint32_t height,
                                vt_pixels pixels, vt_filter filter,
                                const vt_augment *how, vt_random *r);

/* Reads timm's string for RandAugment, such as rand-m9-mstd0.5-inc1. */
vitcl_status vt_augment_rand(vt_augment *out, const char *text,
                             const char *name);

/* One of RandAugment's operations, in place; level 0..1, sign +1 or -1. */
typedef enum {
    VT_AUTOCONTRAST,
    VT_EQUALIZE,
    VT_ROTATE,
    VT_SOLARIZE,
    VT_COLOR,
    VT_POSTERIZE,
    VT_CONTRAST,
    VT_BRIGHTNESS,
    VT_SHARPNESS,
    VT_SHEAR_X,
    VT_SHEAR_Y,
    VT_TRANSLATE_X,
    VT_TRANSLATE_Y,
    VT_AUGMENT_OPS,
    VT_INVERT = VT_AUGMENT_OPS, /* only timm's */
    VT_SOLARIZE_ADD,
    VT_TIMM_OPS
} vt_augment_op;
/* How many there are to choose from. */
int vt_augment_ops(vt_levels levels);
/* How much: degrees, a threshold, bits, a factor, a share of the side. */
double vt_augment_argument(vt_augment_op op, double level, int sign,
                           vt_levels levels);
vitcl_status vt_augment_apply(vt_picture *p, vt_augment_op op, double level,
                              int sign, vt_levels levels);
/* Does the sign change what it does? */
bool vt_augment_signed(vt_augment_op op, vt_levels levels);
enum { VT_AUGMENT_NAME = 40 };
/* Its name and how much, such as "rotate +27 deg". */
void vt_augment_describe(char out[VT_AUGMENT_NAME], vt_augment_op op,
                         double level, int sign, vt_levels levels);
/* Pillow's ImageEnhance.Color, Contrast, Brightness with a factor. */
void vt_enhance(vt_picture *p, vt_augment_op op, double factor);

/* Mixup (arXiv 1710.09412) or cutmix (arXiv 1905.04899) of a whole batch with
 * itself reversed, as timm does it; pixels[B,3,H,W] and targets[B,K] change. */
void vt_mix_batch(float *pixels, float *targets, int batch, int height,
                  int width, int classes, const vt_augment *how, vt_random *r);

#endif
