/*
 * pos_embed.c - the positions that the paper compares (appendix D.4): 1-D, 2-D
 * or relative; at the stem or before each block.
 *
 * Published models have only 1-D positions at the stem; `vitcl train` can make
 * the others. The paper does not say what they do for the class token. Here it
 * has no 2-D position, and relative positions have three more keys
 * (vt_relkeys()). For resizing see pos_resize.c.
 */
#include "models/config.h"
#include "models/vit.h"

#include <stdio.h>

/* A learnt table for this grid. */
static vt_val table(vt_plan *p, const vt_config *c, const char *prefix,
                    const char *tail, int gh, int gw, int rows, int width)
{
    char name[64];
    int n = snprintf(name, sizeof name, "%spos_embed%s", prefix, tail);

    if (c->pos_h || c->tokens_last || !vt_config_native(c, gh, gw))
        snprintf(name + n, sizeof name - (size_t)n, "@%dx%d", gh, gw);
    return vt_param(p, name, 2, (int[]){rows, width});
}

vt_val vt_pos_table(vt_plan *p, const vt_config *c, const char *prefix, int gh,
                    int gw)
{
    return table(p, c, prefix, "", gh, gw, c->pos_prefix + gh * gw, c->width);
}

vt_val vt_pos_add(vt_plan *p, const vt_config *c, vt_val x, const char *prefix,
                  int gh, int gw)
{
    const int half = c->width / 2;

    if (c->pos_kind == VT_POS_1D)
        return vt_add_rows(p, x, vt_pos_table(p, c, prefix, gh, gw));
    return vt_add_grid(p, x, table(p, c, prefix, "_x", gh, gw, gw, half),
                       table(p, c, prefix, "_y", gh, gw, gh, half));
}

vt_val vt_pos_inject(vt_plan *p, const vt_config *c, int i, vt_val x,
                     const vt_block_extra *e)
{
    char prefix[24] = "";

    if (c->pos_injection == VT_AT_STEM || c->pos_injection == VT_AT_BETWEEN)
        return x;
    if (!e->gh)
        return vt_plan_fail(p, vt_fail(VITCL_EUNSUPPORTED,
                                       "positions inside of blocks are for "
                                       "plain ViTs and hybrids, not for %s",
                                       c->name));
    if (c->pos_kind == VT_POS_RELATIVE)
        return x;
    if (c->pos_injection == VT_AT_LAYERS)
        snprintf(prefix, sizeof prefix, "blocks.%d.", i);
    return vt_pos_add(p, c, x, prefix, e->gh, e->gw);
}

vt_val vt_pos_bias(vt_plan *p, const vt_config *c, int i, vt_val qkv,
                   int prefix, const vt_block_extra *e)
{
    const int rows = 2 * e->gh * e->gw - 1 + (prefix ? 3 : 0);
    char name[48] = "rel_pos_keys";

    if (!vt_config_native(c, e->gh, e->gw))
        return vt_plan_fail(
            p, vt_fail(VITCL_EUNSUPPORTED,
                       "offsets in row-major order belong to pictures of %dx%d "
                       "pixels, where they were learnt",
                       c->height, c->width_px));
    if (c->pos_injection == VT_AT_LAYERS)
        snprintf(name, sizeof name, "blocks.%d.attn.rel_pos_keys", i);
    return vt_relkeys(p, qkv, vt_param(p, name, 2, (int[]){rows, c->width}),
                      c->heads, prefix);
}
