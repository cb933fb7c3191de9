/*
 * naflex.c - ViTs for pictures of any aspect ratio: SigLIP 2 NaFlex (Tschannen
 * et al. 2025, arXiv:2502.14786; Hugging Face's siglip2) and timm's naflexvit,
 * C-RADIO among them (Heinrich et al. 2024, arXiv:2412.07679).
 *
 * A picture is resized to a grid of patches, at most `budget` of them, that has
 * nearly its own aspect ratio. Here the pictures of a run have one grid, and a
 * batch with several grids is several runs: the libraries pad and mask, which
 * gives the same features with more work.
 *
 * Easy to get wrong:
 *   - the table of positions has a grid of its own; each picture's is made of
 *     it. timm's "ar_preserving" takes the top left part of a square; C-RADIO
 *     does so without antialiasing, version 3 of B and H with aligned corners
 *   - the patch embedding is a linear layer on patches whose colours come last
 *   - GELU has the tanh form in SigLIP 2 only
 */
#include "models/config.h"
#include "models/family.h"
#include "models/fields.h"
#include "models/vit.h"

#include <math.h>
#include <string.h>

/* How timm's architectures resize their positions. */
static void begin(vt_config *c)
{
    static const char *const corners[] = {"base_patch16_radio_v3",
                                          "huge_patch16_radio_v3", NULL};
    const char *name = c->name;
    const bool radio = strstr(name, "_radio_") != NULL;

    c->said.resize = radio || strstr(name, "_siglip") ? "bilinear" : "bicubic";
    c->said.antialias = !radio;
    c->said.corners = radio && vt_name_has(name, corners);
    c->said.square =
        radio || (strstr(name, "_par") && !strstr(name, "_patch16_map"));
}

static vitcl_status read_rule(vt_config *c, const char *path)
{
    const vt_said *s = &c->said;
    const bool bilinear = strcmp(s->resize, "bilinear") == 0;

    if ((!bilinear && strcmp(s->resize, "bicubic") != 0) ||
        (s->corners && (s->antialias || !bilinear)))
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: positions resized \"%.40s\"%s%s are not supported",
                       path, s->resize, s->antialias ? ", antialiased" : "",
                       s->corners ? ", with aligned corners" : "");
    c->pos_square = s->square;
    c->pos_rule = !bilinear      ? s->antialias ? VT_POS_TIMM : VT_POS_HF
                  : s->corners   ? VT_POS_GOOGLE
                  : s->antialias ? VT_POS_SMOOTH
                                 : VT_POS_LINEAR;
    return VITCL_OK;
}

/* The grid of the table: [1,h,w,D], or [1,h,D] and [1,w,D]. */
static vitcl_status read_grid(vt_config *c, const vt_weights *w,
                              const char *path)
{
    const vt_weight *t = vt_weights_get(w, "pos_embed");

    c->pos_axes = !t && (vt_weight_has(w, "pos_embed.y") ||
                         vt_weight_has(w, "pos_embed.x"));
    if (c->pos_axes) {
        c->pos_h = vt_weight_dim(w, "pos_embed.y", -2);
        c->pos_w = vt_weight_dim(w, "pos_embed.x", -2);
    } else if (t && t->rank == 4) {
        c->pos_h = vt_weight_dim(w, "pos_embed", 1);
        c->pos_w = vt_weight_dim(w, "pos_embed", 2);
    }
    if ((t || c->pos_axes) &&
        (c->pos_h < 1 || c->pos_w < 1 || c->pos_h > VT_MOST_PIXELS ||
         c->pos_w > VT_MOST_PIXELS))
        return vt_fail(VITCL_ECORRUPT, "%s: pos_embed has an unusable shape",
                       path);
    return VITCL_OK;
}

static vitcl_status of_timm(vt_config *c, const vt_json *config,
                            const vt_weights *w, const char *path)
{
    const char *how = c->said.pos ? c->said.pos : "learned";

    VT_RET(read_grid(c, w, path));
    c->pos_optional = c->pos_axes || !how[0] || strcmp(how, "none") == 0;
    VT_RET(vt_configure_timm(c, config, w, path));
    c->pos_embed |= c->pos_axes;
    VT_RET(read_rule(c, path));
    c->budget = c->height / c->patch_h * (c->width_px / c->patch_w);
    return VITCL_OK;
}

static vitcl_status of_hf(vt_config *c, const vt_json *config,
                          const vt_weights *w, const char *path)
{
    c->pos_h = c->pos_w = (int)sqrt((double)c->budget);
    if (!c->budget || c->pos_h * c->pos_w != c->budget)
        VT_RET(vt_bad_number(path, "num_patches"));
    VT_RET(vt_map_configure(c, config, w, path));
    c->pos_rule = VT_POS_SMOOTH;
    c->height = c->pos_h * c->patch_h;
    c->width_px = c->pos_w * c->patch_w;
    return VITCL_OK;
}

