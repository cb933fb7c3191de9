/*
 * config_keys.c - refuses what a config asks for and vitcl does not do.
 *
 * Of each key that the library's own class reads there is a row: it is read
 * here, too, or has no effect on inference, or has the only values with which
 * the class computes as vitcl does. Other keys change nothing in transformers,
 * so nothing here: -v names them. But where the file was written by a version
 * that is newer than the newest tried, they may mean something. timm refuses
 * unknown arguments.
 *
 * A key whose effect the tensors show needs no value here: both libraries would
 * miss a tensor, or have one too many.
 */
#include "models/config.h"

#include "base/json_print.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "image/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NEWEST_MAJOR = 5, NEWEST_MINOR = 24 }; /* of transformers */

/* only: NULL: any value; "": no value (null, or nothing in it); else JSON
 * texts, separated by "|". */
typedef struct key {
    const char *name, *only;
} key;

#define IDLE(name)                                                             \
    {                                                                          \
        (name), NULL                                                           \
    } /* no effect on inference */
#define READ(name)                                                             \
    {                                                                          \
        (name), NULL                                                           \
    } /* read elsewhere, or seen in the tensors */
#define NONE(name)                                                             \
    {                                                                          \
        (name), ""                                                             \
    }
#define ONLY(name, values)                                                     \
    {                                                                          \
        (name), (values)                                                       \
    }
#define END                                                                    \
    {                                                                          \
        NULL, NULL                                                             \
    }

/* ---- Hugging Face ---- */

/* configuration_utils.py of transformers. */
static const key hf_all[] = {
    READ("architectures"),
    READ("model_type"),
    READ("transformers_version"),
    READ("id2label"),
    READ("problem_type"),
    READ("vitcl_certainty"),
    IDLE("label2id"),
    IDLE("num_labels"),
    IDLE("dtype"),
    IDLE("torch_dtype"),
    IDLE("output_hidden_states"),
    IDLE("output_attentions"),
    IDLE("return_dict"),
    IDLE("use_return_dict"),
    IDLE("use_cache"),
    IDLE("torchscript"),
    IDLE("tie_word_embeddings"),
    IDLE("tie_last_hidden_states"),
    IDLE("chunk_size_feed_forward"),
    IDLE("is_encoder_decoder"),
    IDLE("name_or_path"),
    IDLE("_name_or_path"),
    IDLE("_commit_hash"),
    IDLE("attn_implementation"),
    IDLE("_attn_implementation_autoset"),
    IDLE("initializer_range"),
    IDLE("initializer_factor"),
    IDLE("num_channels"), /* seen in the patch embedding */
    NONE("quantization_config"),
    NONE("per_layer_config"),
    IDLE("auto_map"),
    END,
};

#define TRANSFORMER                                                            \
    READ("hidden_size"), READ("num_hidden_layers"),                            \
        READ("num_attention_heads"), READ("hidden_act"),                       \
        READ("layer_norm_eps"), READ("image_size"), READ("patch_size")
#define DROPOUT                                                                \
    IDLE("hidden_dropout_prob"), IDLE("attention_probs_dropout_prob"),         \
        IDLE("drop_path_rate")
#define BACKBONE                                                               \
    IDLE("out_features"), IDLE("out_indices"), IDLE("stage_names"),            \
        IDLE("_out_features"), IDLE("_out_indices"), IDLE("apply_layernorm"),  \
        IDLE("reshape_hidden_states")

static const key hf_vit[] = {
    TRANSFORMER,
    DROPOUT,
    READ("intermediate_size"),
    READ("qkv_bias"),
    READ("head_dim"),
    READ("pooler_output_size"),
    READ("pooler_act"),
    IDLE("encoder_stride"),
    END,
};

static const key hf_dinov2[] = {
    TRANSFORMER,
    DROPOUT,
    BACKBONE,
    READ("mlp_ratio"),
    READ("qkv_bias"),
    READ("head_dim"),
    READ("use_swiglu_ffn"),
    READ("num_register_tokens"),
    IDLE("layerscale_value"),
    IDLE("use_mask_token"),
    END,
};

