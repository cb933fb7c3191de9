/*
 * config_rows.c - the keys that each library's class reads, and what vitcl
 * understands of them.
 *
 * A key whose effect the tensors show needs no value here: both libraries would
 * miss a tensor, or have one too many.
 */
#include "models/config_rows.h"

#include "base/memory.h"
#include "models/family.h"

#include <string.h>

typedef vt_config_row key;

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
const key vt_config_hf_all[] = {
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
    /* MAE's */
    IDLE("mask_ratio"),
    IDLE("norm_pix_loss"),
    IDLE("decoder_hidden_size"),
    IDLE("decoder_intermediate_size"),
    IDLE("decoder_num_attention_heads"),
    IDLE("decoder_num_hidden_layers"),
    /* DPT's, of which only the ViT is read, not the layers for depth and
     * segments */
    ONLY("is_hybrid", "false"),
    NONE("backbone"),
    NONE("backbone_config"),
    IDLE("use_pretrained_backbone"),
    IDLE("use_timm_backbone"),
    IDLE("backbone_kwargs"),
    IDLE("backbone_out_indices"),
    IDLE("backbone_featmap_shape"),
    IDLE("readout_type"),
    IDLE("reassemble_factors"),
    IDLE("neck_hidden_sizes"),
    IDLE("neck_ignore_stages"),
    IDLE("fusion_hidden_size"),
    IDLE("head_in_index"),
    IDLE("use_batch_norm_in_fusion_residual"),
    IDLE("use_bias_in_fusion_residual"),
    IDLE("add_projection"),
    IDLE("use_auxiliary_head"),
    IDLE("auxiliary_loss_weight"),
    IDLE("semantic_loss_ignore_index"),
    IDLE("semantic_classifier_dropout"),
    END,
};

static const key hf_yolos[] = {
    TRANSFORMER,
    DROPOUT,
    READ("intermediate_size"),
    READ("qkv_bias"),
    READ("num_detection_tokens"),
    READ("use_mid_position_embeddings"),
    IDLE("auxiliary_loss"),
    IDLE("class_cost"),
    IDLE("bbox_cost"),
    IDLE("giou_cost"),
    IDLE("bbox_loss_coefficient"),
    IDLE("giou_loss_coefficient"),
    IDLE("eos_coefficient"),
    END,
};

