/*
 * config.h - reading configs and shapes; for the family files.
 *
 * Sizes in the config win, so that a tensor of another shape is named. Missing
 * sizes are read from the tensors.
 */
#ifndef VT_MODELS_CONFIG_H
#define VT_MODELS_CONFIG_H
#include "base/words.h"
#include "models/model.h"

/* ---- kinds of config ---- */
/* timm's architecture, or "". */
const char *vt_config_timm(const vt_json *config);
/* HF's model_type, or "" (also if timm wrote the config). */
const char *vt_config_hf(const vt_json *config);
/* The vision tower's config in HF's models of two towers (NULL: all of it is
 * default), else config. f NULL: of no family. The older spelling of CLIP's,
 * vision_config_dict, counts. */
const vt_json *vt_config_vision(const vt_family *f, const vt_json *config);

/* ---- tensors, by canonical name ---- */
bool vt_weight_has(const vt_weights *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* shape[axis] (negative: from the end); 0: no such tensor or axis. */
int vt_weight_dim(const vt_weights *w, const char *name, int axis);

enum {
    VT_MOST_PIXELS = 16384,
    VT_MOST_WIDTH = 65536,
    VT_MOST_MLP = 1 << 20,
    VT_MOST_DEPTH = 1024,
    VT_MOST_TOKENS = 4096,   /* of a text */
    VT_MOST_WORDS = 16777216 /* kinds of tokens */
};
/* A string, or "". */
const char *vt_config_text(const vt_json *o, const char *key);
/* An integer 1..most; false: missing, null or invalid; *bad is set to an
 * invalid one's key. */
bool vt_config_number(int *out, const vt_json *o, const char *key, int most,
                      const char **bad);
/* The same for 0..most. */
bool vt_config_count(int *out, const vt_json *o, const char *key, int most,
                     const char **bad);
/* 224 or [224, 224]; input_size: [3, 224, 224]. */
bool vt_config_pair(int *h, int *w, const vt_json *o, const char *key,
                    const char **bad);
vitcl_status vt_bad_number(const char *path, const char *key);
/* Checks the types of the fields that name a model, which come first: another
 * model's fields may have other types. */
vitcl_status vt_config_names(const vt_json *config, const char *path);
/* Checks the types of all fields that are read. */
vitcl_status vt_config_types(const vt_family *f, const vt_json *config,
                             const char *path);

/* Refuses keys of the config that the library's class reads and vitcl does not
 * understand (config_keys.c). c is complete. */
vitcl_status vt_config_keys(const vt_config *c, const vt_json *config,
                            const char *path);

/* Call in this order: vt_read_patch(), vt_read_flags(), the family's own
 * settings, vt_check_sizes(), vt_read_positions(). */
vitcl_status vt_read_patch(vt_config *c, const vt_weights *w, const char *path);
void vt_read_flags(vt_config *c, const vt_weights *w);
/* The patch grid of a picture. Pixels after the last whole patch are ignored,
 * as in a strided convolution; a stem pads instead. false: no whole patch. */
bool vt_config_grid(int *h, int *w, const vt_config *c, int height, int width);
/* The grid of the table of positions. */
void vt_config_pos_grid(int *h, int *w, const vt_config *c);
/* Is this the grid that the model was trained on? */
bool vt_config_native(const vt_config *c, int gh, int gw);
vitcl_status vt_check_sizes(const vt_config *c, const char *path);
/* Of HF's models that resize their positions for any picture that is not
 * square: they take the table for a square one. */
vitcl_status vt_check_square(const vt_config *c, const char *path);
vitcl_status vt_read_positions(vt_config *c, const vt_weights *w,
                               const char *path);

/* ---- configs by source ---- */
/* What the family's class reads, and the object that has it. */
const struct vt_keys *vt_config_class(const vt_family *f,
                                      const vt_json *config);
const vt_json *vt_config_own(const vt_family *f, const vt_json *config);
/* Before the others: puts the defaults of c->family, what timm's name says and
 * the config's fields into *c. config NULL: does nothing. */
vitcl_status vt_config_begin(vt_config *c, const vt_json *config,
                             const char *path);
void vt_begin_timm(vt_config *c, const vt_json *config);
vitcl_status vt_configure_timm(vt_config *c, const vt_json *config,
                               const vt_weights *w, const char *path);
vitcl_status vt_configure_hf(vt_config *c, const vt_json *config,
                             const vt_weights *w, const char *path);
vitcl_status vt_configure_npz(vt_config *c, const vt_weights *w,
                              const char *path);
/* Calls one of the three, by the source. */
vitcl_status vt_configure(vt_config *c, const vt_json *config,
                          const vt_weights *w, const char *path);
/* The paper's positions from model_args: pos_embed (timm's "learn" and "none",
 * and "2d", "relative"), pos_injection ("stem", "layer", "shared"); NULL: not
 * given. false: unknown values, or values that exclude each other. */
bool vt_config_pos(vt_pos_kind *kind, vt_pos_injection *at, bool *none,
                   const char *how, const char *where);
/* One of model_args' kinds of block; false: unknown, or for no such model. */
bool vt_config_block(vt_config *c, const char *kind);
/* Fails if model_args has groups of queries. */
vitcl_status vt_refuse_groups(const vt_json *args, const char *path);
/* The activation by timm's or HF's name. */
bool vt_act_parse(vt_act *out, const char *word);
/* The reverse; NULL: the library has none. */
const char *vt_act_hf(vt_act act);
const char *vt_act_timm(vt_act act);
/* Does `name` contain any of these strings (NULL-ended)? */
bool vt_name_has(const char *name, const char *const *any);

#endif
