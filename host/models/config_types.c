/*
 * config_types.c - checks the types of a config's fields.
 *
 * Each field that is read somewhere has a row. A field of another type is an
 * error that names it and is not taken as missing: the default would give
 * another model. null means the default.
 */
#include "models/config.h"

#include "base/json_types.h"
#include "base/memory.h"

enum {
    TEXT = VT_JSON_TEXT,
    COUNT = VT_JSON_COUNT,
    NUMBER = VT_JSON_NUMBER,
    FLAG = VT_JSON_FLAG,
    LIST = VT_JSON_LIST,
    OBJECT = VT_JSON_OBJECT,
    SIDES = COUNT | LIST
};

static const vt_json_row names[] = {
    {"architecture", TEXT},         {"model_type", TEXT},
    {"architectures", LIST},        {"vision_config", OBJECT},
    {"vision_config_dict", OBJECT}, {"text_config", OBJECT},
    {"text_config_dict", OBJECT},
};

static const vt_json_row model_fields[] = {
    /* timm */
    {"num_classes", COUNT},
    {"model_args", OBJECT},
    {"pretrained_cfg", OBJECT},
    {"label_names", LIST | OBJECT},
    {"label_descriptions", OBJECT},
    /* Hugging Face; vitcl also reads layer_norm_eps in timm configs */
    {"id2label", OBJECT},
    {"hidden_size", COUNT},
    {"num_hidden_layers", COUNT},
    {"num_attention_heads", COUNT},
    {"intermediate_size", COUNT},
    {"image_size", SIDES},
    {"patch_size", SIDES},
    {"num_register_tokens", COUNT},
    {"projection_dim", COUNT},
    {"num_patches", COUNT},
    {"hidden_act", TEXT},
    {"pooler_act", TEXT},
    {"layer_norm_eps", NUMBER},
    {"rms_norm_eps", NUMBER},
    {"use_head", FLAG},
    {"is_native", FLAG},
    {"mlp_bias", FLAG},
    {"num_detection_tokens", COUNT},
    {"use_mid_position_embeddings", FLAG},
    {"vision_use_head", FLAG},
    {"use_mean_pooling", FLAG},
    {"use_absolute_position_embeddings", FLAG},
    {"use_relative_position_bias", FLAG},
    {"use_shared_relative_position_bias", FLAG},
    {"rope_theta", NUMBER},
    {"use_gated_mlp", FLAG},
    {"problem_type", TEXT},
    {"transformers_version", TEXT},
    /* vitcl's hybrids */
    {"stem_width", COUNT},
    {"stem_layers", LIST},
    {"stem_widths", LIST},
    {"stem_block", TEXT},
    /* vitcl's trainings */
    {"vitcl_certainty", OBJECT},
    {"vitcl_pixels", TEXT},
};

static const vt_json_row timm_args[] = {
    {"img_size", SIDES},
    {"patch_size", SIDES},
    {"embed_dim", COUNT},
    {"depth", COUNT},
    {"num_heads", COUNT},
    {"reg_tokens", COUNT},
    {"representation_size", COUNT},
    {"act_layer", TEXT},
    {"norm_layer", TEXT},
    {"global_pool", TEXT},
    {"pos_embed", TEXT},
    {"pos_injection", TEXT},
    {"attention", TEXT},
    {"rel_pos_type", TEXT},
    {"ref_feat_shape", SIDES},
    {"rope_type", TEXT},
    {"rope_grid_indexing", TEXT},
    {"rope_grid_offset", NUMBER},
    {"rope_temperature", NUMBER},
    {"rope_rotate_half", FLAG},
    {"attn_pool_num_heads", COUNT},
    {"final_norm", FLAG},
    {"pool_include_prefix", FLAG},
    {"class_token", FLAG},
    {"pos_embed_grid_size", SIDES},
    {"pos_embed_interp_mode", TEXT},
    {"pos_embed_ar_preserving", FLAG},
    {"pos_embed_antialias", FLAG},
    {"pos_embed_align_corners", FLAG},
    {"use_abs_pos_emb", FLAG},
    {"use_rot_pos_emb", FLAG},
    {"use_rel_pos_bias", FLAG},
    {"use_post_norm", FLAG},
    {"attn_only_layer_scale", FLAG},
};

/* The other fields are checked where pictures are prepared. */
static const vt_json_row timm_cfg[] = {
    {"input_size", LIST},
    {"test_input_size", LIST},
    {"crop_pct", NUMBER},
};

static vitcl_status check(const vt_json *o, const vt_json_row *rows, size_t n,
                          const char *path)
{
    return vt_json_types(o, rows, n, "the config's", path);
}

vitcl_status vt_config_names(const vt_json *config, const char *path)
{
    vitcl_status st = VITCL_OK;
    const vt_json *named = vt_json_at(vt_json_get(config, "architectures"), 0);
    const char *word;

    if (config && !vt_json_is_object(config))
        return vt_fail(VITCL_ECORRUPT, "%s: the config is not an object", path);
    if (named && !vt_json_string(&word, named))
        return vt_fail(VITCL_ECORRUPT,
                       "%s: the config's architectures are not strings", path);
    VT_TRY(check(config, names, VT_COUNT(names), path));
done:
    return st;
}

vitcl_status vt_config_types(const vt_family *f, const vt_json *config,
                             const char *path)
{
    vitcl_status st = VITCL_OK;

    VT_TRY(check(config, model_fields, VT_COUNT(model_fields), path));
    VT_TRY(check(vt_config_vision(f, config), model_fields,
                 VT_COUNT(model_fields), path));
    VT_TRY(check(vt_json_get(config, "model_args"), timm_args,
                 VT_COUNT(timm_args), path));
    VT_TRY(check(vt_json_get(config, "pretrained_cfg"), timm_cfg,
                 VT_COUNT(timm_cfg), path));
done:
    return st;
}
