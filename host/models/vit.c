/*
 * vit.c - the Vision Transformer (Dosovitskiy et al. 2020, arXiv:2010.11929)
 * in the variants of timm, Hugging Face (ViT, ViT-MSN, I-JEPA, MAE's encoder,
 * DPT's backbone) and Google's .npz files, and the parts that other families
 * share.
 *
 *   z0 = [class; x1 E; ... xN E] + E_pos
 *   z' = MSA(LN(z)) + z,   z = MLP(LN(z')) + z'    (depth times)
 *   y  = head(LN(z)[class])
 *
 * Easy to get wrong:
 *   - epsilon: 1e-6 in timm and Flax, 1e-12 in most HF files
 *   - GELU is exact everywhere except in Flax, which trained with tanh
 *   - with mean pooling the norm usually comes after the pool (fc_norm)
 *   - the position table may have no row for the class token, or some for
 *     registers
 *   - HF's pooler is not used for classification
 *   - I-JEPA has no class token: its classifier reads the mean. MAE's encoder
 *     sees all patches here; only its pre-training masks them
 *   - DPT resizes its positions bilinearly
 *   - the paper also compares 2-D and relative positions, and positions before
 *     each block (appendix D.4). No model has them: the names are vitcl's
 *   - .npz: pre_logits is a tanh layer of the original ImageNet-21k files;
 *     timm drops it from its own old files
 *
 * Only the class token is read after the last block, so that block's MLP and
 * the final norm process only it unless all tokens are wanted.
 */
#include "models/vit.h"
#include "weights/dialect_rows.h"

#include "models/config.h"
#include "models/family.h"
#include "models/fields.h"
#include "models/rope.h"

#include <stdio.h>
#include <string.h>

/* ---- helpers ---- */

/* out = residual + scale * act(x W^T + b) with block i's weights. */
static vt_val dense(vt_plan *p, vt_val x, int i, const char *layer, int n,
                    bool bias, vt_act act, vt_val scale, vt_val residual)
{
    char prefix[80];

    snprintf(prefix, sizeof prefix, "blocks.%d.%s", i, layer);
    return vt_dense(p, x, prefix, n, bias, act, scale, residual);
}

static vt_val layer_scale(vt_plan *p, const vt_config *c, int i, int which)
{
    char name[64];

    if (!c->layer_scale || (which == 2 && c->ls_attn))
        return VT_NONE;
    snprintf(name, sizeof name, "blocks.%d.ls%d.gamma", i, which);
    return vt_param(p, name, 1, &c->width);
}

/* ---- dropout and stochastic depth ---- */

/* As in the paper (appendix B.1): after every dense layer except qkv, and
 * after adding the positions. */
vt_val vt_vit_dropout(vt_plan *p, vt_val x, const vt_build_options *o)
{
    return o->dropout > 0
               ? vt_dropout(p, x, o->train_step, o->random_state, o->dropout)
               : x;
}

static bool drops(const vt_build_options *o)
{
    return o->dropout > 0 || o->drop_path > 0;
}

vt_val vt_vit_drop_path(vt_plan *p, const vt_config *c, int i, vt_val h,
                        const vt_build_options *o)
{
    const float most = o->drop_path;
    const float rate =
        c->depth > 1 ? most * (float)i / (float)(c->depth - 1) : most;

    return rate > 0 ? vt_drop_path(p, h, o->train_step, o->random_state, rate)
                    : h;
}

/* x + h with dropout and stochastic depth on h. */
static vt_val branch(vt_plan *p, const vt_config *c, int i, vt_val x, vt_val h,
                     const vt_build_options *o)
{
    h = vt_vit_dropout(p, h, o);
    return c->no_skip ? h : vt_add(p, x, vt_vit_drop_path(p, c, i, h, o));
}

/* ---- rows that are read at the end ---- */

int vt_vit_block_rows(const vt_plan *p, const vt_config *c, int i)
{
    return i == c->depth - 1 && !vt_wanted(p, "block.%d", i) ? vt_vit_rows(p, c)
                                                             : 0;
}

/* ---- embedding ---- */