static const key hf_beit[] = {
    TRANSFORMER,
    DROPOUT,
    BACKBONE,
    READ("intermediate_size"),
    READ("head_dim"),
    READ("use_absolute_position_embeddings"),
    READ("use_relative_position_bias"),
    READ("use_shared_relative_position_bias"),
    READ("layer_scale_init_value"),
    READ("use_mean_pooling"),
    IDLE("vocab_size"),
    IDLE("use_mask_token"),
    IDLE("pool_scales"),
    IDLE("use_auxiliary_head"),
    IDLE("auxiliary_loss_weight"),
    IDLE("auxiliary_channels"),
    IDLE("auxiliary_num_convs"),
    IDLE("auxiliary_concat_input"),
    IDLE("semantic_loss_ignore_index"),
    IDLE("segmentation_indices"),
    IDLE("add_fpn"),
    END,
};

static const key hf_tower[] = {
    TRANSFORMER,
    READ("intermediate_size"),
    READ("projection_dim"),
    READ("vision_use_head"),
    IDLE("attention_dropout"),
    IDLE("dropout"),
    END,
};

/* Around a tower's own config; texts are not read. */
static const key hf_towers[] = {
    READ("vision_config"),
    READ("vision_config_dict"),
    READ("projection_dim"),
    IDLE("text_config"),
    IDLE("text_config_dict"),
    IDLE("logit_scale_init_value"),
    END,
};

/* ---- timm ---- */

/* What each class takes, and vitcl's own: attention, pos_injection,
 * representation_size. */
#define TIMM                                                                   \
    READ("img_size"), READ("patch_size"), ONLY("in_chans", "3"),               \
        READ("num_classes"), READ("global_pool"), READ("embed_dim"),           \
        READ("depth"), READ("num_heads"), READ("mlp_ratio"), READ("qkv_bias"), \
        READ("init_values"), NONE("norm_layer"), IDLE("drop_rate"),            \
        IDLE("proj_drop_rate"), IDLE("attn_drop_rate"), IDLE("drop_path_rate")
#define PADDED ONLY("dynamic_img_pad", "false"), IDLE("dynamic_img_size")

static const key timm_vit[] = {
    TIMM,
    PADDED,
    READ("qk_norm"),
    READ("scale_attn_norm"),
    READ("scale_mlp_norm"),
    READ("proj_bias"),
    READ("class_token"),
    READ("pos_embed"),
    READ("pos_injection"),
    READ("attention"),
    READ("representation_size"),
    READ("no_embed_class"),
    READ("reg_tokens"),
    READ("pre_norm"),
    READ("final_norm"),
    READ("fc_norm"),
    READ("pool_include_prefix"),
    READ("act_layer"),
    NONE("embed_layer"),
    NONE("embed_norm_layer"),
    NONE("block_fn"),
    NONE("mlp_layer"),
    NONE("attn_layer"),
    IDLE("pos_drop_rate"),
    IDLE("patch_drop_rate"),
    IDLE("weight_init"),
    IDLE("fix_init"),
    END,
};

static const key timm_relpos[] = {
    TIMM,
    READ("qk_norm"),
    READ("class_token"),
    READ("fc_norm"),
    READ("rel_pos_type"),
    READ("rel_pos_dim"),
    READ("shared_rel_pos"),
    READ("act_layer"),
    NONE("embed_layer"),
    NONE("block_fn"),
    IDLE("weight_init"),
    IDLE("fix_init"),
    END,
};

static const key timm_beit[] = {
    TIMM,
    READ("swiglu_mlp"),
    READ("scale_mlp"),
    READ("use_abs_pos_emb"),
    READ("use_rel_pos_bias"),
    READ("use_shared_rel_pos_bias"),
    READ("use_fc_norm"),
    IDLE("pos_drop_rate"),
    IDLE("head_init_scale"),
    END,
};

