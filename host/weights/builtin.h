/*
 * builtin.h - the checkpoint that is embedded in the library (models/), so that
 * a picture can be classified without a download.
 */
#ifndef VT_WEIGHTS_BUILTIN_H
#define VT_WEIGHTS_BUILTIN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct vt_builtin {
    const uint8_t *weights; /* model.safetensors */
    size_t weights_size;
    const char *config; /* config.json, timm's */
    size_t config_size;
} vt_builtin;

/* false: `path` names a file or folder, not the library's own model. */
bool vt_builtin_find(vt_builtin *out, const char *path);

#endif
