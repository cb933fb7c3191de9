/*
 * fields.h - the fields of a config.json, as rows: how the type of each is
 * checked, where it is kept, what else is known, which keys are refused and
 * what is written all follow from one row.
 *
 * A row keeps its value in a vt_config, or names the member by which the
 * tensors show it: a field that nobody reads cannot be written. Keys without an
 * effect on inference are words of a class's `idle`.
 */
#ifndef VT_MODELS_FIELDS_H
#define VT_MODELS_FIELDS_H
#include "base/json_print.h"
#include "models/config.h"

#include <float.h>
#include <stddef.h>

typedef enum {
    VT_IS_SIZE = 1, /* int, from 1 */
    VT_IS_COUNT,    /* int, from 0 */
    VT_IS_SIDES,    /* two ints, also given as one or as a list */
    VT_IS_REAL,     /* float */
    VT_IS_FLAG,     /* bool */
    VT_IS_TEXT,     /* const char *, the config's */
    VT_IS_WORD,     /* int: which of the words */
    VT_IS_ACT,      /* a vt_act */
    VT_IS_SEEN,     /* the tensors show it, ... */
    VT_IS_SAME,     /* ... and a flag must say the same, ... */
    VT_IS_SCALE,    /* ... or a number, above zero for true */
    VT_IS_HEAD,     /* the width of a head, which follows from others */
    VT_IS_RATIO,    /* the tensors show it: of the MLP's width, an integer */
    VT_IS_FIXED,    /* without effect, written with this value */
    VT_IS_ONLY      /* it has only these values */
} vt_field_kind;

typedef struct vt_field {
    const char *key;
    vt_field_kind kind;
    size_t at; /* of vt_config */
    double low, high;
    int usual;         /* where the key is missing; -1: the member stays */
    const char *words; /* of VT_IS_WORD; of VT_IS_ONLY as for vt_json_only();
                        * of VT_IS_FIXED as JSON */
} vt_field;

#define VT_AT(member) offsetof(vt_config, member)
#define VT_FIELD(...)                                                          \
    {                                                                          \
        __VA_ARGS__                                                            \
    }
#define SIZE(name, member, most)                                               \
    VT_FIELD(name, VT_IS_SIZE, VT_AT(member), 1, most, -1, NULL)
#define COUNT(name, member, most, missing)                                     \
    VT_FIELD(name, VT_IS_COUNT, VT_AT(member), 0, most, missing, NULL)
#define SIDES(name, member)                                                    \
    VT_FIELD(name, VT_IS_SIDES, VT_AT(member), 0, 0, -1, NULL)
#define REAL(name, member, low, high)                                          \
    VT_FIELD(name, VT_IS_REAL, VT_AT(member), low, high, -1, NULL)
#define EPS(name) REAL(name, eps, DBL_TRUE_MIN, 1)
#define FLAG(name, member, missing)                                            \
    VT_FIELD(name, VT_IS_FLAG, VT_AT(member), 0, 0, missing, NULL)
#define TEXT(name, member)                                                     \
    VT_FIELD(name, VT_IS_TEXT, VT_AT(member), 0, 0, -1, NULL)
#define WORD(name, member, words)                                              \
    VT_FIELD(name, VT_IS_WORD, VT_AT(member), 0, 0, -1, words)
#define ACT(name) VT_FIELD(name, VT_IS_ACT, VT_AT(act), 0, 0, -1, NULL)
#define SEEN(name, member)                                                     \
    VT_FIELD(name, VT_IS_SEEN, VT_AT(member), 0, 0, -1, NULL)
#define SAME(name, member, missing)                                            \
    VT_FIELD(name, VT_IS_SAME, VT_AT(member), 0, 0, missing, NULL)
#define SCALE(name, member, missing)                                           \
    VT_FIELD(name, VT_IS_SCALE, VT_AT(member), 0, 0, missing, NULL)
