/*
 * model.h - from a checkpoint's config and tensors to the steps of a plan.
 *
 * A family is one file and one row of vt_arch_table[] (models.c): how to
 * recognise it, how to read its config, how to write its plan. Model code
 * never sees a device.
 *
 * A model never changes once it is open: whatever a size or a layout needs is
 * worked out from the name that a plan asks for ("pos_embed@8x12", derived.c).
 */
#ifndef VT_MODELS_MODEL_H
#define VT_MODELS_MODEL_H
#include "base/json.h"
#include "ops/ops.h"
#include "weights/weights.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum {                /* how positions are resized to another grid */
               VT_POS_TIMM,   /* bicubic, antialiased */
               VT_POS_HF,     /* bicubic, to a size */
               VT_POS_DINOV2, /* bicubic by scale factor with the 0.1 offset */
               VT_POS_GOOGLE  /* corner-aligned bilinear (scipy zoom order 1) */
} vt_pos_rule;

typedef enum { VT_SOURCE_TIMM, VT_SOURCE_HF, VT_SOURCE_NPZ } vt_source;

typedef enum {
    VT_TABLE_NONE,
    VT_TABLE_LEARNT, /* [(2h-1)(2w-1) + 3 with class token, H] in the file */
    VT_TABLE_MLP     /* made from log coordinates by a small MLP */
} vt_table_kind;

typedef enum {                  /* the paper's positions (appendix D.4) */
               VT_POS_1D,       /* 1-D: a row for each token */
               VT_POS_2D,       /* 2-D: half from a column's table, half
                                 * from a row's; none for prefix tokens */
               VT_POS_RELATIVE, /* keys for offsets in row-major order that
                                 * queries look at beside the tokens' */
} vt_pos_kind;

typedef enum { /* where positions come in */
               VT_AT_STEM /* once, before the blocks */,
               VT_AT_LAYERS, /* before each block, its own */
               VT_AT_SHARED  /* before each block, the same */
} vt_pos_injection;

/* What the ViT families have in common and where they differ, in the paper's
 * and timm's words. Zero means: does not have it. */
typedef struct vt_config {
    char family[32]; /* the row of vt_arch_table[] */
    char name[128];  /* timm's architecture or HF's architectures[0] */
    vt_source source;
    int height, width_px, patch_h, patch_w; /* as trained; a hybrid's patch
                                             * counts its stem's strides */
    int width, depth, heads, mlp, classes;  /* D, L, H, MLP width, K */
    float eps;
    vt_act act;
    bool class_token, dist_token;
    int registers;
    bool norm_optional;
    bool pos_optional; /* the family may do without: set before reading */
    vt_pos_kind places;
    vt_pos_injection places_at;
    bool pos_embed; /* an absolute table of rows ... */
    int pos_prefix; /* ... whose first rows are for this many prefix tokens */
    vt_pos_rule pos_rule;
    bool proj_bias, fc_bias; /* of attention's last layer and of the MLP */
    bool patch_bias, qkv_bias, qk_norm, layer_scale, head_bias;
    bool pre_norm;            /* norm_pre before block 0 */
    bool final_norm;          /* norm on all tokens after the last block */
    bool fc_norm;             /* fc_norm after pooling */
    bool post_norm;           /* x + norm(f(x)) instead of x + f(norm(x)) */
    bool swiglu;              /* gated MLP: silu(first half) * second half */
    bool mlp_norm, attn_norm; /* EVA's and BEiT-3's inner norms */
    bool rope;
    int rope_h, rope_w; /* grid that rotary positions are scaled to */
    vt_table_kind rel_pos;
    bool rel_pos_shared; /* one for all blocks */
    bool rel_pos_swin;   /* the MLP as Swin V2 has it */
    bool attn_pool;      /* pooling by attention */
    bool pool_all;       /* ... which sees the prefix tokens, too */
    int pre_logits;      /* width of the tanh layer before the head */
    int pooler;          /* width of HF's layer on the class token ... */
    vt_act pooler_act;   /* ... of models without a head */
    vt_pool_kind pool;
    int pool_first;
    bool pool_max_mean; /* timm's "avgmax": the mean of maximum and mean */
    int projection;     /* CLIP: width of the embedding; no classes */
    int stem_stages, stem_layers[4], stem_width[5]; /* hybrid or ResNet */
    bool stem_only;  /* a stem without stages: conv, norm, pool */
    bool stem_basic; /* blocks of two 3x3 convolutions, no bottlenecks */
    bool folded;     /* BatchNorm is folded into convolutions: does not train */
} vt_config;

