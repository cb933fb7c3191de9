/*
 * preprocess_keys.h - shared by the readers of preprocessing configs, for
 * preprocess_timm.c and preprocess_hf.c only.
 *
 * A key that could change a pixel is either applied or an error that names it.
 * A key that is null or false is ignored. name: of the file, for messages.
 */
#ifndef VT_IMAGE_PREPROCESS_KEYS_H
#define VT_IMAGE_PREPROCESS_KEYS_H
#include "image/image.h"

/* Every key must be known and harmless, or null or false. more: NULL, or other
 * known keys. */
vitcl_status vt_how_keys(const vt_json *object, const char *const *known,
                         const char *const *more, const char *name);
/* The error for a value that is not what is wanted. */
vitcl_status vt_how_wrong(const char *name, const char *key, const char *want);
bool vt_how_absent(const vt_json *v); /* missing, or null */
/* Three numbers, or one for all three; if absent, *out stays. */
vitcl_status vt_how_doubles(double out[3], const vt_json *object,
                            const char *key, const char *name);
vitcl_status vt_how_three(float out[3], const vt_json *object, const char *key,
                          const char *name);
vitcl_status vt_how_std(const vt_preprocess *p, const char *key,
                        const char *name);
/* A number of pixels. */
bool vt_how_side(uint32_t *out, const vt_json *v);
/* If absent, *out stays; null is false, as None is in Python. False on a wrong
 * type. */
bool vt_how_flag(bool *out, const vt_json *object, const char *key);
/* What the model reads. */
vitcl_status vt_how_target(uint32_t height, uint32_t width);

#endif
