/*
 * model.h - from a checkpoint's config and tensors to the steps of a plan.
 *
 * A family is one file, with a record of all that others must know of it, and
 * one row of VT_FAMILIES (family.h). Model code never uses a device.
 *
 * An open model is immutable. A parameter for another size or layout is derived
 * from the name that a plan uses ("pos_embed@8x12", derived.c).
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
               VT_POS_OFFSET, /* bicubic by scale factor with the 0.1 offset */
               VT_POS_GOOGLE, /* bilinear, corners aligned (scipy zoom 1) */
               VT_POS_LINEAR, /* bilinear */
               VT_POS_SMOOTH  /* bilinear, antialiased */
} vt_pos_rule;

typedef enum { VT_SOURCE_TIMM, VT_SOURCE_HF, VT_SOURCE_NPZ } vt_source;

typedef enum {
    VT_TABLE_NONE,
    VT_TABLE_LEARNT, /* [(2h-1)(2w-1) + 3 with class token, H] in the file */
    VT_TABLE_MLP     /* made from log coordinates by a small MLP */
} vt_table_kind;

typedef enum {                  /* the paper's positions (appendix D.4) */
               VT_POS_1D,       /* 1-D: a row for each token */
               VT_POS_2D,       /* 2-D: half from a table of columns, half
                                 * from one of rows; not for prefix tokens */
               VT_POS_RELATIVE, /* learnt keys for row-major offsets; their
                                 * logits are added */
} vt_pos_kind;

typedef enum { /* where positions are added */
               VT_AT_STEM /* once, before the blocks */,
               VT_AT_LAYERS, /* before each block, a table each */
               VT_AT_SHARED, /* before each block, one table */
               VT_AT_BETWEEN /* once, and behind each block but the last */
} vt_pos_injection;

typedef enum {                 /* the token that is a text's vector: */
               VT_END_LAST,    /* the last of the context */
               VT_END_FIRST,   /* the first */
               VT_END_HIGHEST, /* the first with the highest number */
               VT_END_TOKEN    /* the first that is `end`, or the first */
} vt_end_kind;

typedef enum {                  /* what a rotary position's angle depends on: */
               VT_ROPE_NONE,    /* no rotary positions */
               VT_ROPE_INDEX,   /* a patch's row and column */
               VT_ROPE_CENTRES, /* those of its centre, from -1 to 1 */
               VT_ROPE_MIXED    /* row and column, by learnt frequencies */
} vt_rope_kind;
typedef struct vt_rope_rule {
    vt_rope_kind kind;
    bool halves;      /* a pair's elements are half a head apart */
    int xy;           /* 1: columns before rows */
    int ref_h, ref_w; /* the grid that places are scaled to; 0: none */
    float offset, temperature;
} vt_rope_rule;

/* What a config asks for, where tensors or other settings decide with it. Texts
 * are the config's; NULL: not given. */
typedef struct vt_said {
    int registers;  /* timm: -1: not given */
    int projection; /* width of an embedding */
    bool head, mean, between;
    bool rows, tables, shared; /* positions: absolute, relative, for all */
    bool rotary, pre_norm, final_norm;
    bool antialias, corners, square; /* how positions are resized */
    const char *pool, *norm, *attn, *attention, *pos, *pos_at, *rel_pos, *block;
    const char *resize, *pooler_act;
} vt_said;

typedef struct vt_family vt_family; /* models/family.h */

/* The properties of a model, named as in the paper and timm. 0 or false: the
 * model does not have it. */
