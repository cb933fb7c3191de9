/*
 * dinov2.c - DINOv2 (Oquab et al. 2023, arXiv:2304.07193), with and without
 * registers (Darcet et al. 2023, arXiv:2309.16588): HF's, timm's and the
 * original files; and HF's TIPSv2, the picture tower.
 *
 * Easy to get wrong:
 *   - registers are inserted between class token and patches after the
 *     positions were added, so they have none
 *   - HF's head reads the class token and the mean of the patches; the mean
 *     ignores registers and divides by the actual number of patches, not by
 *     that of the training picture
 *   - positions are resized in three ways: the original without registers
 *     scales by (n + 0.1) / m, HF resizes to a size, and both antialias if
 *     there are registers; timm always does
 *   - TIPSv2 has the same blocks with timm's names; its positions are resized
 *     bilinearly, antialiased
 *   - giant: SwiGLU, silu(first half) * second half
 */
#include "models/config.h"
#include "models/family.h"
#include "models/fields.h"
#include "models/vit.h"
#include "weights/dialect_rows.h"

#include <string.h>

/* The original .pth files have no config. Nothing else has timm's names, layer
 * scale and this patch and position size. Every model has heads of 64. */
static bool match(const vt_json *config, const vt_weights *w)
{
    return !config && strcmp(vt_weights_dialect(w), "timm") == 0 &&
           vt_weight_has(w, "blocks.0.ls1.gamma") &&
           vt_weight_dim(w, "pos_embed", -2) == 37 * 37 + 1 &&
           vt_weight_dim(w, "patch_embed.proj.weight", -1) == 14;
}

/* Read as a timm model of this architecture. */
static vitcl_status original(vt_config *c, const vt_weights *w,
                             const char *path)
{
    static const char text[] =
        "{\"architecture\": \"vit_patch14_dinov2\", \"global_pool\": "
        "\"token\", \"model_args\": {\"img_size\": 518}}";
    vitcl_status st = VITCL_OK;
    vt_json *json = NULL;

    VT_TRY(vt_json_parse(&json, text, sizeof text - 1, 4, path));
    VT_TRY(vt_config_begin(c, json, path));
    VT_TRY(vt_configure_timm(c, json, w, path));
    c->pos_rule = c->registers ? VT_POS_TIMM : VT_POS_OFFSET;
done:
    vt_json_free(json);
    return st;
}

static vitcl_status configure(vt_config *c, const vt_json *config,
                              const vt_weights *w, const char *path)
{
    if (!config)
        return original(c, w, path);
    VT_RET(vt_configure(c, config, w, path));
    if (c->source == VT_SOURCE_HF) {
        c->layer_scale = true;
        c->pos_rule = strncmp(vt_config_hf(config), "tipsv2", 6) == 0
                          ? VT_POS_SMOOTH
                      : c->registers ? VT_POS_TIMM
                                     : VT_POS_HF;
        VT_RET(vt_check_square(c, path));
        if (c->classes) {
            c->pool = VT_POOL_CLS_MEAN;
            c->pool_first = 1 + c->registers;
        }
    }
    return VITCL_OK;
}

static void build(vt_plan *p, const vt_model *m, vt_val pixels,
                  const vt_build_options *o, vt_outputs *out)
{
    vt_vit_build(p, m, pixels, o, out);
    if (vt_vit_returns_tokens(vt_model_config(m)))
        vt_vit_return(p, out->features, "pooler_output");
}

static const vt_mark marks[] = {
    {"giant", VT_SAYS_HEADS, -64, NULL},
    {NULL, 0, 0, NULL},
};

#define SIZES                                                                  \
    VT_HF_SIZES, RATIO("mlp_ratio"), SAME("use_swiglu_ffn", swiglu, false),    \
        FIXED("use_mask_token", "false"), FIXED("layerscale_value", "1.0")
#define REGISTERS(usual)                                                       \
    COUNT("num_register_tokens", said.registers, VT_MOST_WIDTH, usual)
#define OTHERS                                                                 \
    VT_HF_PICTURES("layer_norm_eps"), SAME("qkv_bias", qkv_bias, true),        \
        HEAD("head_dim"), END
#define IDLE VT_HF_DROPOUT VT_HF_BACKBONE
static const vt_field none[] = {SIZES, OTHERS};
static const vt_field with[] = {SIZES, REGISTERS(4), OTHERS};
static const vt_field tipsv2[] = {SIZES, REGISTERS(1), OTHERS};
static const vt_keys none_keys = {none, IDLE, NULL};
static const vt_keys with_keys = {with, IDLE, NULL};
static const vt_keys tipsv2_keys = {tipsv2, IDLE, NULL};