vt_val vt_vit_patches(vt_plan *p, const vt_model *m, vt_val pixels)
{
    const vt_config *c = vt_model_config(m);

    return vt_dense(p,
                    vt_patch_first(p, pixels, c->grey, c->patch_h, c->patch_w),
                    "patch_embed.proj", c->width, c->patch_bias, VT_ACT_NONE,
                    VT_NONE, VT_NONE);
}

vt_val vt_vit_embed(vt_plan *p, const vt_model *m, vt_val patches, int gh,
                    int gw, const vt_build_options *o)
{
    const vt_config *c = vt_model_config(m);
    const bool stem =
        c->pos_injection == VT_AT_STEM || c->pos_injection == VT_AT_BETWEEN;
    vt_val prefix[3], x = patches, pos = VT_NONE;
    int n = 0;

    if (c->embed_norm)
        x = vt_vit_layernorm(p, x, c, "patch_embed.norm");

    if (o->patch_source != VT_NONE)
        x = vt_mask_patches(
            p, x, o->patch_source,
            vt_param(p, "mpp_mask", 3, (int[]){1, 1, c->width}));
    if (c->class_token)
        prefix[n++] = vt_param(p, "cls_token", 3, (int[]){1, 1, c->width});
    if (c->dist_token)
        prefix[n++] = vt_param(p, "dist_token", 3, (int[]){1, 1, c->width});
    if (c->registers)
        prefix[n++] =
            vt_param(p, "reg_token", 3, (int[]){1, c->registers, c->width});
    if (c->pos_embed && stem)
        pos = vt_pos_table(p, c, "", gh, gw);
    if (n || pos != VT_NONE)
        x = vt_embed(p, x, prefix, n, pos, c->pos_prefix);
    if (c->pos_kind == VT_POS_2D && stem)
        x = vt_pos_add(p, c, x, "", gh, gw);
    x = vt_vit_dropout(p, x, o);
    if (c->pre_norm)
        x = vt_vit_layernorm(p, x, c, "norm_pre");
    vt_name(p, x, "embed");
    return x;
}

vt_val vt_vit_stem(vt_plan *p, const vt_model *m, vt_val pixels, int gh, int gw,
                   const vt_build_options *o)
{
    return vt_vit_embed(p, m, vt_vit_patches(p, m, pixels), gh, gw, o);
}

/* ---- blocks ---- */

vt_block_extra vt_vit_grid(const vt_plan *p, const vt_model *m, vt_val pixels)
{
    const vt_config *c = vt_model_config(m);
    vt_block_extra e = VT_NO_EXTRA;

    vt_config_grid(&e.gh, &e.gw, c, vt_dim(p, pixels, 2), vt_dim(p, pixels, 3));
    return e;
}

static vt_val qk_norm(vt_plan *p, const vt_config *c, int i, vt_val h)
{
    static const char *const names[] = {"q_norm.weight", "k_norm.weight",
                                        "q_norm.bias", "k_norm.bias"};
    const int head = c->width / c->heads;
    vt_val w[4];

    for (int k = 0; k < (c->qk_rms ? 2 : 4); k++) {
        char name[64];

        snprintf(name, sizeof name, "blocks.%d.attn.%s", i, names[k]);
        w[k] = vt_param(p, name, 1, &head);
    }
    return c->qk_rms
               ? vt_qk_rmsnorm(p, h, c->heads, w[0], w[1], c->eps)
               : vt_qknorm(p, h, c->heads, w[0], w[2], w[1], w[3], c->eps);
}