typedef struct vt_model vt_model;

/* path as vitcl_model_load() takes it; everything of the checkpoint is
 * checked: missing, surplus and misshapen tensors are named. */
vitcl_status vt_model_open(vt_model **out, const char *path);
/* The same from what its files hold; weights are borrowed. */
vitcl_status vt_model_open_memory(vt_model **out,
                                  const vitcl_model_files *files);
/* "vit-b/16" and so on at size x size pixels (0: 224); random weights, the
 * same for the same name. */
vitcl_status vt_model_preset(vt_model **out, const char *name, uint32_t size);
const char *vt_model_preset_name(uint32_t index);
void vt_model_close(vt_model *m);

const vt_config *vt_model_config(const vt_model *m);
const vt_weights *vt_model_weights(const vt_model *m); /* NULL: a preset */
/* NULL where there is none (presets, .npz) */
const vt_json *vt_model_json(const vt_model *m);         /* config.json */
const vt_json *vt_model_preprocessor(const vt_model *m); /* HF's */
const char *vt_model_type(const vt_model *m); /* HF model_type, "timm", ... */
/* Short label and longer name; NULL where the file has none. Hugging Face's
 * text is the label and has no longer form. */
const char *vt_model_label(const vt_model *m, uint32_t label);
const char *vt_model_longname(const vt_model *m, uint32_t label);
uint64_t vt_model_parameters(const vt_model *m);
/* Multiply-accumulates of one picture, every token through every block. */
vitcl_status vt_model_macs(double *out, const vt_model *m, int height,
                           int width);
/* Tokens in a block for a picture of this size; 0: not even one patch. */
int vt_model_tokens(const vt_model *m, int height, int width);

/* VITCL_EUNSUPPORTED, and why, for a model that only answers. */
vitcl_status vt_model_trains(const vt_model *m);

/* For vt_store_new(): context is the vt_model. */
vitcl_status vt_model_read_param(float *out, void *model, const char *name,
                                 uint64_t count);

typedef struct vt_outputs {
    vt_val features; /* [B,F]: what the head's last layer reads */
    vt_val logits;   /* [B,K]; VT_NONE without a classifier */
    vt_val patches;  /* [B,N,D]: the patches' last representations, instead of
                      * the others, where patches are corrupted */
} vt_outputs;
/* What training asks of the steps beside their gradients. */
typedef struct vt_build_options {
    float dropout, drop_path; /* shares of elements, and of pictures in the
                               * last block, that fall; not needed: 0 */
    unsigned random_state;    /* of what falls ... */
    vt_val train_step;        /* ... in this step, i32 [1]; or none */
    vt_val patch_source;      /* masked patch prediction: patches come from
                               * where this i32 [B,N] says, or are "mpp_mask";
                               * or none */
} vt_build_options;
/* Append everything from pixels[B,3,H,W] on; options: NULL for inference.
 * Values are named as the goldens name them: "embed", "block.<i>", "norm",
 * "attention.<i>", "features", "logits" and HF's output names; what the library
 * returns is kept, and so are the features. Errors stick to the plan. */
void vt_model_build(vt_plan *p, const vt_model *m, vt_val pixels,
                    const vt_build_options *options, vt_outputs *out);

/* ---- for family files ---- */
typedef struct vt_arch {
    const char *name;
    const char *looks; /* "the file looks like a <looks>" */
    /* Is this checkpoint of this family? One of the two may be NULL; without w
     * the config's name decides. */
    bool (*match)(const vt_json *config, const vt_weights *w);
    vitcl_status (*configure)(vt_config *c, const vt_json *config,
                              const vt_weights *w, const char *path);
    void (*build)(vt_plan *p, const vt_model *m, vt_val pixels,
                  const vt_build_options *o, vt_outputs *out);
} vt_arch;
extern const vt_arch vt_arch_table[]; /* ends with a NULL name */

/* A weight as f32 host memory, `count` elements; free() it. */
vitcl_status vt_model_weight(float **out, const vt_model *m, const char *name,
                             uint64_t count);
bool vt_model_has(const vt_model *m, const char *name);

#endif
