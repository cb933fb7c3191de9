/*
 * table.c - a ViT whose blocks add a table of relative positions to attention's
 * logits: one table a block, one for all, or both.
 */
#include "models/config.h"
#include "models/pos_resize.h"
#include "models/vit.h"

#include "base/memory.h"

#include <stdio.h>
#include <string.h>

/* [H,T,T] from one table. */
static vt_val bias_of(vt_plan *p, const vt_config *c, const char *prefix,
                      int gh, int gw, const int *index)
{
    const int T = gh * gw + c->class_token;
    int rows = (2 * gh - 1) * (2 * gw - 1);
    char name[96];

    if (c->rel_pos == VT_TABLE_MLP) {
        rows += c->class_token;
        snprintf(name, sizeof name, "%s@%dx%d", prefix, gh, gw);
    } else {
        rows += c->class_token ? 3 : 0;
        snprintf(name, sizeof name, "%s.relative_position_bias_table", prefix);
        if (!vt_config_native(c, gh, gw) || (c->rel_pos_turned && gh != gw))
            snprintf(name + strlen(name), sizeof name - strlen(name), "@%dx%d",
                     gh, gw);
    }
    return vt_relpos_bias(p, vt_param(p, name, 2, (int[]){rows, c->heads}),
                          c->heads, T, T, index);
}

void vt_table_build(vt_plan *p, const vt_model *m, vt_val pixels,
                    const vt_build_options *o, vt_outputs *out,
                    const char *shared, const char *own)
{
    const vt_config *c = vt_model_config(m);
    const vt_block_extra grid = vt_vit_grid(p, m, pixels);
    const int gh = grid.gh, gw = grid.gw;
    const int rows = (2 * gh - 1) * (2 * gw - 1);
    const size_t T = (size_t)gh * (size_t)gw + c->class_token;
    vt_block_extra e = VT_NO_EXTRA;
    vitcl_status st = VITCL_OK;
    int *index = NULL;
    char prefix[64];
    vt_val x, all = VT_NONE;

    if (T > 4096)
        VT_TRY(vt_fail(
            VITCL_EUNSUPPORTED,
            "relative positions of %zu tokens; at most 4096 are supported", T));
    VT_TRY(VT_NEW(&index, T * T));
    vt_table_index(index, gh, gw, c->class_token ? 3 : 0);
    for (size_t i = 0; c->rel_pos == VT_TABLE_MLP && i < T * T; i++)
        index[i] = VT_MIN(index[i], rows); /* one row of zeros for the class */
    x = vt_vit_stem(p, m, pixels, gh, gw, o);
    if (c->rel_pos && c->rel_pos_shared)
        e.bias = all = bias_of(p, c, shared, gh, gw, index);
    for (int i = 0; i < c->depth; i++) {
        snprintf(prefix, sizeof prefix, "blocks.%d.%s", i, own);
        if (c->rel_pos && (!c->rel_pos_shared || c->rel_pos_both))
            e.bias = bias_of(p, c, prefix, gh, gw, index);
        if (c->rel_pos_both)
            e.bias = vt_add(p, e.bias, all);
        e.rows = vt_vit_block_rows(p, c, i);
        x = vt_vit_block(p, c, i, x, e, o);
    }
    vt_vit_head(p, m, x, o, out);
done:
    free(index);
    vt_plan_fail(p, st);
}
