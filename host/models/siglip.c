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
#include "models/vit.h"

#include <string.h>

bool vt_siglip_match(const vt_json *config, const vt_weights *w)
{
    const char *type = vt_config_hf(config);

    (void)w;
    return strstr(vt_config_timm(config), "_siglip") ||
           strcmp(type, "siglip") == 0 ||
           strcmp(type, "siglip_vision_model") == 0;
}

vitcl_status vt_siglip_configure(vt_config *c, const vt_json *config,
                                 const vt_weights *w, const char *path)
{
    vitcl_status st = vt_configure(c, config, w, path, 1e-6f, VT_ACT_GELU_TANH);
    bool head = true;

    if (st != VITCL_OK || c->source != VT_SOURCE_HF)
        return st;
    vt_json_bool(&head,
                 vt_json_get(vt_config_vision(config), "vision_use_head"));
    c->attn_pool = head && !c->classes;
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
