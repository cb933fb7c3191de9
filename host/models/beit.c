/*
 * beit.c - BEiT and BEiT v2 (Bao et al. 2021, arXiv:2106.08254; Peng et al.
 * 2022, arXiv:2208.06366), with timm's and HF's names.
 *
 * Easy to get wrong:
 *   - usually no absolute positions; each layer adds to the attention logits a
 *     table entry for the offset between two patches. The last three entries
 *     are class to patch, patch to class, class to itself
 *   - q and v have a bias, k has none (zeros in the joined bias)
 *   - the feature is the mean of the patches without the class token,
 *     normalised after the pool; HF calls that norm pooler.layernorm
 *   - without a pooler HF returns the last block's tokens unchanged
 *   - in HF the config says which tables there are: one for each block, one for
 *     all, both (their sum) or none. It always resizes them, and takes the
 *     number of columns for that of rows: only square ones stay as they are
 *     (modeling_beit.py, BeitRelativePositionBias.forward)
 *   - eps: 1e-12 in HF files, 1e-6 in timm
 *   - timm resizes tables geometrically, HF bilinearly
 */
#include "models/config.h"
#include "models/family.h"
#include "models/fields.h"
#include "models/vit.h"
#include "weights/dialect_rows.h"

#include <string.h>

/* HF: tables that the config does not mention are not read. */
static void hf_tables(vt_config *c)
{
    const bool own = c->said.tables, shared = c->said.shared;

    c->rel_pos = own || shared ? VT_TABLE_LEARNT : VT_TABLE_NONE;
    c->rel_pos_shared = shared;
    c->rel_pos_both = own && shared;
    c->rel_pos_turned = true;
    c->pos_embed = c->said.rows;
}

static vitcl_status configure(vt_config *c, const vt_json *config,
                              const vt_weights *w, const char *path)
{
    vitcl_status st;
    bool own = false;

    c->pos_optional = !c->said.rows;
    /* BeitModel(add_pooling_layer=False) has no norm either */
    c->norm_optional = vt_config_hf(config)[0] && c->said.mean &&
                       !vt_weight_has(w, "head.weight");
    st = vt_configure(c, config, w, path);
    if (st != VITCL_OK)
        return st;
    c->class_token = true;
    if (c->source == VT_SOURCE_HF) {
        c->pool = c->fc_norm ? VT_POOL_MEAN : VT_POOL_TOKEN;
        c->pool_first = c->fc_norm ? 1 : 0;
        hf_tables(c);
        return vt_check_square(c, path);
    }
    c->rel_pos_shared =
        vt_weight_has(w, "rel_pos_bias.relative_position_bias_table");
    for (int i = 0; i < c->depth; i++)
        own |=
            vt_weight_has(w, "blocks.%d.attn.relative_position_bias_table", i);
    if (c->rel_pos_shared || own || (!c->pos_embed && c->said.tables))
        c->rel_pos = VT_TABLE_LEARNT;
    c->rel_pos_both = c->rel_pos_shared && own;
    return VITCL_OK;
}

static void build(vt_plan *p, const vt_model *m, vt_val pixels,
                  const vt_build_options *o, vt_outputs *out)
{
    vt_table_build(p, m, pixels, o, out, "rel_pos_bias", "attn");
    if (vt_plan_status(p) == VITCL_OK &&
        vt_vit_returns_tokens(vt_model_config(m)))
        vt_vit_return(p, out->features, "pooler_output");
}

static const vt_field hf_fields[] = {
    VT_HF_PLAIN,
    FLAG("use_mean_pooling", said.mean, true),
    FIXED("use_mask_token", "false"),
    FLAG("use_absolute_position_embeddings", said.rows, false),
    FLAG("use_relative_position_bias", said.tables, false),
    FLAG("use_shared_relative_position_bias", said.shared, false),
    SCALE("layer_scale_init_value", layer_scale, true),
    HEAD("head_dim"),
    END,
};
static const vt_keys hf_keys = {
    hf_fields,
    VT_HF_DROPOUT VT_HF_BACKBONE
    "vocab_size|pool_scales|use_auxiliary_head|"
    "auxiliary_loss_weight|auxiliary_channels|auxiliary_num_convs|"
    "auxiliary_concat_input|semantic_loss_ignore_index|"
    "segmentation_indices|add_fpn",
    NULL};

