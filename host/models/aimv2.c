/*
 * aimv2.c - AIMv2's vision tower (Fini et al. 2024, arXiv:2411.14402), with
 * HF's names; timm's files of it are plain ViTs (vit.c).
 *
 * Easy to get wrong:
 *   - RMS norm everywhere, also on the projected patches, before the positions
 *   - no class token; the head's learnt query is not projected, and there is no
 *     MLP behind it. "lit" models have this head, the others pool by the mean
 *   - "native" models have sines of a patch's column, then of its row, in place
 *     of learnt positions
 *   - transformers does not resize learnt positions; here that is done as in
 *     timm
 */
#include "base/memory.h"
#include "models/config.h"
#include "models/family.h"
#include "models/fields.h"
#include "models/vit.h"
#include "weights/dialect_rows.h"

#include <math.h>
#include <stdlib.h>

static vitcl_status configure(vt_config *c, const vt_json *config,
                              const vt_weights *w, const char *path)
{
    VT_RET(vt_configure_hf(c, config, w, path));
    if (c->act != VT_ACT_SILU || !c->swiglu)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: AIMv2 is supported with a gated MLP of silu only",
                       path);
    if (c->pos_optional && c->width % 4)
        return vt_fail(VITCL_ECORRUPT,
                       "%s: sines of positions need a width that is a multiple "
                       "of 4, not %d",
                       path, c->width);
    c->rms = c->embed_norm = true;
    c->pos_rule = VT_POS_TIMM;
    c->attn_pool = c->said.head;
    if (!c->said.head)
        c->pool = VT_POOL_MEAN;
    c->projection = c->classes;
    c->classes = 0;
    return VITCL_OK;
}

/* Sines and cosines of a patch's column, then of its row. */
static vt_val sines(vt_plan *p, int gh, int gw, int width)
{
    const size_t bands = (size_t)width / 4;
    vitcl_status st = VITCL_OK;
    vt_val out = VT_NONE;
    float *table = NULL;

    VT_TRY(VT_NEW(&table, (size_t)gh * (size_t)gw * (size_t)width));
    for (int t = 0; t < gh * gw; t++) {
        const int at[2] = {t % gw, t / gw};
        float *row = table + (size_t)t * (size_t)width;

        for (size_t k = 0; k < 2; k++)
            for (size_t i = 0; i < bands; i++) {
                const double angle =
                    at[k] / pow(10000, (double)i / (double)bands);

                row[2 * k * bands + i] = (float)sin(angle);
                row[(2 * k + 1) * bands + i] = (float)cos(angle);
            }
    }
    out = vt_const(p, "sines", 2, (int[]){gh * gw, width}, table);
done:
    free(table);
    return st == VITCL_OK ? out : vt_plan_fail(p, st);
}

/* [B,N,D] -> [B,D]: the learnt query's attention. */
static vt_val pool(vt_plan *p, const vt_config *c, vt_val x)
{
    const int D = c->width;
    vt_val q = vt_param(p, "attn_pool.latent", 3, (int[]){1, 1, D});

    if (vt_plan_settings(p)->backward) /* each picture needs its own gradient */
        q = vt_slice(p, vt_embed(p, x, &q, 1, VT_NONE, 0), 0, 1);
    x = vt_dense(p, x, "attn_pool.kv", 2 * D, c->qkv_bias, VT_ACT_NONE, VT_NONE,
                 VT_NONE);
    x = vt_attention_cross(
        p, q, x, (vt_attention_args){.heads = c->heads, .bias = VT_NONE});
    x = vt_dense(p, x, "attn_pool.proj", D, true, VT_ACT_NONE, VT_NONE,
                 VT_NONE);
    return vt_pool(p, x, VT_POOL_TOKEN, 0);
}