static const key hf_aimv2[] = {
    READ("hidden_size"),       READ("intermediate_size"),
    READ("num_hidden_layers"), READ("num_attention_heads"),
    READ("hidden_act"),        READ("rms_norm_eps"),
    READ("image_size"),        READ("patch_size"),
    READ("qkv_bias"),          READ("mlp_bias"),
    READ("use_head"),          READ("is_native"),
    IDLE("attention_dropout"), END,
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

static const key hf_dinov3[] = {
    TRANSFORMER,
    DROPOUT,
    BACKBONE,
    READ("intermediate_size"),
    READ("rope_theta"),
    READ("num_register_tokens"),
    READ("use_gated_mlp"),
    READ("query_bias"),
    READ("key_bias"),
    READ("value_bias"),
    READ("proj_bias"),
    READ("mlp_bias"),
    IDLE("attention_dropout"),
    IDLE("layerscale_value"),
    IDLE("pos_embed_shift"),
    IDLE("pos_embed_jitter"),
    IDLE("pos_embed_rescale"),
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

static const key hf_naflex[] = {
    TRANSFORMER,
    READ("intermediate_size"),
    READ("num_patches"),
    READ("vision_use_head"),
    IDLE("attention_dropout"),
    END,
};

/* Around a tower's own config; texts are not read. */
const key vt_config_hf_towers[] = {
    READ("vision_config"),
    READ("vision_config_dict"),
    READ("projection_dim"),
    IDLE("text_config"),
    IDLE("text_config_dict"),
    IDLE("logit_scale_init_value"),
    IDLE("max_logit_scale"),        /* aimv2 */
    IDLE("temperature_init_value"), /* tipsv2 */
    END,
};

/* ---- timm ---- */

/* What each class takes, and vitcl's own: attention, pos_injection,
 * representation_size. */
#define TIMM                                                                   \
    READ("img_size"), READ("patch_size"), ONLY("in_chans", "1|3"),             \
        READ("num_classes"), READ("global_pool"), READ("embed_dim"),           \
        READ("depth"), READ("num_heads"), READ("mlp_ratio"), READ("qkv_bias"), \
        READ("init_values"), READ("norm_layer"), IDLE("drop_rate"),            \
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
    READ("attn_layer"),
    IDLE("pos_drop_rate"),
    IDLE("patch_drop_rate"),
    IDLE("weight_init"),
    IDLE("fix_init"),
    END,
};

static const key timm_naflex[] = {
    TIMM,
    READ("qk_norm"),
    READ("scale_attn_inner_norm"),
    READ("scale_mlp_norm"),
    READ("proj_bias"),
    READ("class_token"),
    READ("reg_tokens"),
    ONLY("pos_embed", "\"learned\"|\"factorized\"|\"none\"|\"\""),
    READ("pos_embed_grid_size"),
    READ("pos_embed_interp_mode"),
    READ("pos_embed_ar_preserving"),
    READ("pos_embed_antialias"),
    READ("pos_embed_align_corners"),
    ONLY("pos_embed_use_grid_sample", "false"),
    ONLY("rope_type", "\"none\"|\"\""),
    IDLE("rope_temperature"),
    IDLE("rope_ref_feat_shape"),
    IDLE("rope_grid_offset"),
    IDLE("rope_grid_indexing"),
    IDLE("rope_rotate_half"),
    IDLE("rope_shift_coords"),
    IDLE("rope_jitter_coords"),
    IDLE("rope_rescale_coords"),
    IDLE("rope_mrope_section"),
    ONLY("dynamic_img_pad", "false"),
    ONLY("patchify_channels_last", "true"),
    READ("pre_norm"),
    READ("final_norm"),
    READ("fc_norm"),
    READ("pool_include_prefix"),
    READ("attn_pool_num_heads"),
    READ("attn_pool_mlp_ratio"),
    READ("act_layer"),
    READ("embed_proj_type"),
    NONE("input_norm_layer"),
    NONE("embed_norm_layer"),
    NONE("block_fn"),
    NONE("mlp_layer"),
    NONE("attn_layer"),
    NONE("num_kv_heads"),
    ONLY("attn_type", "\"standard\""),
    ONLY("attn_gated", "false"),
    ONLY("swiglu_mlp", "false"),
    IDLE("swiglu_align_to"),
    ONLY("qkv_fused", "true"),
    ONLY("attn_only_layer_scale", "false"),
    IDLE("use_key_only_attn_mask"),
    IDLE("enable_patch_interpolator"),
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
    READ("num_kv_heads"),
    READ("qkv_fused"),
    READ("qk_norm"),
    READ("swiglu_mlp"),
    READ("swiglu_align_to"),
    READ("scale_mlp"),
    READ("scale_attn_inner"),
    READ("attn_type"),
    READ("attn_only_layer_scale"),
    READ("class_token"),
    READ("num_reg_tokens"),
    READ("no_embed_class"),
    READ("use_abs_pos_emb"),
    READ("use_rot_pos_emb"),
    READ("rope_type"),
    READ("rope_grid_offset"),
    ONLY("rope_grid_indexing", "\"ij\"|\"xy\""),
    READ("rope_temperature"),
    READ("rope_rotate_half"),
    IDLE("rope_shift_coords"),
    IDLE("rope_jitter_coords"),
    IDLE("rope_rescale_coords"),
    IDLE("rope_mrope_section"),
    READ("use_post_norm"),
    READ("use_pre_transformer_norm"),
    READ("use_post_transformer_norm"),
    READ("use_fc_norm"),
    READ("attn_pool_num_heads"),
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

const key *vt_config_rows(const vt_config *c, bool hf)
{
    static const struct {
        const char *family;
        const key *hf, *timm;
    } of[] = {
        {"vit", hf_vit, timm_vit},       {"deit", hf_vit, timm_vit},
        {"dinov2", hf_dinov2, timm_vit}, {"beit", hf_beit, timm_beit},
        {"clip", hf_tower, timm_vit},    {"siglip", hf_tower, timm_vit},
        {"relpos", NULL, timm_relpos},   {"eva02", NULL, timm_eva},
        {"rotary", hf_dinov3, timm_eva}, {"resnet", NULL, timm_resnet},
        {"hybrid", NULL, timm_vit},      {"resnetd", NULL, timm_vit},
        {"axial", NULL, timm_vit},       {"naflex", hf_naflex, timm_naflex},
        {"aimv2", hf_aimv2, NULL},       {"yolos", hf_yolos, NULL},
        {"mobileclip", NULL, timm_vit},
    };

    for (size_t i = 0; i < VT_COUNT(of); i++)
        if (strcmp(of[i].family, c->family->name) == 0)
            return hf ? of[i].hf : of[i].timm;
    return NULL;
}
