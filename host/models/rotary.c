/*
 * rotary.c - ViTs whose only new part is rotary positions: DINOv3 (Simeoni et
 * al. 2025, arXiv:2508.10104; timm's and HF's files), Perception Encoder (Bolya
 * et al. 2025, arXiv:2504.13181), RoPE-ViT (Heo et al. 2024, arXiv:2403.13298),
 * timm's own "rope" models, LingBot and Sapiens 2 (Khirodkar et al. 2026,
 * arXiv:2604.21681).
 *
 * Easy to get wrong:
 *   - the tensors do not show the rotation: with timm it depends on the
 *     architecture's name, and model_args override it
 *   - DINOv3 has registers and no absolute positions; timm's mean is over the
 *     normalised patches, HF's pooled vector is the class token
 *   - Perception Encoder core pools by attention with 8 heads, over all tokens;
 *     "spatial" and "lang" have no norm after the blocks
 *   - Sapiens 2 has RMS norm, also of queries and keys, layer scale of
 *     attention only, and groups of queries in the blocks in the middle
 *   - eps is 1e-5 in DINOv3 and Perception Encoder, else 1e-6
 */
#include "base/memory.h"
#include "models/config.h"
#include "models/family.h"
#include "models/fields.h"
#include "models/rope.h"
#include "weights/dialect_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct named_rule {
    const char *part; /* of the architecture's name */
    float eps;
    vt_rope_rule rule;
} named_rule;

/* The first match counts. */
static const named_rule rules[] = {
    {"_dinov3", 1e-5f, {VT_ROPE_CENTRES, true, false, 0, 0, 0, 100}},
    {"_lingbot", 1e-5f, {VT_ROPE_CENTRES, true, false, 0, 0, 0, 100}},
    {"_sapiens2", 1e-6f, {VT_ROPE_CENTRES, true, false, 0, 0, 0, 100}},
    {"vit_pe_", 1e-5f, {VT_ROPE_INDEX, false, true, 0, 0, 1, 10000}},
    {"_rope_mixed_", 1e-6f, {VT_ROPE_MIXED, false, true, 0, 0, 0, 10}},
    {"_rope_reg", 1e-6f, {VT_ROPE_INDEX, false, false, 16, 16, 0, 10000}},
    {"_rope_", 1e-6f, {VT_ROPE_INDEX, false, true, 0, 0, 0, 100}},
};

static const named_rule *find(const char *name)
{
    for (size_t i = 0; i < VT_COUNT(rules); i++)
        if (strncmp(name, "vit_", 4) == 0 && strstr(name, rules[i].part))
            return &rules[i];
    return NULL;
}

static bool match(const vt_json *config, const vt_weights *w)
{
    (void)w;
    return find(vt_config_timm(config)) != NULL;
}

/* Perception Encoder's places are scaled to the grid that the name has:
 * "patch14_336" is 24. */
static void scale_to_name(vt_rope_rule *rule, const char *name)
{
    const char *at = strstr(name, "_patch");
    char *end;
    long patch, size;

    if (!at)
        return;
    patch = strtol(at + 6, &end, 10);
    size = *end == '_' ? strtol(end + 1, NULL, 10) : 0;
    if (patch > 0 && size >= patch && size <= VT_MOST_PIXELS)
        rule->ref_h = rule->ref_w = (int)(size / patch);
}

/* Which blocks have fewer heads of k and v than of q, by the tensors. */
static vitcl_status groups(vt_config *c, const vt_weights *w, const char *path)
{
    const int head = c->width / c->heads;

    for (int i = 0; i < c->depth; i++) {
        char name[64];
        int rows;

        snprintf(name, sizeof name, "blocks.%d.attn.qkv.weight", i);
        rows = vt_weight_dim(w, name, 0) - c->width;
        if (rows == 2 * c->width || rows < 0) /* a wrong one is named later */
            continue;
        if (!c->kv_heads)
            c->kv_heads = rows / 2 / head, c->kv_first = i;
        else if (c->kv_last != i)
            c->kv_heads = 0;
        if (c->kv_heads < 1 || c->heads % c->kv_heads ||
            rows != 2 * c->kv_heads * head)
            return vt_fail(VITCL_EUNSUPPORTED,
                           "%s: %s: groups of queries are supported in "
                           "adjacent blocks with the same number of heads",
                           path, name);
        c->kv_last = i + 1;
    }
    return VITCL_OK;
}