/* MSA(h) without its output projection. */
static vt_val attention(vt_plan *p, const vt_config *c, int i, vt_val h,
                        vt_block_extra e)
{
    const int skip = c->class_token + c->dist_token + c->registers;
    char probs[32];

    if (c->diff)
        return vt_diff_attention(p, c, i, h);
    snprintf(probs, sizeof probs, "attention.%d", i);
    h = vt_diff_grouped(c, i)
            ? vt_diff_groups(p, c, i, h)
            : dense(p, h, i, "attn.qkv", 3 * c->width, c->qkv_bias, VT_ACT_NONE,
                    VT_NONE, VT_NONE);
    if (c->qk_norm)
        h = qk_norm(p, c, i, h);
    e.rope = vt_rope_value(p, c, i, &e);
    if (e.rope != VT_NONE)
        h = vt_rope(p, h, c->heads, e.rope, skip, c->rope.halves);
    if (c->pos_kind == VT_POS_RELATIVE)
        e.bias = vt_pos_bias(p, c, i, h, skip, &e);
    /* of the rows that are read, where nothing else needs the others */
    if (e.bias != VT_NONE || e.to != VT_TO_ALL || vt_wanted(p, "%s", probs) ||
        vt_plan_settings(p)->backward)
        e.rows = 0;
    return vt_attention(p, h,
                        (vt_attention_args){.heads = c->heads,
                                            .bias = e.bias,
                                            .probs = probs,
                                            .to = e.to,
                                            .wide = e.gw,
                                            .rows = e.rows});
}

/* MLP(h) without its second layer. */
static vt_val mlp(vt_plan *p, const vt_config *c, int i, vt_val h,
                  const vt_build_options *o)
{
    if (c->swiglu) {
        h = dense(p, h, i, "mlp.fc1", 2 * c->mlp, c->fc_bias, VT_ACT_NONE,
                  VT_NONE, VT_NONE);
        h = vt_swiglu(p, h);
    } else {
        h = dense(p, h, i, "mlp.fc1", c->mlp, c->fc_bias, c->act, VT_NONE,
                  VT_NONE);
    }
    h = vt_vit_dropout(p, h, o);
    return c->mlp_norm ? vt_vit_layernorm(p, h, c, "blocks.%d.mlp.norm", i) : h;
}

/* One pre-norm block: x += attention(ln1(x)), then x += mlp(ln2(x)). */
static vt_val pre_norm(vt_plan *p, const vt_config *c, int i, vt_val x,
                       vt_block_extra e, const vt_build_options *o)
{
    const bool apart = c->no_skip || drops(o);
    vt_val h = vt_vit_layernorm(p, x, c, "blocks.%d.norm1", i);

    h = attention(p, c, i, h, e);
    if (e.rows) {
        if (vt_dim(p, h, 1) != e.rows)
            h = vt_slice(p, h, 0, e.rows);
        x = vt_slice(p, x, 0, e.rows);
    }
    if (e.end != VT_NONE) {
        h = vt_pick(p, h, e.end);
        x = vt_pick(p, x, e.end);
    }
    if (c->attn_norm)
        h = vt_vit_layernorm(p, h, c, "blocks.%d.attn.norm", i);
    h = dense(p, h, i, "attn.proj", c->width, c->proj_bias, VT_ACT_NONE,
              layer_scale(p, c, i, 1), apart ? VT_NONE : x);
    x = drops(o) ? branch(p, c, i, x, h, o) : h;

    h = vt_vit_layernorm(p, x, c, "blocks.%d.norm2", i);
    h = mlp(p, c, i, h, o);
    h = dense(p, h, i, "mlp.fc2", c->width, c->fc_bias, VT_ACT_NONE,
              layer_scale(p, c, i, 2), apart ? VT_NONE : x);
    return drops(o) ? branch(p, c, i, x, h, o) : h;
}

/* x + norm(h), as timm's "rpn" models have it, or norm(x + h), as the first
 * Transformers had it; n: the norm's number. */
static vt_val normed(vt_plan *p, const vt_config *c, int i, vt_val x, vt_val h,
                     int n, const vt_build_options *o)
{
    h = c->post_add ? branch(p, c, i, x, h, o) : h;
    h = vt_vit_layernorm(p, h, c, "blocks.%d.norm%d", i, n);
    return c->post_add ? h : branch(p, c, i, x, h, o);
}