static const vt_field timm_fields[] = {
    VT_TIMM_FIELDS,
    SEEN("swiglu_mlp", swiglu),
    SEEN("scale_mlp", mlp_norm),
    SEEN("use_abs_pos_emb", pos_embed),
    FLAG("use_rel_pos_bias", said.tables, true),
    SEEN("use_shared_rel_pos_bias", rel_pos_shared),
    SEEN("use_fc_norm", fc_norm),
    END,
};
static const vt_keys args = {timm_fields, VT_TIMM_DROPOUT "head_init_scale",
                             NULL};

static const vt_mark marks[] = {
    {"", VT_SAYS_POOL, 0, "avg"},
    {NULL, 0, 0, NULL},
};

static const vt_hf_class classes[] = {
    {.types = "beit|data2vec-vision",
     .processor = "Beit",
     .keys = &hf_keys,
     .eps = 1e-12f,
     .act = VT_ACT_GELU},
    {.types = NULL},
};

static const vt_row names[] = {
    AS(LAYER "attention.attention.relative_position_bias."
             "relative_position_bias_table",
       ATTN "relative_position_bias_table"),
    AS("encoder.relative_position_bias.relative_position_bias_table",
       "rel_pos_bias.relative_position_bias_table"),
    AS(LAYER "lambda_1", "blocks.#.ls1.gamma"),
    AS(LAYER "lambda_2", "blocks.#.ls2.gamma"),
    AS("pooler.layernorm.%", "fc_norm.%"),
    END_ROWS,
};
static const vt_row read_names[] = {
    AS(NEW "lambda_1", "blocks.#.ls1.gamma"),
    AS(NEW "lambda_2", "blocks.#.ls2.gamma"),
    AS(NEW "relative_position_bias.relative_position_bias_table",
       ATTN "relative_position_bias_table"),
    AS("relative_position_bias.relative_position_bias_table",
       "rel_pos_bias.relative_position_bias_table"),
    DROP(LAYER
         "attention.attention.relative_position_bias.relative_position_index"),
    DROP("encoder.relative_position_bias.relative_position_index"),
    END_ROWS,
};
static const vt_row timm_names[] = {
    AS("blocks.#.gamma_1", "blocks.#.ls1.gamma"),
    AS("blocks.#.gamma_2", "blocks.#.ls2.gamma"),
    WITH(ATTN "q_bias", ATTN "qkv.bias", Q),
    WITH(ATTN "v_bias", ATTN "qkv.bias", V),
    END_ROWS,
};

static const vt_writing as = {
    .timm = "beit_base_patch16_224",
    .tables = true,
    .only_gelu = "another activation than GELU in BEiT",
    .timm_names = ROWS(timm_names),
    .type = "beit",
    .with_head = "BeitForImageClassification",
    .without = "BeitModel",
    .prefix = "beit.",
    .keys = &hf_keys,
    .names = ROWS(vt_names_encoder, vt_names_classifier, vt_names_layer, names),
    .any_tokens = true,
    .unbiased = "BEiT without q and v biases",
};

static const vt_writing *writing(const vt_config *c)
{
    return c->family == &vt_family_beit ? &as : NULL;
}

const vt_family vt_family_beit = {
    .processors = {{"Beit", .filter = VT_BICUBIC, .size = 224, .crop_size = 224,
                    .mean = vt_halves, .std = vt_halves}},
    .name = "beit",
    .looks = "BEiT",
    .hf = classes,
    .timm = "beit_*|beitv2_*",
    .args = &args,
    .marks = marks,
    .names.rows = {[VT_NAMES_HF] = ROWS(names, read_names),
                   [VT_NAMES_TIMM] = ROWS(timm_names)},
    .writing = writing,
    .configure = configure,
    .build = build,
    .pools = "avg|token",
    .fixed_norm = true,
    .own_positions = true,
    .no_key_bias = true,
};
