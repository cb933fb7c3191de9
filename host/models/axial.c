/*
 * axial.c - the paper's Axial-ViT (appendix D.6; Ho et al. 2019,
 * arXiv:1912.12180; Wang et al. 2020, arXiv:2003.07853).
 *
 *   blocks 0, 2, ...: a patch attends to those in its row of the grid
 *   blocks 1, 3, ...: ... to those in its column
 *
 * Each has its own MLP, so that two of these blocks are in place of one of a
 * ViT, and an Axial-ViT of the same name has twice the parameters in its
 * blocks. Its tensors are those of a ViT of that depth.
 *
 * The paper does not say where its class token is. Here there is none, as it
 * has neither row nor column: the head reads the mean of the patches. No
 * published model is axial, so "attention": "axial" of model_args is vitcl's
 * own word.
 */
#include "models/config.h"
#include "models/family.h"
#include "models/fields.h"
#include "models/vit.h"

#include <string.h>

static bool match(const vt_json *config, const vt_weights *w)
{
    (void)w;
    return strncmp(vt_config_timm(config), "vit_", 4) == 0 &&
           strcmp(
               vt_config_text(vt_json_get(config, "model_args"), "attention"),
               "axial") == 0;
}

static vitcl_status configure(vt_config *c, const vt_json *config,
                              const vt_weights *w, const char *path)
{
    c->axial = true;
    VT_RET(vt_configure_timm(c, config, w, path));
    if (c->class_token || c->dist_token || c->registers || c->depth % 2 ||
        c->pos_kind == VT_POS_RELATIVE)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: axial attention is for a grid of patches and pairs "
                       "of blocks: no class token, no registers, an even depth "
                       "and no relative positions",
                       path);
    return VITCL_OK;
}

static void build(vt_plan *p, const vt_model *m, vt_val pixels,
                  const vt_build_options *o, vt_outputs *out)
{
    const vt_config *c = vt_model_config(m);
    vt_block_extra e = vt_vit_grid(p, m, pixels);
    vt_val x = vt_vit_stem(p, m, pixels, e.gh, e.gw, o);

    for (int i = 0; i < c->depth; i++) {
        e.to = i % 2 ? VT_TO_COLUMNS : VT_TO_ROWS;
        e.rows = vt_vit_block_rows(p, c, i);
        x = vt_vit_block(p, c, i, x, e, o);
    }
    vt_vit_head(p, m, x, o, out);
}

const vt_family vt_family_axial = {
    .name = "axial",
    .looks = "axial ViT",
    .args = &vt_timm_vit,
    .match = match,
    .configure = configure,
    .build = build,
    .own_positions = true,
};
