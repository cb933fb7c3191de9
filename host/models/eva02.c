/*
 * eva02.c - EVA and EVA-02 (Fang et al. 2022, 2023, arXiv:2211.07636,
 * arXiv:2303.11331), with timm's names.
 *
 * Easy to get wrong:
 *   - EVA-02 has absolute positions, and rotary ones in every block on q and k
 *     of the patches only; the two elements of a pair are adjacent, half of a
 *     head is rotated by the row and half by the column
 *   - the rotary grid is always scaled to that of the first training, 16 x 16
 *   - SwiGLU; base and large have a norm inside the MLP, the CLIP models also
 *     inside attention; no k bias
 *   - "clip" in the name does not mean eps 1e-5 here
 *   - EVA (without 02) has neither rotary positions nor SwiGLU; "enormous"
 *     has its norms after attention and MLP
 */
#include "base/memory.h"
#include "models/config.h"
#include "models/pos_resize.h"
#include "models/vit.h"

#include <string.h>

bool vt_eva02_match(const vt_json *config, const vt_weights *w)
{
    const char *name = vt_config_timm(config);

    (void)w;
    return strncmp(name, "eva02_", 6) == 0 ||
           strncmp(name, "eva_giant", 9) == 0;
}

vitcl_status vt_eva02_configure(vt_config *c, const vt_json *config,
                                const vt_weights *w, const char *path)
{
    vitcl_status st = VITCL_OK;
    const vt_json *args = vt_json_get(config, "model_args");
    const char *bad = NULL;
    bool rows = true;

    vt_json_bool(&rows, vt_json_get(args, "use_abs_pos_emb"));
    c->pos_optional = !rows;
    VT_TRY(vt_configure_timm(c, config, w, path));
    c->eps = 1e-6f;
    c->post_norm = strstr(c->name, "enormous") != NULL;
    c->rope = strncmp(c->name, "eva02_", 6) == 0 && !c->post_norm;
    vt_json_bool(&c->rope, vt_json_get(args, "use_rot_pos_emb"));
    vt_json_bool(&c->post_norm, vt_json_get(args, "use_post_norm"));
    c->rope_h = c->rope_w = 16;
    vt_config_pair(&c->rope_h, &c->rope_w, args, "ref_feat_shape", &bad);
    if (bad)
        VT_TRY(vt_bad_number(path, bad));
    if (c->attn_pool) /* it pools the class token, too */
        c->pool_all = true, c->pool_first = 0;
    if (c->rope && (c->width / c->heads) % 4)
        VT_TRY(vt_fail(VITCL_EUNSUPPORTED,
                       "%s: heads of %d are not a multiple of 4, which rotary "
                       "positions need",
                       path, c->width / c->heads));
done:
    return st;
}

void vt_eva02_build(vt_plan *p, const vt_model *m, vt_val pixels,
                    const vt_build_options *o, vt_outputs *out)
{
    const vt_config *c = vt_model_config(m);
    const vt_block_extra grid = vt_vit_grid(p, m, pixels);
    const int gh = grid.gh, gw = grid.gw;
    const int head = c->width / c->heads, n = gh * gw;
    vt_block_extra e = VT_NO_EXTRA;
    vitcl_status st = VITCL_OK;
    float *table = NULL;
    vt_val x;

    if (c->rope) {
        VT_TRY(VT_NEW(&table, (size_t)n * 2 * (size_t)head));
        vt_rope_table(table, gh, gw, c->rope_h, c->rope_w, head);
        e.rope = vt_const(p, "rope", 3, (int[]){n, 2, head}, table);
    }
    x = vt_vit_patches(p, m, pixels);
    x = vt_vit_embed(p, m, x, gh, gw, o);
    x = vt_vit_blocks(p, c, x, e, o);
    vt_vit_head(p, m, x, o, out);
done:
    free(table);
    vt_plan_fail(p, st);
}
