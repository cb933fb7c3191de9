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
#include "base/memory.h"
#include "models/config.h"
#include "models/pos_resize.h"
#include "models/vit.h"

#include <stdio.h>
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

/* [H,T,T] from one table. */
static vt_val bias_of(vt_plan *p, const vt_config *c, const char *prefix,
                      int gh, int gw, const int *index)
{
    const int T = gh * gw + c->class_token;
    const int rows = (2 * gh - 1) * (2 * gw - 1) + (c->class_token ? 3 : 0);
    char name[96];
    size_t n;

    n = (size_t)snprintf(name, sizeof name, "%s.relative_position_bias_table",
                         prefix);
    if (!vt_config_native(c, gh, gw))
        snprintf(name + n, sizeof name - n, "@%dx%d", gh, gw);
    return vt_relpos_bias(p, vt_param(p, name, 2, (int[]){rows, c->heads}),
                          c->heads, T, T, index);
}

void vt_beit_build(vt_plan *p, const vt_model *m, vt_val pixels,
                   const vt_build_options *o, vt_outputs *out)
{
    const vt_config *c = vt_model_config(m);
    const vt_block_extra grid = vt_vit_grid(p, m, pixels);
    const int gh = grid.gh, gw = grid.gw;
    const size_t T = (size_t)gh * (size_t)gw + c->class_token;
    vt_block_extra e = VT_NO_EXTRA;
    vitcl_status st = VITCL_OK;
    int *index = NULL;
    char prefix[64];
    vt_val x;

    if (T > 4096)
        VT_TRY(vt_fail(VITCL_EUNSUPPORTED,
                       "relative positions of %zu tokens; 4096 are the most",
                       T));
    VT_TRY(VT_NEW(&index, T * T));
    vt_table_index(index, gh, gw, c->class_token ? 3 : 0);
    x = vt_vit_patches(p, m, pixels);
    x = vt_vit_embed(p, m, x, gh, gw, o);
    if (c->rel_pos && c->rel_pos_shared)
        e.bias = bias_of(p, c, "rel_pos_bias", gh, gw, index);
    for (int i = 0; i < c->depth; i++) {
        snprintf(prefix, sizeof prefix, "blocks.%d.attn", i);
        if (c->rel_pos && !c->rel_pos_shared)
            e.bias = bias_of(p, c, prefix, gh, gw, index);
        e.rows = vt_vit_block_rows(p, c, i);
        x = vt_vit_block(p, c, i, x, e, o);
    }
    vt_vit_head(p, m, x, o, out);
    if (vt_vit_returns_tokens(c))
        vt_vit_return(p, out->features, "pooler_output");
done:
    free(index);
    vt_plan_fail(p, st);
}