static void begin(vt_config *c)
{
    const char *name = c->name;

    c->rope = find(name)->rule;
    c->said.rotary = true;
    c->said.rows = strstr(name, "_ape_") != NULL;
    c->ls_attn = strstr(name, "_sapiens2") != NULL;
    if (strncmp(name, "vit_pe_", 7) != 0)
        return;
    c->said.rows = true;
    scale_to_name(&c->rope, name);
    if (strstr(name, "gigantic"))
        c->rope.offset = 0;
    if (strstr(name, "_core_"))
        c->pool_heads = 8;
}

static vitcl_status of_timm(vt_config *c, const vt_json *config,
                            const vt_weights *w, const char *path)
{
    c->pos_optional = !c->said.rows;
    VT_RET(vt_configure_timm(c, config, w, path));
    VT_RET(groups(c, w, path));
    if (!c->kv_heads)
        VT_RET(vt_refuse_groups(vt_json_get(config, "model_args"), path));
    c->eps = find(c->name)->eps;
    if (!c->said.rotary)
        c->rope.kind = VT_ROPE_NONE;
    if (c->attn_pool) /* it pools the prefix tokens, too */
        c->pool_all = true, c->pool_first = 0;
    return VITCL_OK;
}

static vitcl_status of_hf(vt_config *c, const vt_json *config,
                          const vt_weights *w, const char *path)
{
    c->rope.kind = VT_ROPE_CENTRES;
    c->rope.halves = true;
    if (c->rope.temperature == 0) /* not given */
        c->rope.temperature = 100;
    c->pos_optional = true;
    VT_RET(vt_configure_hf(c, config, w, path));
    c->layer_scale = true;
    if (c->swiglu && c->act != VT_ACT_SILU)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: hidden_act in place of a gated MLP's silu is not "
                       "supported",
                       path);
    return VITCL_OK;
}

static vitcl_status configure(vt_config *c, const vt_json *config,
                              const vt_weights *w, const char *path)
{
    VT_RET(find(vt_config_timm(config)) ? of_timm(c, config, w, path)
                                        : of_hf(c, config, w, path));
    return vt_rope_check(c, path);
}

void vt_rope_build(vt_plan *p, const vt_model *m, vt_val pixels,
                   const vt_build_options *o, vt_outputs *out)
{
    const vt_config *c = vt_model_config(m);
    vt_block_extra e = vt_vit_grid(p, m, pixels);
    const int head = c->width / c->heads, n = e.gh * e.gw;
    vitcl_status st = VITCL_OK;
    float *table = NULL;
    vt_val x;

    if (c->rope.kind && c->rope.kind != VT_ROPE_MIXED) {
        VT_TRY(VT_NEW(&table, (size_t)n * 2 * (size_t)head));
        vt_rope_table(table, &c->rope, e.gh, e.gw, head);
        e.rope = vt_const(p, "rope", 3, (int[]){n, 2, head}, table);
    }
    x = vt_vit_stem(p, m, pixels, e.gh, e.gw, o);
    x = vt_vit_blocks(p, c, x, e, o);
    vt_vit_head(p, m, x, o, out);
done:
    free(table);
    vt_plan_fail(p, st);
}

static void build(vt_plan *p, const vt_model *m, vt_val pixels,
                  const vt_build_options *o, vt_outputs *out)
{
    vt_rope_build(p, m, pixels, o, out);
    if (vt_vit_returns_tokens(vt_model_config(m)))
        vt_vit_return(p, out->features, "pooler_output");
}

static const vt_mark marks[] = {
    {"_dinov3", VT_SAYS_POOL, 0, "avg"},
    {"vit_pe_lang", VT_SAYS_POOL, 0, "avg"},
    {"vit_pe_spatial", VT_SAYS_POOL, 0, "avg"},
    {"vit_pe_core", VT_SAYS_POOL, 0, "map"},
    {"vit_5b_", VT_SAYS_HEADS, 32, NULL},
    {"vit_7b_", VT_SAYS_HEADS, -128, NULL},
    {"giant_patch16_lingbot", VT_SAYS_HEADS, -64, NULL},
    {"giant_patch16_sapiens2", VT_SAYS_HEADS, -64, NULL},
    {"vit_pe_lang", VT_SAYS_BARE, 0, NULL},
    {"vit_pe_spatial", VT_SAYS_BARE, 0, NULL},
    {"_sapiens2", VT_SAYS_RMS, 0, NULL},
    {NULL, 0, 0, NULL},
};

