/*
 * derived.h - parameters that are not in the file in this form.
 *
 * name@HxW    pos_embed or a relative table on a grid of H x W patches
 *             (pos_embed_x, pos_embed_y: along their own axis), or, made of
 *             pos_embed.x and .y, the sum of a row of each
 * name@std    a standardised convolution: zero mean, unit variance per filter
 * name@bn     a convolution's weight or bias with its BatchNorm folded in
 * name@groups, @first, @second, @init: those of diff.c
 */
#ifndef VT_MODELS_DERIVED_H
#define VT_MODELS_DERIVED_H
#include "models/model.h"

/* Parses name@HxW; returns the length of the plain name, 0: another form. */
size_t vt_name_grid(const char *name, int *h, int *w);
/* The same for name@bn. */
size_t vt_name_folded(const char *name);
/* A parameter of the file. A preset has random weights, close to normal, scales
 * 1 and biases 0. */
vitcl_status vt_stored_read(float *out, const vt_model *m, const char *name,
                            uint64_t count);
/* The same in allocated memory. */
vitcl_status vt_stored_weight(float **out, const vt_model *m, const char *name,
                              uint64_t count);
/* Allocates memory for `count` elements of a parameter. */
vitcl_status vt_weight_room(float **out, const char *name, uint64_t count);

/* A table of relative positions, computed by timm's RelPosMlp. */
vitcl_status vt_relpos_mlp(float *out, const vt_model *m, const char *prefix,
                           int h, int w, uint64_t count);

/* ---- diff.c ---- */
/* The length of the plain name of a parameter of diff.c; 0: another one. */
size_t vt_name_attention(const char *name);
vitcl_status vt_attention_derive(float *out, const vt_model *m,
                                 const char *name, uint64_t count);

/* ---- batchnorm.c ---- */
#define VT_BATCHNORM_PARTS 4
/* The names of the tensors of a convolution's norm: weight, bias, running_mean,
 * running_var. conv: the name of the convolution's weight or bias. */
void vt_batchnorm_name(char *out, size_t size, const char *conv, int part);
vitcl_status vt_batchnorm_derive(float *out, const vt_model *m,
                                 const char *conv, uint64_t count);

#endif