static vitcl_status configure(vt_config *c, const vt_json *config,
                              const vt_weights *w, const char *path)
{
    vitcl_status st;

    VT_TRY(vt_config_timm(config)[0] ? of_timm(c, config, w, path)
                                     : of_hf(c, config, w, path));
    if (c->patch_h != c->patch_w || c->patch_h < 2)
        st = vt_fail(VITCL_EUNSUPPORTED,
                     "%s: patches of %dx%d pixels are not supported in NaFlex "
                     "models; square ones from 2 on are",
                     path, c->patch_h, c->patch_w);
done:
    return st;
}

static const vt_field hf_fields[] = {
    VT_HF_PLAIN,
    COUNT("num_patches", budget, VT_MOST_TOKENS, 256),
    FLAG("vision_use_head", said.head, true),
    END,
};
static const vt_keys hf_keys = {hf_fields, "attention_dropout", NULL};

static const vt_field timm_fields[] = {
    VT_TIMM_FIELDS,
    SEEN("qk_norm", qk_norm),
    SEEN("scale_attn_inner_norm", attn_norm),
    SEEN("scale_mlp_norm", mlp_norm),
    SEEN("proj_bias", proj_bias),
    SEEN("class_token", class_token),
    COUNT("reg_tokens", said.registers, VT_MOST_WIDTH, -1),
    TEXT("pos_embed", said.pos),
    SEEN("pos_embed_grid_size", pos_h),
    TEXT("pos_embed_interp_mode", said.resize),
    FLAG("pos_embed_ar_preserving", said.square, -1),
    FLAG("pos_embed_antialias", said.antialias, -1),
    FLAG("pos_embed_align_corners", said.corners, -1),
    ONLY("pos_embed_use_grid_sample", "false"),
    ONLY("rope_type", "\"none\"|\"\""),
    ONLY("dynamic_img_pad", "false"),
    ONLY("patchify_channels_last", "true"),
    SEEN("pre_norm", pre_norm),
    FLAG("final_norm", said.final_norm, true),
    SEEN("fc_norm", fc_norm),
    FLAG("pool_include_prefix", pool_all, -1),
    SIZE("attn_pool_num_heads", pool_heads, VT_MOST_WIDTH),
    SEEN("attn_pool_mlp_ratio", pool_mlp),
    SEEN("embed_proj_type", patch_h),
    ONLY("attn_type", "\"standard\""),
    ONLY("attn_gated", "false"),
    ONLY("swiglu_mlp", "false"),
    ONLY("qkv_fused", "true"),
    ONLY("attn_only_layer_scale", "false"),
    END,
};
static const vt_keys args = {
    timm_fields,
    VT_TIMM_DROPOUT
    "rope_temperature|rope_ref_feat_shape|rope_grid_offset|rope_grid_indexing|"
    "rope_rotate_half|rope_shift_coords|rope_jitter_coords|"
    "rope_rescale_coords|rope_mrope_section|swiglu_align_to|"
    "use_key_only_attn_mask|enable_patch_interpolator|weight_init|fix_init",
    "input_norm_layer|embed_norm_layer|block_fn|mlp_layer|"
    "attn_layer|num_kv_heads"};

static const vt_mark marks[] = {
    {"_gap", VT_SAYS_POOL, 0, "avg"},
    {"_radio_", VT_SAYS_POOL, 0, "token"},
    {"", VT_SAYS_POOL, 0, "map"},
    {"_siglip", VT_SAYS_ACT, VT_ACT_GELU_TANH, NULL},
    {"giant_patch16_radio", VT_SAYS_HEADS, -64, NULL},
    {"_radio_v3", VT_SAYS_REGISTERS, 7, NULL},
    {"_radio_v4", VT_SAYS_REGISTERS, 9, NULL},
    {"_map", VT_SAYS_REGISTERS, 1, NULL},
    {"_gap", VT_SAYS_REGISTERS, 4, NULL},
    {"_radio_", VT_SAYS_BARE, 0, NULL},
    {NULL, 0, 0, NULL},
};

static const vt_hf_class classes[] = {
    {.types = "siglip2",
     .processor = "Siglip2",
     .keys = &hf_keys,
     .towers = true,
     .text = &vt_siglip_text,
     .eps = 1e-6f,
     .act = VT_ACT_GELU_TANH,
     .no_class_token = true},
    {.types = NULL},
};

const vt_family vt_family_naflex = {
    .processors = {{"Siglip2", .filter = VT_BILINEAR, .size = 224,
                    .number_shortest = true, .patches = 256, .mean = vt_halves,
                    .std = vt_halves}},
    .name = "naflex",
    .looks = "NaFlex ViT",
    .hf = classes,
    .timm = "naflexvit_*",
    .args = &args,
    .begin = begin,
    .marks = marks,
    .configure = configure,
    .build = vt_map_build,
    .idle_head = true,
};