static const vt_field fields[] = {
    VT_HF_PLAIN,
    REAL("rope_theta", rope.temperature, 1e-3, 1e9),
    COUNT("num_register_tokens", said.registers, VT_MOST_WIDTH, 0),
    SAME("use_gated_mlp", swiglu, false),
    SEEN("query_bias", qkv_bias),
    SEEN("key_bias", qkv_bias),
    SEEN("value_bias", qkv_bias),
    SEEN("proj_bias", proj_bias),
    SEEN("mlp_bias", fc_bias),
    END,
};
static const vt_keys keys = {
    fields,
    VT_HF_DROPOUT VT_HF_BACKBONE
    "attention_dropout|layerscale_value|pos_embed_shift|pos_embed_jitter|"
    "pos_embed_rescale",
    NULL};

static const vt_hf_class classes[] = {
    {.types = "dinov3_vit",
     .processor = "DINOv3ViT",
     .keys = &keys,
     .eps = 1e-5f,
     .act = VT_ACT_GELU,
     .heads = 6},
    {.types = NULL},
};

/* HF transformers: models/dinov3_vit. */
#define BLOCK "layer.#."
static const vt_row rows[] = {
    AS("embeddings.cls_token", "cls_token"),
    AS("embeddings.register_tokens", "reg_token"),
    AS("embeddings.patch_embeddings.%", "patch_embed.proj.%"),
    AS(BLOCK "norm1.%", "blocks.#.norm1.%"),
    AS(BLOCK "norm2.%", "blocks.#.norm2.%"),
    WITH(BLOCK "attention.q_proj.%", ATTN "qkv.%", Q),
    WITH(BLOCK "attention.k_proj.%", ATTN "qkv.%", K),
    WITH(BLOCK "attention.v_proj.%", ATTN "qkv.%", V),
    AS(BLOCK "attention.o_proj.%", ATTN "proj.%"),
    AS(BLOCK "layer_scale1.lambda1", "blocks.#.ls1.gamma"),
    AS(BLOCK "layer_scale2.lambda1", "blocks.#.ls2.gamma"),
    AS(BLOCK "mlp.down_proj.%", "blocks.#.mlp.fc2.%"),
    AS("norm.%", "norm.%"),
    DROP("embeddings.mask_token"),
    DROP("rope_embeddings.*"),
    END_ROWS,
};
static const vt_row plain[] = {
    AS(BLOCK "mlp.up_proj.%", "blocks.#.mlp.fc1.%"),
    END_ROWS,
};
static const vt_row gated[] = {
    WITH(BLOCK "mlp.gate_proj.%", "blocks.#.mlp.fc1.%", GATE),
    WITH(BLOCK "mlp.up_proj.%", "blocks.#.mlp.fc1.%", UP),
    END_ROWS,
};
static const vt_dialect dialects[] = {
    {"hf", LIST("layer.0.mlp.gate_proj.weight"), LIST(""), false,
     ROWS(rows, gated), 0},
    {"hf", LIST("embeddings.patch_embeddings.weight"), LIST(""), false,
     ROWS(rows, plain), 0},
    {.name = NULL},
};

const vt_family vt_family_rotary = {
    .processors =
        {/* transformers resizes them as floats, here as 8 bits */
         {"DINOv3ViT", .filter = VT_BILINEAR, .size = 224,
          .mean = vt_imagenet_mean, .std = vt_imagenet_std}},
    .names.dialects = dialects,
    .name = "rotary",
    .looks = "ViT with rotary positions",
    .hf = classes,
    .args = &vt_timm_eva,
    .marks = marks,
    .begin = begin,
    .match = match,
    .configure = configure,
    .build = build,
    .fixed_norm = true,
    .own_positions = true,
    .no_key_bias = true,
};
