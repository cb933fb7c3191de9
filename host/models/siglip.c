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

#include <string.h>

vitcl_status vt_siglip_configure(vt_config *c, const vt_json *config,
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

void vt_siglip_build(vt_plan *p, const vt_model *m, vt_val pixels,
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

static const vt_hf_class classes[] = {
    {.types = "siglip",
     .processor = "Siglip",
     .keys = &vt_hf_tower,
     .towers = true,
     .text = &vt_siglip_text,
     .eps = 1e-6f,
     .act = VT_ACT_GELU_TANH,
     .no_class_token = true},
    {.types = NULL},
};

const vt_family vt_family_siglip = {
    .name = "siglip",
    .looks = "SigLIP vision tower",
    .looks_text = "SigLIP text tower",
    .args = &vt_timm_vit,
    .hf = classes,
    .timm = "*_siglip*",
    .marks = marks,
    .configure = vt_siglip_configure,
    .build = vt_siglip_build,
    .idle_head = true,
};
