/*
 * derived.h - parameters that no file holds as such.
 *
 * name@HxW    pos_embed or a relative table on a grid of H x W patches
 *             (pos_embed_x, pos_embed_y: along their own axis)
 * name@std    a standardised convolution: zero mean, unit variance a filter
 * name@bn     a convolution's weight or bias with the BatchNorm behind it in it
 */
#ifndef VT_MODELS_DERIVED_H
#define VT_MODELS_DERIVED_H
#include "models/model.h"

/* Splits name@HxW; 0: not of that form, else the length of the plain name. */
size_t vt_name_grid(const char *name, int *h, int *w);
/* ... and name@std. */
size_t vt_name_standard(const char *name);
/* ... and name@bn. */
size_t vt_name_folded(const char *name);
/* A parameter that the file holds; a preset's: small normal-like weights,
 * scales 1, biases 0. */
vitcl_status vt_stored_read(float *out, const vt_model *m, const char *name,
                            uint64_t count);
/* The same in memory of its own. */
vitcl_status vt_stored_weight(float **out, const vt_model *m, const char *name,
                              uint64_t count);
/* Memory for so many elements of a parameter. */
vitcl_status vt_weight_room(float **out, const char *name, uint64_t count);

/* A table of relative positions made by timm's RelPosMlp. */
vitcl_status vt_relpos_mlp(float *out, const vt_model *m, const char *prefix,
                           int h, int w, uint64_t count);

/* ---- batchnorm.c ---- */
#define VT_BATCHNORM_PARTS 4
/* The tensors of the norm behind a convolution, by its weight's or bias's
 * name: weight, bias, running_mean, running_var. */
void vt_batchnorm_name(char *out, size_t size, const char *conv, int part);
vitcl_status vt_batchnorm_fetch(float *out, const vt_model *m, const char *conv,
                                uint64_t count);

#endif
