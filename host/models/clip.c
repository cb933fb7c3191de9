/*
 * clip.c - the vision tower of CLIP (Radford et al. 2021, arXiv:2103.00020),
 * and those of MetaCLIP 2, Chinese CLIP and AltCLIP, which are the same.
 *
 * With timm's and HF's names. The output is usually an embedding.
 *
 * Easy to get wrong:
 *   - a norm before block 0 (HF spells it pre_layrnorm), no patch bias
 *   - OpenAI's weights need the quick GELU x * sigmoid(1.702 x), LAION's the
 *     exact one; eps is 1e-5
 *   - HF's last_hidden_state is taken before post_layernorm, which is
 *     applied to the class token only
 *   - HF's CLIPForImageClassification reads the mean of the patches before
 *     post_layernorm, which it does not use
 *   - the projection has no bias; image_embeds are not normalised
 */
#include "models/config.h"
#include "models/family.h"
#include "models/fields.h"
#include "models/vit.h"
#include "weights/dialect_rows.h"

#include <string.h>

static vitcl_status configure(vt_config *c, const vt_json *config,
                              const vt_weights *w, const char *path)
{
    vitcl_status st = vt_configure(c, config, w, path);

    if (st != VITCL_OK)
        return st;
    c->pre_norm = c->source == VT_SOURCE_HF || c->said.pre_norm;
    c->patch_bias = vt_weight_has(w, "patch_embed.proj.bias");
    if (c->source == VT_SOURCE_HF) {
        if (strstr(c->name, "WithProjection") && !c->classes)
            c->classes = c->said.projection;
        if (strstr(c->name, "ForImageClassification")) {
            c->pool = VT_POOL_MEAN;
            c->pool_first = 1;
            c->final_norm = false;
            return st;
        }
        c->projection = c->classes;
        c->classes = 0;
    }
    return st;
}

static void build(vt_plan *p, const vt_model *m, vt_val pixels,
                  const vt_build_options *o, vt_outputs *out)
{
    const vt_config *c = vt_model_config(m);
    const vt_block_extra grid = vt_vit_grid(p, m, pixels);
    vt_val x, last;

    if (c->source != VT_SOURCE_HF || c->classes) {
        vt_vit_build(p, m, pixels, o, out);
        return;
    }
    x = vt_vit_stem(p, m, pixels, grid.gh, grid.gw, o);
    x = vt_vit_blocks(p, c, x, VT_NO_EXTRA, o);
    last = x;
    if (vt_wanted(p, "block.%d", c->depth - 1))
        last = vt_scale(p, x, 1.0f); /* a value has one name */
    vt_name(p, last, "last_hidden_state");
    vt_keep(p, last);
    x = vt_norm_token(p, x, vt_param(p, "norm.weight", 1, &c->width),
                      vt_param(p, "norm.bias", 1, &c->width), c->eps, false);
    vt_name(p, x, "pooler_output");
    vt_keep(p, x);
    out->features = x;
    if (!c->projection)
        return;
    x = vt_dense(p, x, "head", c->projection, false, VT_ACT_NONE, VT_NONE,
                 VT_NONE);
    vt_name(p, x, "image_embeds");
    out->features = x;
}

#define OF_TEXTS                                                               \
    .width = 512, .mlp = 2048, .heads = 8, .context = 77, .vocabulary = 49408, \
    .act = VT_ACT_GELU_QUICK, .eps = 1e-5f, .end_kind = VT_END_TOKEN,          \
    .logit_scale = 100
static const vt_text_class text = {.two_is_highest = true, OF_TEXTS},
                           metaclip_text = {OF_TEXTS};

static const vt_field fields[] = {
    VT_HF_PLAIN,
    COUNT("projection_dim", said.projection, VT_MOST_WIDTH, 0),
    END,
};
static const vt_keys keys = {fields, "attention_dropout|dropout", NULL};

#define BOTH(type)                                                             \
    .types = (type), .keys = &keys, .towers = true, .dict = true,              \
    .eps = 1e-5f, .act = VT_ACT_GELU_QUICK
static const vt_hf_class classes[] = {
    {BOTH("clip"), .processor = "CLIP", .text = &text},
    {BOTH("metaclip_2"), .processor = "CLIP", .text = &metaclip_text},
    {BOTH("chinese_clip"), .processor = "ChineseCLIP",
     .other = "Chinese CLIP's, a BERT"},
    {BOTH("altclip"), .processor = "CLIP",
     .other = "AltCLIP's, an XLM-RoBERTa"},
    {.types = NULL},
};

/* "pre_layrnorm" is their spelling. */
static const vt_row names[] = {
    WITH("embeddings.class_embedding", "cls_token", .layout = VT_TOKEN),
    AS("pre_layrnorm.%", "norm_pre.%"),
    AS("visual_projection.weight", "head.weight"),
    END_ROWS,
};

#define WRITTEN                                                                \
    .eps = 1e-5f, .type = "clip_vision_model",                                 \
    .with_head = "CLIPVisionModelWithProjection",                              \
    .without = "CLIPVisionModel", .prefix = "vision_model.", .tower = true,    \
    .embeds = true, .keys = &keys, .names = ROWS(vt_names_tower, names),       \
    .unbiased = "CLIP without biases of q, k and v"
static const vt_writing gelu = {.timm = "vit_base_patch16_clip_224", WRITTEN},
                        quick = {.timm = "vit_base_patch16_clip_quickgelu_224",
                                 .act = VT_ACT_GELU_QUICK,
                                 WRITTEN};

static const vt_writing *writing(const vt_config *c)
{
    return !c->pre_norm ? NULL : c->act == VT_ACT_GELU_QUICK ? &quick : &gelu;
}

const vt_family vt_family_clip = {
    .processors = {{"CLIP", VT_CLIP_PIXELS}, {"ChineseCLIP", VT_CLIP_PIXELS}},
    .name = "clip",
    .looks = "CLIP vision tower",
    .looks_text = "CLIP text tower",
    .args = &vt_timm_vit,
    .hf = classes,
    .timm = "vit_*_clip_*|vit_clip_*",
    .names.rows = {[VT_NAMES_HF] = ROWS(names)},
    .writing = writing,
    .configure = configure,
    .build = build,
    .idle_head = true,
};
