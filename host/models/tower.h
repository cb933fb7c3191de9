/*
 * tower.h - the files and configs of text towers; for host/models only.
 */
#ifndef VT_MODELS_TOWER_H
#define VT_MODELS_TOWER_H
#include "models/model.h"

typedef struct vt_tower_files {
    vt_tensors *raw;
    vt_json *config;
    bool open_clip; /* it is open_clip_config.json, else config.json */
} vt_tower_files;
/* Both are the caller's, also after an error. */
vitcl_status vt_tower_find(vt_tower_files *out, const char *path);

vitcl_status vt_tower_hf(vt_config *c, const vt_json *config, const char *path);
/* ---- open_clip.c ---- */
vitcl_status vt_tower_open_clip(vt_config *c, const vt_json *config,
                                const vt_weights *w, const char *path);

#endif
