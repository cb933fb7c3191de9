/*
 * vit.h - the parts of a ViT that the families share.
 *
 *   pixels -> patches -> embed -> block x depth -> norm -> pool -> head
 *
 * A family calls these parts in its own order and adds its own.
 */
#ifndef VT_MODELS_VIT_H
#define VT_MODELS_VIT_H
#include "models/model.h"

/* The projected patches: x[B,N,D]. */
vt_val vt_vit_patches(vt_plan *p, const vt_model *m, vt_val pixels);
/* Adds prefix tokens and positions for a grid of gh x gw patches, then
 * norm_pre; "embed". */
vt_val vt_vit_embed(vt_plan *p, const vt_model *m, vt_val patches, int gh,
                    int gw, const vt_build_options *o);

/* The two one after the other. */
vt_val vt_vit_stem(vt_plan *p, const vt_model *m, vt_val pixels, int gh, int gw,
                   const vt_build_options *o);

typedef struct vt_block_extra {
    vt_val bias; /* of attention [H,T,T], or VT_NONE */
    vt_val rope; /* rotary table, or VT_NONE */
    int rows;    /* tokens that are read afterwards; 0: all */
    int gh, gw;  /* the grid, for positions in blocks; 0: not supported */
    vt_attention_to to; /* what a token attends to */
    vt_val end;         /* i32 [B]: the only token that is read afterwards, by
                         * number; the block's result is [B,D]. Or VT_NONE */
} vt_block_extra;
#define VT_NO_EXTRA                                                            \
    (vt_block_extra)                                                           \
    {                                                                          \
        VT_NONE, VT_NONE, 0, 0, 0, VT_TO_ALL, VT_NONE                          \
    }
/* Everything after a stem. x[B,C,H,W]: the stem's output for these pixels;
 * kernel x kernel of its positions are one patch. */
void vt_vit_behind(vt_plan *p, const vt_model *m, vt_val x, int kernel,
                   vt_val pixels, const vt_build_options *o, vt_outputs *out);
/* Only the patch grid of these pixels is set. */
vt_block_extra vt_vit_grid(const vt_plan *p, const vt_model *m, vt_val pixels);

/* ---- pos_embed.c ---- */
/* <prefix>pos_embed for this grid. */
vt_val vt_pos_table(vt_plan *p, const vt_config *c, const char *prefix, int gh,
                    int gw);
/* x plus the positions of <prefix>. */
vt_val vt_pos_add(vt_plan *p, const vt_config *c, vt_val x, const char *prefix,
                  int gh, int gw);
/* x plus the positions that are added before block i, if any. */
vt_val vt_pos_inject(vt_plan *p, const vt_config *c, int i, vt_val x,
                     const vt_block_extra *e);
/* The bias of block i's attention from its queries and relative positions. */
vt_val vt_pos_bias(vt_plan *p, const vt_config *c, int i, vt_val qkv,
                   int prefix, const vt_block_extra *e);

vt_val vt_vit_block(vt_plan *p, const vt_config *c, int i, vt_val x,
                    vt_block_extra e, const vt_build_options *o);
/* All blocks with the same e; the last computes only the rows that are read. */
vt_val vt_vit_blocks(vt_plan *p, const vt_config *c, vt_val x, vt_block_extra e,
                     const vt_build_options *o);
/* Dropout, and stochastic depth of block i, whose rate increases linearly with
 * the block as in timm. Both return their input unless o sets a rate. */
vt_val vt_vit_dropout(vt_plan *p, vt_val x, const vt_build_options *o);
vt_val vt_vit_drop_path(vt_plan *p, const vt_config *c, int i, vt_val h,
                        const vt_build_options *o);
/* How many tokens are read after the last block; 0: all. */
int vt_vit_rows(const vt_plan *p, const vt_config *c);
/* How many tokens block i must compute; 0: all. */
int vt_vit_block_rows(const vt_plan *p, const vt_config *c, int i);

/* The final norm; "norm", or HF's "last_hidden_state" without a head. */
vt_val vt_vit_norm(vt_plan *p, const vt_config *c, vt_val x);
/* norm, pool, head; "features", "logits". */
void vt_vit_head(vt_plan *p, const vt_model *m, vt_val x,
                 const vt_build_options *o, vt_outputs *out);

/* Layer norm over the last axis; prefix.weight, prefix.bias. */
vt_val vt_vit_layernorm(vt_plan *p, vt_val x, const vt_config *c,
                        const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Keeps an extra output of the original library under its name there. It is a
 * copy because a value has one name. */
void vt_vit_return(vt_plan *p, vt_val x, const char *name);
/* Does the original library return the tokens (HF models without a head)? */
bool vt_vit_returns_tokens(const vt_config *c);

/* The plain ViT's, which others build upon. */
void vt_vit_build(vt_plan *p, const vt_model *m, vt_val pixels,
                  const vt_build_options *o, vt_outputs *out);
/* ---- siglip.c: towers whose pool is attention ---- */
vitcl_status vt_map_configure(vt_config *c, const vt_json *config,
                              const vt_weights *w, const char *path);
void vt_map_build(vt_plan *p, const vt_model *m, vt_val pixels,
                  const vt_build_options *o, vt_outputs *out);

/* ---- diff.c ---- */
/* The difference of two attentions of x, without the output projection. */
vt_val vt_diff_attention(vt_plan *p, const vt_config *c, int i, vt_val x);
/* Does block i have groups of queries? */
bool vt_diff_grouped(const vt_config *c, int i);
/* Its q, k and v, repeated for each query: [B,T,3C]. */
vt_val vt_diff_groups(vt_plan *p, const vt_config *c, int i, vt_val x);

/* ---- rotary.c ---- */
/* A ViT whose blocks have rotary positions. */
void vt_rope_build(vt_plan *p, const vt_model *m, vt_val pixels,
                   const vt_build_options *o, vt_outputs *out);

/* ---- table.c ---- */
/* A ViT with tables of relative positions, named by their prefixes: the one
 * that all blocks share, or that of a block behind "blocks.<i>.". */
void vt_table_build(vt_plan *p, const vt_model *m, vt_val pixels,
                    const vt_build_options *o, vt_outputs *out,
                    const char *shared, const char *own);

#endif