#define CLASS(type, of)                                                        \
    .types = (type), .keys = &(of), .eps = 1e-6f, .act = VT_ACT_GELU
static const vt_hf_class classes[] = {
    {CLASS("dinov2", none_keys), .processor = "Bit"},
    {CLASS("dinov2_with_registers", with_keys), .processor = "Bit"},
    {CLASS("tipsv2", tipsv2_keys), .processor = "Tipsv2", .towers = true,
     .other = "TIPSv2's"},
    {.types = NULL},
};

static const vt_row names[] = {
    AS("embeddings.register_tokens", "reg_token"),
    AS(LAYER "norm1.%", "blocks.#.norm1.%"),
    AS(LAYER "norm2.%", "blocks.#.norm2.%"),
    AS(LAYER "layer_scale1.lambda1", "blocks.#.ls1.gamma"),
    AS(LAYER "layer_scale2.lambda1", "blocks.#.ls2.gamma"),
    END_ROWS,
};
static const vt_row mlp[] = {
    AS(LAYER "mlp.fc1.%", "blocks.#.mlp.fc1.%"),
    AS(LAYER "mlp.fc2.%", "blocks.#.mlp.fc2.%"),
    END_ROWS,
};
static const vt_row swiglu[] = {
    AS(LAYER "mlp.weights_in.%", "blocks.#.mlp.fc1.%"),
    AS(LAYER "mlp.weights_out.%", "blocks.#.mlp.fc2.%"),
    END_ROWS,
};
static const vt_row read_names[] = {
    WITH(LAYER "mlp.gate_proj.%", "blocks.#.mlp.fc1.%", GATE),
    WITH(LAYER "mlp.up_proj.%", "blocks.#.mlp.fc1.%", UP),
    AS(LAYER "mlp.down_proj.%", "blocks.#.mlp.fc2.%"),
    END_ROWS,
};

/* DeiT-3, which HF has as DINOv2. */
static const vt_writing deit3 = {.timm = "deit3_base_patch16_224",
                                 .no_embed_class = true};

#define WRITTEN(of_timm, of_hf, class, keys_, mlp_, n, gated)                  \
    {                                                                          \
        .bare = (n) || (gated) ? NULL : &deit3, .timm = (of_timm),             \
        .type = (of_hf), .prefix = of_hf ".",                                  \
        .with_head = class "ForImageClassification", .without = class "Model", \
        .keys = &(keys_), .registers = (n), .no_embed_class = (n) > 0,         \
        .swiglu = (gated), .wide_head = true,                                  \
        .names = ROWS(vt_names_encoder, vt_names_key_bias,                     \
                      vt_names_classifier, names, mlp_)                        \
    }
static const vt_writing as[2][2] = {
    {WRITTEN("vit_base_patch14_dinov2", "dinov2", "Dinov2", none_keys, mlp, 0,
             false),
     WRITTEN("vit_giant_patch14_dinov2", "dinov2", "Dinov2", none_keys, swiglu,
             0, true)},
    {WRITTEN("vit_base_patch14_reg4_dinov2", "dinov2_with_registers",
             "Dinov2WithRegisters", with_keys, mlp, 4, false),
     WRITTEN("vit_giant_patch14_reg4_dinov2", "dinov2_with_registers",
             "Dinov2WithRegisters", with_keys, swiglu, 4, true)}};

static const vt_writing *writing(const vt_config *c)
{
    return c->layer_scale && !c->pre_norm && !c->attn_pool
               ? &as[c->registers > 0][c->swiglu]
               : NULL;
}

const vt_family vt_family_dinov2 = {
    .processors = {{"Bit", VT_CLIP_PIXELS},
                   {"Tipsv2", .filter = VT_BILINEAR, .size = 448,
                    .on_white = true, .mean = vt_zeros, .std = vt_ones}},
    .name = "dinov2",
    .looks = "DINOv2",
    .args = &vt_timm_vit,
    .hf = classes,
    .timm = "*_dinov2*",
    .marks = marks,
    .names.rows = {[VT_NAMES_HF] = ROWS(names, mlp, swiglu, read_names)},
    .writing = writing,
    .match = match,
    .configure = configure,
    .build = build,
    .processor_size = true,
    .finetunes = true,
};
