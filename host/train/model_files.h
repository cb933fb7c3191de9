/*
 * model_files.h - the files of a model folder to be written: config.json in
 * timm's form and every tensor under timm's name, as vitcl, timm and HF's timm
 * wrapper load it.
 *
 *   random     from a preset or a config, every parameter random
 *   finetune   from an existing model: a new head of zeros, perhaps another
 *              picture size
 *
 * Every training starts from such a folder, so that a folder that cannot be
 * loaded is found before the first step.
 */
#ifndef VT_TRAIN_MODEL_FILES_H
#define VT_TRAIN_MODEL_FILES_H
#include "convert/timm.h"
#include "data/dataset.h"
#include "image/image.h"
#include "models/model.h"

#include <stdio.h>

typedef struct vt_model_files {
    char *config;
    vt_tensor *tensor; /* f32; owns names and data */
    size_t count, cap;
} vt_model_files;

void vt_model_files_free(vt_model_files *p);
/* *data: the new tensor's elements, zeroed, for the caller to fill. */
vitcl_status vt_model_files_add(float **data, vt_model_files *p,
                                const char *name, uint32_t rank,
                                const uint64_t *shape);
/* Writes config.json, then model.safetensors; the folder must exist. */
vitcl_status vt_model_files_write(const vt_model_files *p, const char *folder);

/* json: a config.json in timm's form, or NULL to use the preset. height or
 * width 0: the config's own. The classes are the dataset's. d NULL: no classes,
 * but "mpp_mask" and "mpp_head" for masked patch prediction. */
vitcl_status vt_model_files_random(vt_model_files *out, const char *preset,
                                   const vt_json *json, const char *path,
                                   uint32_t height, uint32_t width,
                                   const vt_dataset *d, uint64_t random_state);
/* Whether m can be written in timm's form as it is; others must be converted
 * first. */
bool vt_model_files_finetunes(const vt_model *m);
/* All weights of m except its head, which becomes zeros. */
vitcl_status vt_model_files_finetune(vt_model_files *out, vt_model *m,
                                     uint32_t height, uint32_t width,
                                     const vt_dataset *d);

/* The text of config.json; the classes are the dataset's. d NULL: none. */
vitcl_status vt_model_files_config(char **out, vt_timm_config *c,
                                   const vt_dataset *d);

#endif