static void build(vt_plan *p, const vt_model *m, vt_val pixels,
                  const vt_build_options *o, vt_outputs *out)
{
    const vt_config *c = vt_model_config(m);
    const vt_block_extra e = vt_vit_grid(p, m, pixels);
    vt_val x = vt_vit_patches(p, m, pixels);

    if (c->pos_embed) {
        x = vt_vit_embed(p, m, x, e.gh, e.gw, o);
    } else {
        x = vt_vit_layernorm(p, x, c, "patch_embed.norm");
        x = vt_add_rows(p, x, sines(p, e.gh, e.gw, c->width));
        vt_name(p, x, "embed");
    }
    x = vt_vit_norm(p, c, vt_vit_blocks(p, c, x, e, o));
    if (o->patch_source != VT_NONE) {
        out->patches = x;
        return;
    }
    if (c->attn_pool) {
        x = pool(p, c, x);
        vt_name(p, x, "pooler_output");
        vt_keep(p, x);
    } else {
        x = vt_pool(p, x, VT_POOL_MEAN, 0);
    }
    out->features = x;
    if (!c->projection)
        return;
    out->features = vt_dense(p, x, "head", c->projection, false, VT_ACT_NONE,
                             VT_NONE, VT_NONE);
    vt_name(p, out->features, "image_embeds");
}

static const vt_field fields[] = {
    VT_HF_SIZES,
    SIZE("intermediate_size", mlp, VT_MOST_MLP),
    VT_HF_PICTURES("rms_norm_eps"),
    SAME("qkv_bias", qkv_bias, false),
    SAME("mlp_bias", fc_bias, false),
    FLAG("use_head", said.head, true),
    FLAG("is_native", pos_optional, false),
    END,
};
static const vt_keys keys = {fields, "attention_dropout", NULL};

static const vt_hf_class classes[] = {
    {.types = "aimv2",
     .processor = "CLIP",
     .keys = &keys,
     .towers = true,
     .other = "AIMv2's",
     .eps = 1e-5f,
     .act = VT_ACT_SILU,
     .depth = 24,
     .heads = 8,
     .no_class_token = true},
    {.types = NULL},
};

static const vt_row rows[] = {
    AS("embeddings.patch_embed.%", "patch_embed.proj.%"),
    AS("embeddings.rms_norm.weight", "patch_embed.norm.weight"),
    WITH("embeddings.position_embedding.weight", "pos_embed",
         .layout = VT_TABLE),
    AS(LAYERS "rms_norm1.weight", "blocks.#.norm1.weight"),
    AS(LAYERS "rms_norm2.weight", "blocks.#.norm2.weight"),
    WITH(LAYERS "attention.q_proj.%", ATTN "qkv.%", Q),
    WITH(LAYERS "attention.k_proj.%", ATTN "qkv.%", K),
    WITH(LAYERS "attention.v_proj.%", ATTN "qkv.%", V),
    AS(LAYERS "attention.out_proj.%", ATTN "proj.%"),
    WITH(LAYERS "ffn.gate_proj.%", "blocks.#.mlp.fc1.%", GATE),
    WITH(LAYERS "ffn.up_proj.%", "blocks.#.mlp.fc1.%", UP),
    AS(LAYERS "ffn.down_proj.%", "blocks.#.mlp.fc2.%"),
    AS("rms_norm.weight", "norm.weight"),
    AS("head.cls_token", "attn_pool.latent"),
    WITH("head.k_proj.%", "attn_pool.kv.%", .parts = 2, .part = 0),
    WITH("head.v_proj.%", "attn_pool.kv.%", .parts = 2, .part = 1),
    AS("head.output_proj.%", "attn_pool.proj.%"),
    AS("visual_projection.weight", "head.weight"),
    DROP("embeddings.position_ids"),
    DROP("text_model.*"),
    DROP("text_projection.*"),
    DROP("logit_scale"),
    END_ROWS,
};
static const vt_dialect dialects[] = {
    {"hf", LIST("embeddings.patch_embed.weight"), LIST("vision_model.", ""),
     false, ROWS(rows), 0},
    {.name = NULL},
};

const vt_family vt_family_aimv2 = {
    .names.dialects = dialects,
    .name = "aimv2",
    .looks = "AIMv2 vision tower",
    .hf = classes,
    .configure = configure,
    .build = build,
};
