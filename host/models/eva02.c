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
#include "models/config.h"
#include "models/family.h"
#include "models/fields.h"
#include "models/rope.h"

#include <string.h>

static void begin(vt_config *c)
{
    const bool enormous = strstr(c->name, "enormous") != NULL;
    const bool rotary = strncmp(c->name, "eva02_", 6) == 0 && !enormous;

    c->post_norm = enormous;
    c->said.rows = true;
    c->said.rotary = rotary;
    c->rope = (vt_rope_rule){.kind = VT_ROPE_INDEX, .temperature = 10000};
    if (rotary)
        c->rope.ref_h = c->rope.ref_w = 16;
}

static vitcl_status configure(vt_config *c, const vt_json *config,
                              const vt_weights *w, const char *path)
{
    c->pos_optional = !c->said.rows;
    VT_RET(vt_configure_timm(c, config, w, path));
    VT_RET(vt_refuse_groups(vt_json_get(config, "model_args"), path));
    if (!c->said.rotary)
        c->rope.kind = VT_ROPE_NONE;
    if (c->attn_pool) /* it pools the class token, too */
        c->pool_all = true, c->pool_first = 0;
    return vt_rope_check(c, path);
}

static const vt_mark marks[] = {
    {"_clip_", VT_SAYS_POOL, 0, "token"},
    {"", VT_SAYS_POOL, 0, "avg"},
    {"", VT_SAYS_EPS, 1e-6, NULL},
    {NULL, 0, 0, NULL},
};

/* EVA is written as a ViT; EVA-02 has what no class of HF has. */
static const vt_writing *writing(const vt_config *c)
{
    (void)c;
    return NULL;
}

const vt_family vt_family_eva02 = {
    .name = "eva02",
    .looks = "EVA",
    .timm = "eva02_*|eva_giant*",
    .args = &vt_timm_eva,
    .marks = marks,
    .begin = begin,
    .writing = writing,
    .configure = configure,
    .build = vt_rope_build,
    .fixed_norm = true,
    .own_positions = true,
    .no_key_bias = true,
};
