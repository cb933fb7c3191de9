/*
 * convert.h - a model in the words of the target library: for this folder.
 */
#ifndef VT_CONVERT_CONVERT_H
#define VT_CONVERT_CONVERT_H
#include "convert/export.h"
#include "image/image.h"
#include "models/family.h"

#include <stdio.h>

/* The model's names in the target library. */
typedef struct vt_target {
    const vt_writing *as;
    const char *architecture; /* HF's class */
    const char *prefix;       /* of HF's names */
    bool no_embed_class; /* timm: pos_embed has no rows for prefix tokens */
} vt_target;

/* ---- hf.c ---- */
/* path: for messages. */
vitcl_status vt_hf_target(vt_target *out, const vt_model *m, const char *path);
/* config.json, preprocessor_config.json */
void vt_hf_config(FILE *f, const vt_model *m, const vt_target *t);
void vt_hf_preprocessor(FILE *f, const vt_preprocess *how);
/* A class's label; NULL if there is none, or one that transformers made up. */
const char *vt_hf_label(const vt_model *m, uint32_t index);

#endif
