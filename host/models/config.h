/*
 * config.h - reading configs and shapes; for the family files.
 *
 * The sizes that a config states are believed, so that a tensor of another
 * shape is named; what it leaves out is taken from the tensors.
 */
#ifndef VT_MODELS_CONFIG_H
#define VT_MODELS_CONFIG_H
#include "models/model.h"

/* ---- what a config is ---- */
/* timm's architecture, or "" */
const char *vt_config_timm(const vt_json *config);
/* HF's model_type, or "" (also where timm wrote the config) */
const char *vt_config_hf(const vt_json *config);
/* HF's vision tower inside a model of two towers, else config itself. */
const vt_json *vt_config_vision(const vt_json *config);

/* ---- what a file holds, after renaming ---- */
bool vt_weight_has(const vt_weights *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* shape[axis] (negative: from the end) of a canonical name; 0: not there. */
int vt_weight_dim(const vt_weights *w, const char *name, int axis);

enum {
    VT_MOST_PIXELS = 16384,
    VT_MOST_WIDTH = 65536,
    VT_MOST_MLP = 1 << 20,
    VT_MOST_DEPTH = 1024
};
/* A string, or "". */
const char *vt_config_text(const vt_json *o, const char *key);
/* An integer 1..most; false: not there or null; `bad` names a wrong one. */
bool vt_config_number(int *out, const vt_json *o, const char *key, int most,
                      const char **bad);
/* The same from 0 on. */
bool vt_config_count(int *out, const vt_json *o, const char *key, int most,
                     const char **bad);
/* 224 or [224, 224] (or [3, 224, 224]: the last two). */
bool vt_config_pair(int *h, int *w, const vt_json *o, const char *key,
                    const char **bad);
vitcl_status vt_bad_number(const char *path, const char *key);
/* Is every field that is read of the type that it must have? */
vitcl_status vt_config_types(const vt_json *config, const char *path);

/* In this order: the width and the patch; what there is; (the family's own
 * choices;) whether sizes fit; what the positions cover. */
vitcl_status vt_read_patch(vt_config *c, const vt_weights *w, const char *path);
void vt_read_flags(vt_config *c, const vt_weights *w);
/* The patches of a picture: pixels beyond the last whole one are not seen, as
 * in a strided convolution. A stem pads instead. false: not one patch. */
bool vt_config_grid(int *h, int *w, const vt_config *c, int height, int width);
/* Is this the grid that the model was trained on? */
bool vt_config_native(const vt_config *c, int gh, int gw);
vitcl_status vt_check_sizes(const vt_config *c, const char *path);
vitcl_status vt_read_positions(vt_config *c, const vt_weights *w,
                               const char *path);

/* ---- the bases that families start from ---- */
vitcl_status vt_configure_timm(vt_config *c, const vt_json *config,
                               const vt_weights *w, const char *path);
/* eps and act: what the family's library takes where the file says nothing */
vitcl_status vt_configure_hf(vt_config *c, const vt_json *config,
                             const vt_weights *w, const char *path, float eps,
                             vt_act act);
vitcl_status vt_configure_npz(vt_config *c, const vt_weights *w,
                              const char *path);
/* By the source: one of the three. */
vitcl_status vt_configure(vt_config *c, const vt_json *config,
                          const vt_weights *w, const char *path, float eps,
                          vt_act act);
/* The paper's positions by model_args' words: "pos_embed" (timm's "learn" and
 * "none", and "2d", "relative"), "pos_injection" ("stem", "layer", "shared").
 * false: other words, or such as exclude each other. */
bool vt_config_pos(vt_pos_kind *kind, vt_pos_injection *at, bool *none,
                   const vt_json *args);
/* Activation by timm's or HF's word. */
bool vt_act_parse(vt_act *out, const char *word);

/* timm names compared without their prefix or size: does `name` contain any
 * of these (NULL-ended)? */
bool vt_name_has(const char *name, const char *const *any);

#endif