static vt_val post_norm(vt_plan *p, const vt_config *c, int i, vt_val x,
                        vt_block_extra e, const vt_build_options *o)
{
    vt_val h;

    e.rows = 0;
    h = attention(p, c, i, x, e);
    h = dense(p, h, i, "attn.proj", c->width, c->proj_bias, VT_ACT_NONE,
              c->post_add ? layer_scale(p, c, i, 1) : VT_NONE, VT_NONE);
    x = normed(p, c, i, x, h, 1, o);
    h = mlp(p, c, i, x, o);
    h = dense(p, h, i, "mlp.fc2", c->width, c->fc_bias, VT_ACT_NONE,
              c->post_add ? layer_scale(p, c, i, 2) : VT_NONE, VT_NONE);
    return normed(p, c, i, x, h, 2, o);
}

vt_val vt_vit_block(vt_plan *p, const vt_config *c, int i, vt_val x,
                    vt_block_extra e, const vt_build_options *o)
{
    x = vt_pos_inject(p, c, i, x, &e);
    x = c->post_norm ? post_norm(p, c, i, x, e, o) : pre_norm(p, c, i, x, e, o);
    vt_name(p, x, "block.%d", i);
    return x;
}

vt_val vt_vit_blocks(vt_plan *p, const vt_config *c, vt_val x, vt_block_extra e,
                     const vt_build_options *o)
{
    for (int i = 0; i < c->depth; i++) {
        e.rows = vt_vit_block_rows(p, c, i);
        x = vt_vit_block(p, c, i, x, e, o);
    }
    return x;
}

/* ---- the plain family ---- */

/* Google's files. */
static bool match(const vt_json *config, const vt_weights *w)
{
    return !config && strcmp(vt_weights_dialect(w), "npz") == 0 &&
           vt_weight_has(w, "patch_embed.proj.weight");
}

static vitcl_status configure(vt_config *c, const vt_json *config,
                              const vt_weights *w, const char *path)
{
    const bool dpt = strcmp(vt_config_hf(config), "dpt") == 0;

    VT_RET(vt_configure(c, config, w, path));
    if (c->source == VT_SOURCE_HF && !c->class_token) /* I-JEPA */
        c->pool = VT_POOL_MEAN;
    if (dpt) {
        c->pos_rule = VT_POS_LINEAR;
        VT_RET(vt_check_square(c, path));
    }
    return VITCL_OK;
}

/* Everything after the embedding. */
static void encode(vt_plan *p, const vt_model *m, vt_val x, vt_block_extra e,
                   const vt_build_options *o, vt_outputs *out)
{
    x = vt_vit_blocks(p, vt_model_config(m), x, e, o);
    vt_vit_head(p, m, x, o, out);
}

void vt_vit_behind(vt_plan *p, const vt_model *m, vt_val x, int kernel,
                   vt_val pixels, const vt_build_options *o, vt_outputs *out)
{
    const vt_config *c = vt_model_config(m);
    const vt_block_extra e = vt_vit_grid(p, m, pixels);

    x = kernel == 1 ? vt_to_tokens(p, x) : vt_patch(p, x, kernel, kernel);
    x = vt_dense(p, x, "patch_embed.proj", c->width, c->patch_bias, VT_ACT_NONE,
                 VT_NONE, VT_NONE);
    encode(p, m, vt_vit_embed(p, m, x, e.gh, e.gw, o), e, o, out);
}

void vt_vit_build(vt_plan *p, const vt_model *m, vt_val pixels,
                  const vt_build_options *o, vt_outputs *out)
{
    const vt_block_extra e = vt_vit_grid(p, m, pixels);

    encode(p, m, vt_vit_stem(p, m, pixels, e.gh, e.gw, o), e, o, out);
}