typedef struct vt_config {
    const vt_family *family;
    vt_said said;
    char name[128]; /* timm's architecture or HF's architectures[0] */
    vt_source source;
    int height, width_px, patch_h, patch_w; /* as trained; a hybrid's patch
                                             * includes its stem's stride */
    int width, depth, heads, mlp, classes;  /* D, L, H, MLP width, K */
    float eps;
    vt_act act;
    bool class_token, dist_token;
    bool dist_head; /* the result is the mean of both tokens' */
    int registers;
    bool tokens_last; /* their positions come behind the patches' in the file */
    bool norm_optional;
    bool pos_optional; /* optional in the family; set before reading */
    vt_pos_kind pos_kind;
    vt_pos_injection pos_injection;
    bool pos_embed; /* an absolute table of rows ... */
    int pos_prefix; /* ... whose first rows are for this many prefix tokens */
    vt_pos_rule pos_rule;
    int pos_h, pos_w;        /* the table's grid; 0: of a picture as trained */
    bool pos_square;         /* resized to a square, of which a part is used */
    bool pos_axes;           /* the sum of a table of rows and one of columns */
    bool proj_bias, fc_bias; /* of attention's output and of the MLP */
    bool patch_bias, qkv_bias, qk_norm, layer_scale, head_bias;
    bool qk_rms;           /* qk_norm has neither a mean nor a bias */
    bool ls_attn;          /* layer scale of attention only */
    int kv_heads;          /* of k and v, for groups of queries; 0: none ... */
    int kv_first, kv_last; /* ... in these blocks; the others have `heads` */
    bool diff;             /* attention is the difference of two; see diff.c */
    bool rms;              /* norms have neither a mean nor a bias */
    bool embed_norm;       /* patch_embed.norm on the projected patches */
    bool pre_norm;         /* norm_pre before block 0 */
    bool final_norm;       /* norm on all tokens after the last block */
    bool fc_norm;          /* fc_norm after pooling */
    bool axial;            /* blocks attend to rows and columns in turn */
    bool post_norm;        /* x + norm(f(x)) instead of x + f(norm(x)) ... */
    bool post_add;         /* ... or norm(x + f(x)) */
    bool no_skip;          /* f(norm(x)) */
    bool swiglu;           /* gated MLP: silu(first half) * second half */
    bool mlp_norm, attn_norm; /* EVA's and BEiT-3's inner norms */
    vt_rope_rule rope;
    vt_table_kind rel_pos;
    bool rel_pos_shared; /* one table for all blocks ... */
    bool rel_pos_both;   /* ... added to one for each */
    bool rel_pos_turned; /* read from the file with rows and columns exchanged,
                          * if they differ, as HF's BEiT does */
    bool rel_pos_swin;   /* the MLP of Swin V2 */
    bool attn_pool;      /* attention pooling ... */
    int pool_heads;      /* ... with as many heads; 0: the blocks' ... */
    int pool_mlp;        /* ... and an MLP of this width */
    bool pool_all;       /* ... over prefix tokens too */
    int pre_logits;      /* width of the tanh layer before the head */
    int pooler;          /* width of HF's layer on the class token, ... */
    vt_act pooler_act;   /* ... of models without a head */
    vt_pool_kind pool;
    int pool_first;
    bool pool_max_mean; /* timm's "avgmax": (max + mean) / 2 */
    bool norm_last;     /* fc_norm has the name of the final norm */
    int projection;     /* CLIP: width of the embedding; no classes */
    int stem_stages, stem_layers[4], stem_width[5]; /* hybrid or ResNet */
    bool stem_only;   /* a stem without stages: conv, norm, pool */
    bool stem_basic;  /* blocks of two 3x3 convolutions, not bottlenecks */
    int conv_stem[2]; /* MobileCLIP's: the widths of its convolutions */
    int grey;         /* 1: reads one channel; 0: three */
    bool folded;      /* BatchNorm is folded into convolutions: no training */
    int context;      /* of a text tower: tokens of a text; 0: pictures */
    int vocabulary;   /* kinds of tokens */
    bool causal;      /* tokens do not attend to those behind them */
    vt_end_kind end_kind;
    int end;
    int budget; /* NaFlex: a picture's most patches; 0: one size of pictures */
    float logit_scale, logit_bias; /* of the cosine with a picture's vector */
    bool sigmoid;                  /* trained with one for each text */
} vt_config;

typedef struct vt_model vt_model;

/* path: as for vitcl_model_load(). Checks the whole checkpoint; the error names
 * missing, surplus and misshapen tensors. */
vitcl_status vt_model_open(vt_model **out, const char *path);
/* The same from what its files hold; weights are borrowed. */
vitcl_status vt_model_open_memory(vt_model **out,
                                  const vitcl_model_files *files);
/* "vit-b/16" and so on at size x size pixels (0: the name's, or 224); random
 * weights, the same for the same name. */
vitcl_status vt_model_preset(vt_model **out, const char *name, uint32_t size);
/* ---- what names say (shapes.c) ---- */

#define VT_STAGE_WIDTH 256 /* a ResNet's first stage's, times its factor */
typedef struct vt_shape {
    int size, patch; /* pixels; a hybrid's patch is of its stem's output */
    int width, depth, heads;
    bool hybrid, resnet, axial;
    int stem_width, stages, layers[4], widths[4];
} vt_shape;
/* timm's ViTs and hybrids. Unknown words have no effect; a name that says
 * nothing is a B/16 at 224 pixels. */
void vt_shape_vit(vt_shape *out, const char *timm);
/* timm's "resnetv2_<layers>x<factor>_bit"; false: another name. */
bool vt_shape_resnet(vt_shape *out, const char *timm);
/* A preset: "vit-b/16", "r50+vit-b/16", "resnet50x1", or such a model's name in
 * timm. timm[96]: its name there; of "axial-vit-b/16", that of its ViT. */
vitcl_status vt_preset_read(vt_shape *out, char timm[96], const char *name);

void vt_model_close(vt_model *m);

const vt_config *vt_model_config(const vt_model *m);
const vt_weights *vt_model_weights(const vt_model *m); /* NULL: a preset */
/* NULL where there is none (presets, .npz) */
const vt_json *vt_model_json(const vt_model *m);         /* config.json */
const vt_json *vt_model_preprocessor(const vt_model *m); /* HF only */
const char *vt_model_type(const vt_model *m); /* HF model_type, "timm", ... */
/* Short label and longer name; NULL if the file has none. Hugging Face's text
 * is the label; it has no longer name. */
