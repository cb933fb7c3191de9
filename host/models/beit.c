/*
 * beit.c - BEiT and BEiT v2 (Bao et al. 2021, arXiv:2106.08254; Peng et al.
 * 2022, arXiv:2208.06366), with timm's and HF's names.
 *
 * Easy to get wrong:
 *   - usually no absolute positions; each layer adds to the attention logits a
 *     table entry for the offset between two patches. The last three entries
 *     are class to patch, patch to class, class to itself
 *   - q and v have a bias, k has none (zeros in the joined bias)
 *   - the feature is the mean of the patches without the class token,
 *     normalised after the pool; HF calls that norm pooler.layernorm
 *   - without a pooler HF returns the last block's tokens unchanged
 *   - eps: 1e-12 in HF files, 1e-6 in timm
 *   - timm resizes tables geometrically, HF bilinearly
 */
#include "models/config.h"
#include "models/vit.h"

#include <string.h>

bool vt_beit_match(const vt_json *config, const vt_weights *w)
{
    const char *name = vt_config_timm(config);

    (void)w;
    return strncmp(name, "beit_", 5) == 0 || strncmp(name, "beitv2_", 7) == 0 ||
           strcmp(vt_config_hf(config), "beit") == 0;
}

vitcl_status vt_beit_configure(vt_config *c, const vt_json *config,
                               const vt_weights *w, const char *path)
{
    vitcl_status st;
    bool mean = true;

    c->pos_optional = true;
    vt_json_bool(&mean, vt_json_get(config, "use_mean_pooling"));
    /* BeitModel(add_pooling_layer=False) has no norm either */
    c->norm_optional =
        vt_config_hf(config)[0] && mean && !vt_weight_has(w, "head.weight");
    st = vt_configure(c, config, w, path, 1e-12f, VT_ACT_GELU);
    if (st != VITCL_OK)
        return st;
    c->class_token = true;
    if (c->source == VT_SOURCE_HF) {
        c->pool = c->fc_norm ? VT_POOL_MEAN : VT_POOL_TOKEN;
        c->pool_first = c->fc_norm ? 1 : 0;
    }
    c->rel_pos_shared =
        vt_weight_has(w, "rel_pos_bias.relative_position_bias_table");
    if (c->rel_pos_shared || !c->pos_embed)
        c->rel_pos = VT_TABLE_LEARNT;
    for (int i = 0; i < c->depth; i++)
        if (vt_weight_has(w, "blocks.%d.attn.relative_position_bias_table", i))
            c->rel_pos = VT_TABLE_LEARNT;
    return VITCL_OK;
}

void vt_beit_build(vt_plan *p, const vt_model *m, vt_val pixels,
                   const vt_build_options *o, vt_outputs *out)
{
    vt_table_build(p, m, pixels, o, out, "rel_pos_bias", "attn");
    if (vt_plan_status(p) == VITCL_OK &&
        vt_vit_returns_tokens(vt_model_config(m)))
        vt_vit_return(p, out->features, "pooler_output");
}
