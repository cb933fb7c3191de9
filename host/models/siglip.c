/*
 * siglip.c - the vision tower of SigLIP and SigLIP 2 (Zhai et al. 2023,
 * arXiv:2303.15343; Tschannen et al. 2025, arXiv:2502.14786).
 *
 * timm's and HF's names.
 *
 * Easy to get wrong:
 *   - no class token: a learnt query pools the patches by attention, and an
 *     MLP with its own norm is added behind it
 *   - the norm runs on all tokens before the pool
 *   - HF's SiglipForImageClassification takes the mean of the patches instead,
 *     and leaves the learnt query that is still in its files unused
 *   - HF's files want the tanh GELU; timm runs SigLIP 1 with the exact one
 *     and only those SigLIP 2 towers with tanh that are new in it
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
