/*
 * relpos.c - timm's ViTs with relative positions (vit_relpos_*, vit_srelpos_*):
 * no absolute positions, often no class token, mean pooling.
 *
 * The bias of attention comes from a small MLP on the logarithm of the offset
 * (Liu et al. 2021, arXiv:2111.09883), in each block or once for all
 * ("srelpos"), or from a learnt table as in BEiT. The MLP runs on the host: its
 * output is the parameter <prefix>.rel_pos@HxW with one row per offset.
 *
 * Easy to get wrong:
 *   - timm's default mode has sign(d) * log(1 + |d|) without scaling, so that
 *     another size needs no resizing; the "swin" mode scales by the window to
 *     -8..8, takes log2, divides by 3, and applies 16 * sigmoid at the end
 *   - the class token's bias is 0 (here one row of zeros)
 *   - in the "swin" mode the MLP's second layer has no bias
 *   - "rpn" models have their norms after attention and MLP, not before
 */
#include "base/memory.h"
#include "models/config.h"
#include "models/derived.h"
#include "models/family.h"
#include "models/fields.h"
#include "models/model_private.h"
#include "models/vit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static vitcl_status configure(vt_config *c, const vt_json *config,
                              const vt_weights *w, const char *path)
{
    const char *type = c->said.rel_pos;

    c->pos_optional = true;
    VT_RET(vt_configure_timm(c, config, w, path));
    c->rel_pos = VT_TABLE_MLP;
    c->rel_pos_shared = strstr(c->name, "srelpos_") != NULL;
    c->rel_pos_swin = type && strstr(type, "swin");
    for (size_t i = 0; i < vt_weights_count(w); i++) {
        const char *name = vt_weights_at(w, i)->name;
        if (strncmp(name, "shared_rel_pos.", 15) == 0)
            c->rel_pos_shared = true;
        if (strstr(name, "relative_position_bias_table"))
            c->rel_pos = VT_TABLE_LEARNT;
    }
    return VITCL_OK;
}

/* The MLP's input for offset d along an axis of n patches. */
static float log_offset(int d, int n, bool swin)
{
    float x = (float)d;

    if (swin) {
        x = n > 1 ? x / (float)(n - 1) * 8 : 0;
        return copysignf(log2f(1 + fabsf(x)) / 3, x);
    }
    return copysignf(logf(1 + fabsf(x)), x);
}

typedef struct offset_mlp {
    float *w1, *b1, *w2,
        *b2; /* [hidden,2], [hidden], [heads,hidden], [heads] */
    int hidden, heads;
    bool swin;
} offset_mlp;

static void run_mlp(float *out, const offset_mlp *f, float y, float x)
{
    for (int h = 0; h < f->heads; h++) {
        double sum = f->b2 ? f->b2[h] : 0;
        for (int i = 0; i < f->hidden; i++) {
            const float a = f->w1[2 * i] * y + f->w1[2 * i + 1] * x + f->b1[i];
            sum += (double)(a > 0 ? a : 0) * f->w2[h * f->hidden + i];
        }
        out[h] = (float)(f->swin ? 16 / (1 + exp(-sum)) : sum);
    }
}

static vitcl_status part(float **out, const vt_model *m, const char *prefix,
                         const char *tail, uint64_t count)
{
    char name[96];

    snprintf(name, sizeof name, "%s.mlp.%s", prefix, tail);
    return vt_stored_weight(out, m, name, count);
}

/* out[(2h-1)(2w-1) (+ 1 row of zeros), heads] */
vitcl_status vt_relpos_mlp(float *out, const vt_model *m, const char *prefix,
                           int h, int w, uint64_t count)
{
    vitcl_status st = VITCL_OK;
    const vt_config *c = &m->config;
    offset_mlp f = {.heads = c->heads};
    char name[96];
    const uint64_t heads = (uint64_t)c->heads;
    const uint64_t rows =
        (uint64_t)(2 * h - 1) * (uint64_t)(2 * w - 1) + c->class_token;
    float *to = out;

    snprintf(name, sizeof name, "%s.mlp.fc1.weight", prefix);
    f.hidden = vt_weight_dim(m->weights, name, 0);
    f.swin = c->rel_pos_swin;
    if (count != rows * heads)
        VT_TRY(vt_fail(VITCL_EINVAL, "%s: misshapen", prefix));
    if (f.hidden < 1 || f.hidden > VT_MOST_WIDTH)
        VT_TRY(vt_fail(VITCL_ECORRUPT,
                       "%s: %s.mlp.fc1.weight is missing or misshapen", m->path,
                       prefix));
    VT_TRY(part(&f.w1, m, prefix, "fc1.weight", 2 * (uint64_t)f.hidden));
    VT_TRY(part(&f.b1, m, prefix, "fc1.bias", (uint64_t)f.hidden));
    VT_TRY(part(&f.w2, m, prefix, "fc2.weight", heads * (uint64_t)f.hidden));
    if (!f.swin)
        VT_TRY(part(&f.b2, m, prefix, "fc2.bias", heads));
    for (int y = 1 - h; y < h; y++)
        for (int x = 1 - w; x < w; x++, to += heads)
            run_mlp(to, &f, log_offset(y, h, f.swin), log_offset(x, w, f.swin));
    if (c->class_token)
        memset(to, 0, heads * sizeof *to);
done:
    free(f.w1);
    free(f.b1);
    free(f.w2);
    free(f.b2);
    return st;
}

static void build(vt_plan *p, const vt_model *m, vt_val pixels,
                  const vt_build_options *o, vt_outputs *out)
{
    vt_table_build(p, m, pixels, o, out, "shared_rel_pos", "attn.rel_pos");
}

static const vt_field fields[] = {
    VT_TIMM_FIELDS,
    SEEN("qk_norm", qk_norm),
    SEEN("class_token", class_token),
    SEEN("fc_norm", fc_norm),
    TEXT("rel_pos_type", said.rel_pos),
    SEEN("rel_pos_dim", rel_pos),
    SEEN("shared_rel_pos", rel_pos_shared),
    END,
};
static const vt_keys args = {fields, VT_TIMM_DROPOUT "weight_init|fix_init",
                             "embed_layer|block_fn"};

static const vt_mark marks[] = {
    {"_cls_", VT_SAYS_POOL, 0, "token"},
    {"", VT_SAYS_POOL, 0, "avg"},
    {"_rpn_", VT_SAYS_POST_NORM, 0, NULL},
    {NULL, 0, 0, NULL},
};

const vt_family vt_family_relpos = {
    .name = "relpos",
    .looks = "ViT with relative positions",
    .timm = "*relpos_*|test_vit_relpos",
    .args = &args,
    .marks = marks,
    .configure = configure,
    .build = build,
    .pools = "avg|token",
    .fixed_norm = true,
    .own_positions = true,
};