static const vt_mark marks[] = {
    {"_rpn_", VT_SAYS_POOL, 0, "avg"},
    {"aimv2", VT_SAYS_POOL, 0, "avg"},
    {"beit3", VT_SAYS_POOL, 0, "avg"},
    {"eva_large", VT_SAYS_POOL, 0, "avg"},
    {"test_vit2", VT_SAYS_POOL, 0, "avg"},
    {"test_vit4", VT_SAYS_POOL, 0, "avg"},
    {"test_vit3", VT_SAYS_POOL, 0, "map"},
    {"test_vit3", VT_SAYS_POOL_ALL, 0, NULL},
    {"beit3", VT_SAYS_EPS, 1e-5, NULL},
    {"aimv2", VT_SAYS_EPS, 1e-5, NULL},
    {"aimv2_", VT_SAYS_HEADS, -128, NULL},
    {"giant_patch14_reg1_tipsv2", VT_SAYS_HEADS, -64, NULL},
    {"giant_patch16_radio", VT_SAYS_HEADS, -64, NULL},
    {"test_vit", VT_SAYS_HEADS, -32, NULL},
    {"_radio_", VT_SAYS_BARE, 0, NULL},
    {"vit_intern300m", VT_SAYS_BARE, 0, NULL},
    {"aimv2_", VT_SAYS_RMS, 0, NULL},
    {"test_vit4", VT_SAYS_RMS, 0, NULL},
    {"aimv2_", VT_SAYS_PATCH_NORM, 0, NULL},
    {"_rpn_", VT_SAYS_POST_NORM, 0, NULL},
    {NULL, 0, 0, NULL},
};

static const vt_field fields[] = {
    VT_HF_PLAIN,
    SAME("qkv_bias", qkv_bias, true),
    HEAD("head_dim"),
    SEEN("pooler_output_size", pooler),
    TEXT("pooler_act", said.pooler_act),
    ONLY("is_hybrid", "false"), /* DPT's */
    END,
};
/* Of DPT only the ViT is read, not the layers for depth and segments. */
const vt_keys vt_hf_vit = {
    fields,
    VT_HF_DROPOUT
    "encoder_stride|"
    /* MAE's */
    "mask_ratio|norm_pix_loss|decoder_hidden_size|decoder_intermediate_size|"
    "decoder_num_attention_heads|decoder_num_hidden_layers|"
    /* DPT's */
    "use_pretrained_backbone|use_timm_backbone|backbone_kwargs|"
    "backbone_out_indices|backbone_featmap_shape|readout_type|"
    "reassemble_factors|neck_hidden_sizes|neck_ignore_stages|"
    "fusion_hidden_size|head_in_index|use_batch_norm_in_fusion_residual|"
    "use_bias_in_fusion_residual|add_projection|use_auxiliary_head|"
    "auxiliary_loss_weight|semantic_loss_ignore_index|"
    "semantic_classifier_dropout",
    "backbone|backbone_config"};

#define PLAIN(type)                                                            \
    .types = (type), .processor = "ViT", .keys = &vt_hf_vit, .eps = 1e-12f,    \
    .act = VT_ACT_GELU
static const vt_hf_class classes[] = {
    {PLAIN("vit|vit_mae")},
    {.types = "vit_msn",
     .processor = "ViT",
     .keys = &vt_hf_vit,
     .eps = 1e-6f,
     .act = VT_ACT_GELU},
    {.types = "dpt",
     .keys = &vt_hf_vit,
     .processor = "DPT",
     .eps = 1e-12f,
     .act = VT_ACT_GELU},
    {PLAIN("ijepa"), .no_class_token = true},
    {.types = NULL},
};

static const vt_writing as = {
    .timm = "vit_base_patch16_224",
    .type = "vit",
    .with_head = "ViTForImageClassification",
    .without = "ViTModel",
    .prefix = "vit.",
    .keys = &vt_hf_vit,
    .names = ROWS(vt_names_encoder, vt_names_key_bias, vt_names_classifier,
                  vt_names_layer),
};

static const vt_writing *writing(const vt_config *c)
{
    (void)c;
    return &as;
}

const vt_family vt_family_vit = {
    .processors = {{"ViT", .filter = VT_BILINEAR, .size = 224,
                    .mean = vt_halves, .std = vt_halves},
                   {"DPT", .filter = VT_BICUBIC, .size = 384, .mean = vt_halves,
                    .std = vt_halves}},
    .name = "vit",
    .looks = "ViT",
    .args = &vt_timm_vit,
    .hf = classes,
    .timm = "vit_*|flexivit_*|test_vit*|aimv2*|beit3_*|eva_large_*",
    .marks = marks,
    .writing = writing,
    .match = match,
    .configure = configure,
    .build = vt_vit_build,
    .finetunes = true,
};
