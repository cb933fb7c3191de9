/*
 * open_clip.h - the picture tower of a folder of open_clip; for host/models
 * only.
 */
#ifndef VT_MODELS_OPEN_CLIP_H
#define VT_MODELS_OPEN_CLIP_H
#include "base/json.h"

/* open_clip_config.json as timm's config of its picture tower, with the key
 * "open_clip". */
vitcl_status vt_open_clip_picture(vt_json **out, const vt_json *config,
                                  const char *path);

#endif