#define RATIO(name) VT_FIELD(name, VT_IS_RATIO, VT_AT(mlp), 0, 0, -1, NULL)
#define FIXED(name, value) VT_FIELD(name, VT_IS_FIXED, 0, 0, 0, -1, value)
#define HEAD(name) VT_FIELD(name, VT_IS_HEAD, VT_AT(heads), 0, 0, -1, NULL)
#define ONLY(name, values) VT_FIELD(name, VT_IS_ONLY, 0, 0, 0, -1, values)
#define END VT_FIELD(NULL, 0, 0, 0, 0, 0, NULL)

/* Rows of most classes of HF, in the order in which they are written ... */
#define VT_HF_SIZES                                                            \
    SIZE("hidden_size", width, VT_MOST_WIDTH),                                 \
        SIZE("num_hidden_layers", depth, VT_MOST_DEPTH),                       \
        SIZE("num_attention_heads", heads, VT_MOST_WIDTH)
#define VT_HF_PICTURES(eps)                                                    \
    ACT("hidden_act"), EPS(eps), SIDES("image_size", height),                  \
        SIDES("patch_size", patch_h)
#define VT_HF_PLAIN                                                            \
    VT_HF_SIZES, SIZE("intermediate_size", mlp, VT_MOST_MLP),                  \
        VT_HF_PICTURES("layer_norm_eps")
/* ... and of timm. */
#define VT_TIMM_FIELDS                                                         \
    SIDES("img_size", height), SIDES("patch_size", patch_h),                   \
        ONLY("in_chans", "1|3"), SEEN("num_classes", classes),                 \
        TEXT("global_pool", said.pool),                                        \
        SIZE("embed_dim", width, VT_MOST_WIDTH),                               \
        SIZE("depth", depth, VT_MOST_DEPTH),                                   \
        SIZE("num_heads", heads, VT_MOST_WIDTH), SEEN("mlp_ratio", mlp),       \
        SEEN("qkv_bias", qkv_bias), SEEN("init_values", layer_scale),          \
        TEXT("norm_layer", said.norm), ACT("act_layer")

/* What a class reads. */
typedef struct vt_keys {
    const vt_field *fields; /* end without a key; NULL: none */
    /* Keys, with "|" between: without effect; that must have no value. */
    const char *idle, *none;
} vt_keys;

/* Those of HF's ViT, timm's ViT, and timm's Eva. */
extern const vt_keys vt_hf_vit, vt_timm_vit, vt_timm_eva;

/* Idle keys of several classes of HF, and of timm. */
#define VT_HF_DROPOUT                                                          \
    "hidden_dropout_prob|attention_probs_dropout_prob|drop_path_rate|"
#define VT_HF_BACKBONE                                                         \
    "out_features|out_indices|stage_names|_out_features|_out_indices|"         \
    "apply_layernorm|reshape_hidden_states|"
#define VT_TIMM_DROPOUT                                                        \
    "drop_rate|proj_drop_rate|attn_drop_rate|drop_path_rate|pos_drop_rate|"    \
    "patch_drop_rate|"

/* Does the class read the member? *only: its values, as for vt_json_only(). */
bool vt_field_known(const char **only, const vt_keys *k, const vt_json *v);
/* Refuses a member of another type: the default would give another model. */
vitcl_status vt_fields_check(const vt_keys *k, const vt_json *o,
                             const char *path);
/* Puts the members of o, and what is usual of missing ones, into *c. */
vitcl_status vt_fields_read(vt_config *c, const vt_keys *k, const vt_json *o,
                            const char *path);
/* Refuses what the tensors show otherwise: the library would ignore them. */
vitcl_status vt_fields_agree(const vt_config *c, const vt_keys *k,
                             const vt_json *o, const char *path);
/* Writes the members of HF's class that say what the model is, a line each. */
void vt_fields_put(vt_json_writer *w, const vt_keys *k, const vt_config *model);
/* Two numbers, or one if they are equal. */
void vt_put_sides(vt_json_writer *w, const char *key, int h, int w_px);
/* An integer r, of which such an MLP is r times as wide as the model, or if it
 * is gated 2/3 of that, rounded up to a multiple of 8; 0: none. */
int vt_mlp_ratio(const vt_config *c);

#endif