static const key timm_eva[] = {
    TIMM,
    PADDED,
    NONE("num_kv_heads"),
    READ("qkv_fused"),
    READ("qk_norm"),
    READ("swiglu_mlp"),
    READ("swiglu_align_to"),
    READ("scale_mlp"),
    READ("scale_attn_inner"),
    ONLY("attn_type", "\"eva\""),
    ONLY("attn_only_layer_scale", "false"),
    READ("class_token"),
    READ("num_reg_tokens"),
    READ("no_embed_class"),
    READ("use_abs_pos_emb"),
    READ("use_rot_pos_emb"),
    ONLY("rope_type", "\"cat\""),
    ONLY("rope_grid_offset", "0"),
    ONLY("rope_grid_indexing", "\"ij\""),
    ONLY("rope_temperature", "10000"),
    ONLY("rope_rotate_half", "false"),
    IDLE("rope_shift_coords"),
    IDLE("rope_jitter_coords"),
    IDLE("rope_rescale_coords"),
    IDLE("rope_mrope_section"),
    READ("use_post_norm"),
    READ("use_pre_transformer_norm"),
    READ("use_post_transformer_norm"),
    READ("use_fc_norm"),
    NONE("attn_pool_num_heads"),
    READ("attn_pool_mlp_ratio"),
    READ("ref_feat_shape"),
    IDLE("pos_drop_rate"),
    IDLE("patch_drop_rate"),
    IDLE("head_init_scale"),
    END,
};

static const key timm_resnet[] = {
    READ("layers"),         READ("channels"),
    READ("num_classes"),    READ("global_pool"),
    ONLY("in_chans", "3"),  NONE("output_stride"),
    NONE("width_factor"),   READ("stem_chs"),
    NONE("stem_type"),      NONE("avg_down"),
    NONE("preact"),         NONE("basic"),
    NONE("bottle_ratio"),   NONE("act_layer"),
    NONE("norm_layer"),     NONE("conv_layer"),
    IDLE("drop_rate"),      IDLE("drop_path_rate"),
    IDLE("zero_init_last"), END,
};

/* ---- checking ---- */

static const key *find(const key *rows, const char *name)
{
    for (; rows && rows->name; rows++)
        if (strcmp(rows->name, name) == 0)
            return rows;
    return NULL;
}

static bool is_none(const vt_json *v)
{
    return vt_json_is_null(v) ||
           ((vt_json_is_object(v) || vt_json_is_array(v)) &&
            vt_json_count(v) == 0);
}

/* Is the text one of these values? */
static bool is_one(const char *values, const char *text)
{
    const size_t n = strlen(text);

    for (;;) {
        const size_t m = strcspn(values, "|");

        if (n == m && memcmp(values, text, n) == 0)
            return true;
        if (!values[m])
            return false;
        values += m + 1;
    }
}

static vitcl_status check_value(const key *row, const vt_json *v,
                                const char *path)
{
    vitcl_status st = VITCL_OK;
    vt_text text;
    char *value = NULL;

    if (!row->only || is_none(v))
        return VITCL_OK;
    VT_TRY(vt_text_open(&text));
    vt_json_print(text.f, v);
    VT_TRY(vt_text_take(&value, &text));
    if (!row->only[0])
        st = vt_fail(VITCL_EUNSUPPORTED,
                     "%s: the config's %s is not supported, here %.60s", path,
                     row->name, value);
    else if (!is_one(row->only, value))
        st = vt_fail(VITCL_EUNSUPPORTED,
                     "%s: the config's %s is %.60s; only %s is supported", path,
                     row->name, value, row->only);
done:
    free(value);
    return st;
}

/* Was the file written by a version that was not tried? */
static bool is_newer(const vt_json *config)
{
    const char *version = vt_config_text(config, "transformers_version");
    int major = 0, minor = 0;

    return sscanf(version, "%9d.%9d", &major, &minor) == 2 &&
           (major > NEWEST_MAJOR ||
            (major == NEWEST_MAJOR && minor > NEWEST_MINOR));
}

static vitcl_status check_hf(const vt_json *o, const key *rows, const key *more,
                             const vt_json *config, const char *path)
{
    vitcl_status st = VITCL_OK;

    for (const vt_json *v = vt_json_first(o); v; v = vt_json_next(v)) {
        const char *name = vt_json_key(v);
        const key *row = find(hf_all, name);

        row = row ? row : find(rows, name);
        row = row ? row : find(more, name);
        if (row)
            VT_TRY(check_value(row, v, path));
        else if (is_newer(config))
            VT_TRY(vt_fail(VITCL_EUNSUPPORTED,
                           "%s: the config's %s is unknown, and it was written "
                           "by transformers %.20s; %d.%d is the newest that "
                           "was tried. Remove the key if it does not change "
                           "the model",
                           path, name,
                           vt_config_text(config, "transformers_version"),
                           NEWEST_MAJOR, NEWEST_MINOR));
        else
            vt_log("model %s: transformers does not read %s, nor does vitcl",
                   path, name);
    }
done:
    return st;
}

