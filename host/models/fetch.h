/*
 * fetch.h - parameters that no file holds as such; for models.c.
 *
 * name@HxW    pos_embed or a relative table on a grid of H x W patches
 *             (pos_embed_x, pos_embed_y: along their own axis)
 * name@std    a standardised convolution: zero mean, unit variance a filter
 */
#ifndef VT_MODELS_FETCH_H
#define VT_MODELS_FETCH_H
#include "models/model.h"

struct vt_model {
    vt_config config;
    const vt_arch *arch;
    vt_weights *weights; /* NULL: a preset */
    vt_json *json, *processor_file;
    const vt_json *preprocessor; /* in it */
    char *path;
    const char *type;
    const char **label, **longname; /* borrowed from json */
    uint32_t labels;
    uint64_t parameters;
};

/* Splits name@HxW; 0: not of that form, else the length of the plain name. */
size_t vt_name_grid(const char *name, int *h, int *w);
/* ... and name@std. */
size_t vt_name_standard(const char *name);
const vt_arch *vt_arch_find(const char *name);
/* Holds the file against the plan, counts parameters. */
vitcl_status vt_model_check(vt_model *m);
/* A preset's parameter: small normal-like weights, scales 1, biases 0. */
void vt_random_weights(float *out, const char *name, uint64_t count);

/* A table of relative positions made by timm's RelPosMlp. */
vitcl_status vt_relpos_mlp(float *out, vt_model *m, const char *prefix, int h,
                           int w, uint64_t count);

#endif
