/*
 * siglip.c - the vision tower of SigLIP and SigLIP 2 (Zhai et al. 2023,
 * arXiv:2303.15343; Tschannen et al. 2025, arXiv:2502.14786).
 *
 * With timm's and HF's names.
 *
 * Easy to get wrong:
 *   - no class token: a learnt query pools the patches by attention, followed
 *     by an MLP with its own norm and a residual
 *   - the norm runs on all tokens before the pool
 *   - HF's SiglipForImageClassification uses the mean of the patches instead;
 *     the learnt query is still in its files
 *   - HF files need the tanh GELU; timm uses the exact one for SigLIP 1 and
 *     tanh only for the SigLIP 2 towers that SigLIP 1 does not have
 */
#include "models/config.h"
#include "models/family.h"
#include "models/fields.h"
#include "models/vit.h"
#include "weights/dialect_rows.h"

#include <string.h>

vitcl_status vt_map_configure(vt_config *c, const vt_json *config,
                              const vt_weights *w, const char *path)
{
    vitcl_status st = vt_configure(c, config, w, path);

    if (st != VITCL_OK || c->source != VT_SOURCE_HF)
        return st;
    c->attn_pool = c->said.head && !c->classes;
    if (!c->attn_pool)
        c->pool = VT_POOL_MEAN;
    return st;
}

void vt_map_build(vt_plan *p, const vt_model *m, vt_val pixels,
                  const vt_build_options *o, vt_outputs *out)
{
    const vt_config *c = vt_model_config(m);

    vt_vit_build(p, m, pixels, o, out);
    if (c->source == VT_SOURCE_HF && c->attn_pool)
        vt_vit_return(p, out->features, "pooler_output");
}

static const vt_mark marks[] = {
    {"_gap_", VT_SAYS_POOL, 0, "avg"},
    {"", VT_SAYS_POOL, 0, "map"},
    {"patch32_siglip", VT_SAYS_ACT, VT_ACT_GELU_TANH, NULL},
    {"giantopt_patch16_siglip", VT_SAYS_ACT, VT_ACT_GELU_TANH, NULL},
    {"so400m_patch16_siglip", VT_SAYS_ACT, VT_ACT_GELU_TANH, NULL},
    {"large_patch16_siglip_512", VT_SAYS_ACT, VT_ACT_GELU_TANH, NULL},
    {"large_patch16_siglip_gap_512", VT_SAYS_ACT, VT_ACT_GELU_TANH, NULL},
    {NULL, 0, 0, NULL},
};

const vt_text_class vt_siglip_text = {
    .sigmoid = true,
    .width = 768,
    .mlp = 3072,
    .heads = 12,
    .context = 64,
    .vocabulary = 32000,
    .act = VT_ACT_GELU_TANH,
    .eps = 1e-6f,
    .end_kind = VT_END_LAST,
    .logit_scale = 10,
    .logit_bias = -10,
    .projection = "projection_size",
};

static const vt_field fields[] = {
    VT_HF_PLAIN,
    COUNT("projection_dim", said.projection, VT_MOST_WIDTH, 0),
    FLAG("vision_use_head", said.head, true),
    END,
};
static const vt_keys keys = {fields, "attention_dropout|dropout", NULL};

static const vt_hf_class classes[] = {
    {.types = "siglip",
     .processor = "Siglip",
     .keys = &keys,
     .towers = true,
     .text = &vt_siglip_text,
     .eps = 1e-6f,
     .act = VT_ACT_GELU_TANH,
     .no_class_token = true},
    {.types = NULL},
};

static const vt_row names[] = {
    AS("head.probe", "attn_pool.latent"),
    WITH("head.attention.in_proj_%", "attn_pool.q.%", .first = 0, .last = 0,
         .of = 3),
    WITH("head.attention.in_proj_%", "attn_pool.kv.%", .first = 1, .last = 2,
         .of = 3),
    AS("head.attention.out_proj.%", "attn_pool.proj.%"),
    AS("head.layernorm.%", "attn_pool.norm.%"),
    AS("head.mlp.fc1.%", "attn_pool.mlp.fc1.%"),
    AS("head.mlp.fc2.%", "attn_pool.mlp.fc2.%"),
    END_ROWS,
};

static const vt_writing as = {
    .timm = "vit_base_patch16_siglip_224",
    .no_class_token = true,
    .no_embed_class = true,
    .type = "siglip_vision_model",
    .with_head = "SiglipVisionModel",
    .without = "SiglipVisionModel",
    .prefix = "vision_model.",
    .tower = true,
    .keys = &keys,
    .names = ROWS(vt_names_tower, names),
    .any_tokens = true,
    .unbiased = "SigLIP without biases of q, k and v",
};

static const vt_writing *writing(const vt_config *c)
{
    return c->attn_pool ? &as : NULL;
}

const vt_family vt_family_siglip = {
    .processors = {{"Siglip", .filter = VT_BICUBIC, .size = 224,
                    .number_shortest = true, .on_white = true,
                    .mean = vt_halves, .std = vt_halves}},
    .name = "siglip",
    .looks = "SigLIP vision tower",
    .looks_text = "SigLIP text tower",
    .args = &vt_timm_vit,
    .hf = classes,
    .timm = "*_siglip*",
    .marks = marks,
    .names.rows = {[VT_NAMES_HF] = ROWS(names)},
    .writing = writing,
    .configure = vt_map_configure,
    .build = vt_map_build,
    .idle_head = true,
};
