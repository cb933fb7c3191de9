/*
 * timm.h - a model as timm has it: for converting and for training.
 */
#ifndef VT_CONVERT_TIMM_H
#define VT_CONVERT_TIMM_H
#include "image/image.h"
#include "models/family.h"

#include <stdio.h>

/* ---- a model of ours in timm's words ---- */

/* What the model has and no model of timm's: only vitcl can load it. NULL:
 * nothing. */
const char *vt_timm_lacks(const vt_model *m);
/* Tables of relative positions for a grid that is not square, which timm and HF
 * read in different ways. */
bool vt_timm_oblong(const vt_config *c);
const char *vt_timm_pool(const vt_config *c); /* global_pool */
bool vt_same_eps(float a, float b);
/* The members of model_args, for pictures of this size and the constructor of
 * vt_writing_of(). VITCL_EUNSUPPORTED if that has another layer_norm_eps, for
 * which it has no argument. path: for the message. */
vitcl_status vt_timm_args_new(char **out, const vt_config *c,
                              bool no_embed_class, int height, int width,
                              const char *path);

/* ---- config.json ---- */

typedef struct vt_timm_config {
    /* A file to be published: also fields that timm writes and nobody needs, a
     * line for each label, and crop_pct with all digits. */
    bool full;
    const char *architecture, *pool;
    uint32_t classes;
    int features;     /* num_features; 0: left out */
    const char *args; /* members of model_args; "" or NULL: none */
    const char *more; /* further members at the top, "\n  \"a\": 1" */
    int height, width;
    vt_preprocess how;
    double crop_pct;                     /* 0: from `how` */
    const char *first_conv, *classifier; /* of tensors, the second as JSON;
                                          * NULL: a ViT's */
    uint32_t labels;                     /* 0: none */
    const char *(*label)(const void *of, uint32_t index);
    const char *(*description)(const void *of, uint32_t index); /* or NULL */
    const void *of;
    const char *problem;    /* problem_type, which timm ignores; NULL: none */
    vt_certainty certainty; /* temperature 0: none */
} vt_timm_config;
/* The one writer; errors stay in the stream. */
void vt_timm_config_write(FILE *f, const vt_timm_config *c);

#endif
