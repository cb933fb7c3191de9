/*
 * vit.h - what the families share: the parts that a ViT is put together from.
 *
 *   pixels -> patches -> embed -> block x depth -> norm -> pool -> head
 *
 * A family calls the parts in its own order and adds its own between them.
 */
#ifndef VT_MODELS_VIT_H
#define VT_MODELS_VIT_H
#include "models/model.h"

/* Patch rows, projected: x[B,N,D]. */
vt_val vt_vit_patches(vt_plan *p, const vt_model *m, vt_val pixels);
/* Tokens and positions for a grid of gh x gw patches, norm_pre; "embed". */
vt_val vt_vit_embed(vt_plan *p, const vt_model *m, vt_val patches, int gh,
                    int gw, const vt_build_options *o);

typedef struct vt_block_extra {
    vt_val bias; /* of attention [H,T,T], or none */
    vt_val rope; /* rotary table, or none; */
    int rows;    /* tokens that somebody reads afterwards; 0: all */
    int gh, gw;  /* the grid, for positions inside blocks; 0: family has none */
} vt_block_extra;
#define VT_NO_EXTRA                                                            \
    (vt_block_extra)                                                           \
    {                                                                          \
        VT_NONE, VT_NONE, 0, 0, 0                                              \
    }
/* Everything behind a stem that made x[B,C,H,W] of the pixels, kernel x kernel
 * of it a patch. */
void vt_vit_behind(vt_plan *p, const vt_model *m, vt_val x, int kernel,
                   vt_val pixels, const vt_build_options *o, vt_outputs *out);
/* No more than the grid of patches in these pixels. */
vt_block_extra vt_vit_grid(const vt_plan *p, const vt_model *m, vt_val pixels);

/* ---- pos_embed.c ---- */
/* <prefix>pos_embed for this grid. */
vt_val vt_pos_table(vt_plan *p, const vt_config *c, const char *prefix, int gh,
                    int gw);
/* x with the positions of <prefix>. */
vt_val vt_pos_add(vt_plan *p, const vt_config *c, vt_val x, const char *prefix,
                  int gh, int gw);
/* x with what is added before block i, if anything is. */
vt_val vt_pos_inject(vt_plan *p, const vt_config *c, int i, vt_val x,
                     const vt_block_extra *e);
/* The bias of block i's attention that relative places give its queries. */
vt_val vt_pos_bias(vt_plan *p, const vt_config *c, int i, vt_val qkv,
                   int prefix, const vt_block_extra *e);

vt_val vt_vit_block(vt_plan *p, const vt_config *c, int i, vt_val x,
                    vt_block_extra e, const vt_build_options *o);
/* All blocks alike; the last makes only the rows that are read. */
vt_val vt_vit_blocks(vt_plan *p, const vt_config *c, vt_val x, vt_block_extra e,
                     const vt_build_options *o);
/* Dropout, and stochastic depth of block i, whose rate grows from block to
 * block as timm has it; each only in a training that asks for it. */
vt_val vt_vit_dropout(vt_plan *p, vt_val x, const vt_build_options *o);
vt_val vt_vit_drop_path(vt_plan *p, const vt_config *c, int i, vt_val h,
                        const vt_build_options *o);
/* How many tokens after the last block are read at all; 0: all. */
int vt_vit_rows(const vt_plan *p, const vt_config *c);
/* The same for block i, whose output may be wanted. */
int vt_vit_block_rows(const vt_plan *p, const vt_config *c, int i);

/* The final norm; "norm", or HF's "last_hidden_state" without a head. */
vt_val vt_vit_norm(vt_plan *p, const vt_config *c, vt_val x);
/* [B,T,D] -> [B,F], with fc_norm or the attention pool. */
vt_val vt_vit_pool(vt_plan *p, const vt_model *m, vt_val x);
/* norm, pool, the layers behind it; "features", "logits". */
void vt_vit_head(vt_plan *p, const vt_model *m, vt_val x,
                 const vt_build_options *o, vt_outputs *out);

/* Layer norm over width; prefix.weight, prefix.bias. */
vt_val vt_vit_layernorm(vt_plan *p, vt_val x, float eps, const char *format,
                        ...) __attribute__((format(printf, 4, 5)));
/* A copy under a second name, where that is wanted. */
void vt_vit_alias(vt_plan *p, vt_val x, const char *name);
/* What the library returns beside its answer: kept; a copy, since a value has
 * one name. */
void vt_vit_return(vt_plan *p, vt_val x, const char *name);
/* Does the library return the tokens themselves (HF's models without head)? */
bool vt_vit_returns_tokens(const vt_config *c);

#define VT_FAMILY(name)                                                        \
    bool vt_##name##_match(const vt_json *config, const vt_weights *w);        \
    vitcl_status vt_##name##_configure(vt_config *c, const vt_json *config,    \
                                       const vt_weights *w, const char *path); \
    void vt_##name##_build(vt_plan *p, const vt_model *m, vt_val pixels,       \
                           const vt_build_options *o, vt_outputs *out)
VT_FAMILY(vit);
VT_FAMILY(deit);
VT_FAMILY(dinov2);
VT_FAMILY(clip);
VT_FAMILY(siglip);
VT_FAMILY(beit);
VT_FAMILY(relpos);
VT_FAMILY(eva02);
VT_FAMILY(hybrid);
VT_FAMILY(resnet);
VT_FAMILY(resnetd);

#endif