static vitcl_status check_timm(const vt_json *args, const key *rows,
                               const char *path)
{
    vitcl_status st = VITCL_OK;

    for (const vt_json *v = vt_json_first(args); v; v = vt_json_next(v)) {
        const key *row = find(rows, vt_json_key(v));

        if (!row && vt_json_is_null(v)) /* timm leaves these out */
            continue;
        if (!row)
            VT_TRY(vt_fail(VITCL_EUNSUPPORTED,
                           "%s: model_args has %s, which is not an argument of "
                           "timm's class",
                           path, vt_json_key(v)));
        VT_TRY(check_value(row, v, path));
    }
done:
    return st;
}

/* ---- what the tensors show must be what the config says ---- */

static vitcl_status differs(const char *path, const char *name)
{
    return vt_fail(VITCL_EUNSUPPORTED,
                   "%s: the config's %s does not belong to these weights", path,
                   name);
}

/* transformers ignores tensors that the config does not ask for. */
static vitcl_status agree(const vt_config *c, const key *rows, const vt_json *v,
                          const char *path)
{
    const bool beit = strcmp(c->family, "beit") == 0;
    const bool dino = strcmp(c->family, "dinov2") == 0;
    const vt_json *wide = vt_json_get(v, "head_dim");
    double scale = 0.1;
    uint64_t n = 0;
    bool bias = true, glu = false;

    vt_json_bool(&bias, vt_json_get(v, "qkv_bias"));
    vt_json_bool(&glu, vt_json_get(v, "use_swiglu_ffn"));
    vt_json_number(&scale, vt_json_get(v, "layer_scale_init_value"));
    if (find(rows, "qkv_bias") && bias != c->qkv_bias)
        return differs(path, "qkv_bias");
    if (dino && glu != c->swiglu)
        return differs(path, "use_swiglu_ffn");
    if (beit && (scale > 0) != c->layer_scale)
        return differs(path, "layer_scale_init_value");
    if (wide && find(rows, "head_dim") &&
        (!vt_json_uint(&n, wide) || n != (uint64_t)(c->width / c->heads)))
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: the config's head_dim is supported only if it is "
                       "hidden_size / num_attention_heads, here %d",
                       path, c->width / c->heads);
    return VITCL_OK;
}

static const key *rows_of(const vt_config *c, bool hf)
{
    static const struct {
        const char *family;
        const key *hf, *timm;
    } of[] = {
        {"vit", hf_vit, timm_vit},       {"deit", hf_vit, timm_vit},
        {"dinov2", hf_dinov2, timm_vit}, {"beit", hf_beit, timm_beit},
        {"clip", hf_tower, timm_vit},    {"siglip", hf_tower, timm_vit},
        {"relpos", NULL, timm_relpos},   {"eva02", NULL, timm_eva},
        {"resnet", NULL, timm_resnet},   {"hybrid", NULL, timm_vit},
        {"resnetd", NULL, timm_vit},     {"axial", NULL, timm_vit},
    };

    for (size_t i = 0; i < VT_COUNT(of); i++)
        if (strcmp(of[i].family, c->family) == 0)
            return hf ? of[i].hf : of[i].timm;
    return NULL;
}

vitcl_status vt_config_keys(const vt_config *c, const vt_json *config,
                            const char *path)
{
    vitcl_status st = VITCL_OK;
    const vt_json *vision = vt_config_vision(config);
    const key *rows = rows_of(c, c->source == VT_SOURCE_HF);

    if (c->source == VT_SOURCE_TIMM && config) {
        VT_TRY(check_timm(vt_json_get(config, "model_args"), rows, path));
        VT_TRY(vt_preprocess_timm_keys(vt_json_get(config, "pretrained_cfg"),
                                       path));
    } else if (c->source == VT_SOURCE_HF) {
        VT_TRY(check_hf(vision, rows, NULL, config, path));
        if (vision != config)
            VT_TRY(check_hf(config, hf_towers, NULL, config, path));
        VT_TRY(agree(c, rows, vision, path));
    }
done:
    return st;
}
