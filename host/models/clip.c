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
#include "models/vit.h"

#include <string.h>

bool vt_clip_match(const vt_json *config, const vt_weights *w)
{
    const char *name = vt_config_timm(config), *type = vt_config_hf(config);

    (void)w;
    return (strncmp(name, "vit_", 4) == 0 && strstr(name, "_clip_")) ||
           vt_one_of("clip|clip_vision_model|"
                     "metaclip_2|metaclip_2_vision_model|"
                     "chinese_clip|chinese_clip_vision_model|"
                     "altclip|altclip_vision_model",
                     type);
}

vitcl_status vt_clip_configure(vt_config *c, const vt_json *config,
                               const vt_weights *w, const char *path)
{
    vitcl_status st =
        vt_configure(c, config, w, path, 1e-5f, VT_ACT_GELU_QUICK);
    const char *bad = NULL;

    if (st != VITCL_OK)
        return st;
    c->pre_norm = true;
    vt_json_bool(&c->pre_norm,
                 vt_json_get(vt_json_get(config, "model_args"), "pre_norm"));
    c->patch_bias = vt_weight_has(w, "patch_embed.proj.bias");
    if (c->source == VT_SOURCE_HF) {
        if (strstr(c->name, "WithProjection") && !c->classes)
            vt_config_number(&c->classes, vt_config_vision(config),
                             "projection_dim", VT_MOST_WIDTH, &bad);
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

void vt_clip_build(vt_plan *p, const vt_model *m, vt_val pixels,
                   const vt_build_options *o, vt_outputs *out)
{
    const vt_config *c = vt_model_config(m);
    const vt_block_extra grid = vt_vit_grid(p, m, pixels);
    vt_val x, last;

    if (c->source != VT_SOURCE_HF || c->classes) {
        vt_vit_build(p, m, pixels, o, out);
        return;
    }
    x = vt_vit_patches(p, m, pixels);
    x = vt_vit_embed(p, m, x, grid.gh, grid.gw, o);
    x = vt_vit_blocks(p, c, x, VT_NO_EXTRA, o);
    last = x;
    if (vt_wanted(p, "block.%d", c->depth - 1))
        last = vt_scale(p, x, 1.0f); /* a value has one name */
    vt_name(p, last, "last_hidden_state");
    vt_keep(p, last);
    x = vt_layernorm_rows(p, x, vt_param(p, "norm.weight", 1, &c->width),
                          vt_param(p, "norm.bias", 1, &c->width), c->eps, 1);
    x = vt_pool(p, x, VT_POOL_TOKEN, 0);
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