const char *vt_model_label(const vt_model *m, uint32_t label);
const char *vt_model_longname(const vt_model *m, uint32_t label);
/* The config's vitcl_certainty, which train/certainty.h explains. */
typedef struct vt_certainty {
    double temperature, threshold; /* 1 and 0: none */
    double detail[2];              /* least and most; 0 and 0: none */
} vt_certainty;
vt_certainty vt_model_certainty(const vt_model *m);
const char *vt_model_problem(const vt_model *m); /* problem_type, or NULL */
vitcl_answer vt_model_answer(const vt_model *m);
uint64_t vt_model_parameters(const vt_model *m);
/* Multiply-accumulates of one picture, with every token in every block. */
vitcl_status vt_model_macs(double *out, const vt_model *m, int height,
                           int width);
/* Tokens in a block for a picture of this size; 0: no whole patch. */
int vt_model_tokens(const vt_model *m, int height, int width);
/* The grid of its patches; false: it is too small. */
bool vt_model_grid(int *rows, int *columns, const vt_model *m, int height,
                   int width);
/* VITCL_EINVAL where pixels after the last whole patch would be ignored, unless
 * the model was trained so. */
vitcl_status vt_model_whole(const vt_model *m, int height, int width);

/* VITCL_EUNSUPPORTED, with the reason, if the model cannot be trained. */
vitcl_status vt_model_trains(const vt_model *m);

/* VITCL_EUNSUPPORTED if a trained parameter is made from other tensors of the
 * file, such as resized positions: no gradient leads to these. p: after
 * vt_plan_backward(). */
vitcl_status vt_model_learns(const vt_model *m, const vt_plan *p);

/* For vt_store_new(): context is the vt_model. */
vitcl_status vt_model_read_param(float *out, void *model, const char *name,
                                 uint64_t count);

typedef struct vt_outputs {
    vt_val features; /* [B,F]: the input of the head's last layer */
    vt_val logits;   /* [B,K]; VT_NONE without a classifier */
    vt_val patches;  /* [B,N,D]: the final patch tokens, instead of the other
                      * two, with a patch_source */
} vt_outputs;
/* Options for training. */
typedef struct vt_build_options {
    float dropout, drop_path; /* shares of elements, and of pictures in the
                               * last block, that are dropped; 0: none */
    unsigned random_state;    /* seeds dropout ... */
    vt_val train_step;        /* ... of this step, i32 [1]; or VT_NONE */
    vt_val patch_source;      /* masked patch prediction: i32 [B,N], as in
                               * vt_mask_patches(); or VT_NONE */
} vt_build_options;
/* Appends all steps after pixels[B,3,H,W]; options: NULL for inference. Values
 * have the names of the goldens: "embed", "block.<i>", "norm", "attention.<i>",
 * "features", "logits" and HF's output names. The features and what the
 * original library returns are kept. Errors are recorded in the plan. */
void vt_model_build(vt_plan *p, const vt_model *m, vt_val pixels,
                    const vt_build_options *options, vt_outputs *out);

/* ---- text towers ---- */
/* The text tower of the checkpoint at `path`. Of the functions above, those of
 * pictures and labels are not for it. */
vitcl_status vt_tower_open(vt_model **out, const char *path);
/* Appends all steps after the rows of the tokens, x[B,T,D]; end: i32 [B], as
 * vt_tower_end() says; hidden[B,H,T,T]: of vt_tower_mask(), or VT_NONE.
 * features: [B,F]. Values have the names of pictures'. */
void vt_tower_build(vt_plan *p, const vt_model *m, vt_val x, vt_val end,
                    vt_val hidden, vt_outputs *out);
/* out[H * tokens * tokens] of one text, of whose tokens some are hidden. */
void vt_tower_mask(float *out, const vt_model *m, int tokens,
                   const bool *hidden);
/* Makes texts shorter: at most `context` tokens, from 1. */
void vt_tower_shorten(vt_model *m, int context);
/* The rows of `tokens` tokens of one text, positions added:
 * out[tokens * D]. VITCL_EINVAL: a number that is not in the vocabulary. */
vitcl_status vt_tower_rows(float *out, const vt_model *m, const int32_t *ids,
                           int tokens);
/* Are all of a text's ids[context] in the vocabulary? Else VITCL_EINVAL. */
vitcl_status vt_tower_known(const vt_model *m, const int32_t *ids);
/* Which of a text's ids[context] is its vector. */
int vt_tower_end(const vt_model *m, const int32_t *ids);

const char *vt_model_family(const vt_model *m);

/* ---- for family files ---- */
/* A weight as f32 host memory, `count` elements; free() it. */
vitcl_status vt_model_weight(float **out, const vt_model *m, const char *name,
                             uint64_t count);
bool vt_model_has(const vt_model *m, const char *name);

#endif
