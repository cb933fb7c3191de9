/*
 * convert.h - the configs of converted weights: for convert.c.
 */
#ifndef VT_CONVERT_CONVERT_H
#define VT_CONVERT_CONVERT_H
#include "convert/export.h"
#include "image/image.h"
#include "models/model.h"

#include <stdio.h>

/* The model's names in the target library. */
typedef struct vt_target {
    vt_export_to to;
    const char *type;         /* timm: architecture; HF: model_type */
    const char *architecture; /* HF's class */
    const char *prefix;       /* of HF's names */
    bool no_embed_class; /* timm: pos_embed has no rows for prefix tokens */
} vt_target;

/* config.json of each library. */
void vt_convert_timm(FILE *f, const vt_model *m, const vt_target *t,
                     const vt_preprocess *how);
void vt_convert_hf(FILE *f, const vt_model *m, const vt_target *t);
/* preprocessor_config.json */
void vt_convert_preprocessor(FILE *f, const vt_preprocess *how);

#endif
