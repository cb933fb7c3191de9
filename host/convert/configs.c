/*
 * configs.c - config.json as timm and HF transformers write it.
 *
 * Easy to get wrong: timm truncates embed_dim * mlp_ratio, so the ratio must
 * not be too small; likewise crop_pct, by which timm divides. The SwiGLU width
 * of HF's DINOv2 is 2/3 of width * mlp_ratio, rounded up to a multiple of 8.
 */
#include "convert/convert.h"

#include "base/number.h"

#include <string.h>

static void put_string(FILE *f, const char *s)
{
    fputc('"', f);
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            fputc('\\', f);
        if ((unsigned char)*s < ' ')
            fprintf(f, "\\u%04x", (unsigned char)*s);
        else
            fputc(*s, f);
    }
    fputc('"', f);
}

static void put_pair(FILE *f, const char *key, const char *value)
{
    fprintf(f, "  \"%s\": ", key);
    put_string(f, value);
    fputs(",\n", f);
}

/* Enough digits to read the same float again. */
static void put_three(FILE *f, const char *key, const float v[3])
{
    vt_print(f, "  \"%s\": [%.9g, %.9g, %.9g],\n", key, (double)v[0],
             (double)v[1], (double)v[2]);
}

/* One number if both sides are equal. */
static void put_sides(FILE *f, const char *key, int h, int w)
{
    if (h == w)
        fprintf(f, "  \"%s\": %d,\n", key, h);
    else
        fprintf(f, "  \"%s\": [%d, %d],\n", key, h, w);
}

/* A ratio r with (int)(base * r) == product. */
static double ratio_of(int product, int base)
{
    double r = (double)product / base;
    return (int)(base * r) == product ? r : (product + 0.5) / base;
}

static const char *real_label(const vt_model *m, uint32_t i)
{
    const char *s = vt_model_label(m, i);
    return s && strncmp(s, "LABEL_", 6) != 0 ? s : NULL;
}

/* ---- timm ---- */

static const char *pool_word(const vt_config *c)
{
    return c->attn_pool              ? "map"
           : c->pool == VT_POOL_MEAN ? "avg"
           : c->pool == VT_POOL_MAX  ? "max"
                                     : "token";
}

static void put_timm_args(FILE *f, const vt_config *c, const vt_target *t)
{
    const bool clip = strstr(t->type, "_clip_") != NULL;
    const bool siglip = strstr(t->type, "siglip") != NULL;
    const bool registers = strstr(t->type, "_reg4_") != NULL;
    const bool deit3 = strstr(t->type, "deit3") != NULL;
    /* timm's constructors of these say no_embed_class by themselves */
    const bool as_constructed =
        t->no_embed_class == (registers || deit3 || siglip);
    const int rows = c->swiglu ? 2 * c->mlp : c->mlp;

    fputs("  \"model_args\": {\n", f);
    put_sides(f, "img_size", c->height, c->width_px);
    if (strcmp(c->family, "hybrid") != 0)
        put_sides(f, "patch_size", c->patch_h, c->patch_w);
    fprintf(f, "  \"embed_dim\": %d,\n  \"depth\": %d,\n", c->width, c->depth);
    vt_print(f, "  \"mlp_ratio\": %.17g,\n", ratio_of(rows, c->width));
    /* timm's constructors only read the one in model_args */
    put_pair(f, "global_pool", pool_word(c));
    if (!c->qkv_bias)
        fputs("  \"qkv_bias\": false,\n", f);
    if (!c->proj_bias)
        fputs("  \"proj_bias\": false,\n", f);
    if (!c->class_token && !siglip)
        fputs("  \"class_token\": false,\n", f);
    if (c->class_token && siglip)
        fputs("  \"class_token\": true,\n", f);
    if (c->registers && !(registers && c->registers == 4))
        fprintf(f, "  \"reg_tokens\": %d,\n", c->registers);
    if (c->pos_embed && c->class_token && !as_constructed)
        fprintf(f, "  \"no_embed_class\": %s,\n",
                t->no_embed_class ? "true" : "false");
    if (c->qk_norm)
        fputs("  \"qk_norm\": true,\n", f);
    if (c->pool == VT_POOL_MEAN && c->final_norm && !c->attn_pool)
        fputs("  \"fc_norm\": false,\n", f);
    if (c->rel_pos_shared)
        fputs("  \"use_rel_pos_bias\": false,\n"
              "  \"use_shared_rel_pos_bias\": true,\n",
              f);
    if (c->act == VT_ACT_GELU_TANH)
        fputs("  \"act_layer\": \"gelu_tanh\",\n", f);
    else if (c->act == VT_ACT_GELU_QUICK && !clip)
        fputs("  \"act_layer\": \"quick_gelu\",\n", f);
    fprintf(f, "  \"num_heads\": %d\n  },\n", c->heads);
}

/* timm resizes to floor(size / crop_pct). */
static double crop_pct(const vt_preprocess *how)
{
    double r = (double)how->height / how->resize_height;

    if (how->fit == VT_FIT_NONE || how->crop == VT_CROP_NONE)
        return 1;
    return (uint32_t)(how->height / r) == how->resize_height
               ? r
               : how->height / (how->resize_height + 0.5);
}

static void put_timm_cfg(FILE *f, const vt_config *c, const vt_preprocess *how,
                         int classes)
{
    static const char *const filters[] = {"nearest", "lanczos", "bilinear",
                                          "bicubic", "box",     "hamming"};
    fprintf(f,
            "  \"pretrained_cfg\": {\n  \"input_size\": [3, %d, %d],\n"
            "  \"fixed_input_size\": true,\n",
            c->height, c->width_px);
    put_pair(f, "interpolation", filters[how->filter]);
    vt_print(f, "  \"crop_pct\": %.17g,\n", crop_pct(how));
    put_pair(f, "crop_mode",
             how->fit == VT_FIT_SQUASH   ? "squash"
             : how->fit == VT_FIT_BORDER ? "border"
                                         : "center");
    put_three(f, "mean", how->mean);
    put_three(f, "std", how->std);
    fprintf(f,
            "  \"num_classes\": %d,\n  \"pool_size\": null,\n"
            "  \"first_conv\": \"patch_embed.proj\",\n  \"classifier\": %s\n"
            "  }\n",
            classes, c->dist_token ? "[\"head\", \"head_dist\"]" : "\"head\"");
}

static void put_timm_labels(FILE *f, const vt_model *m, uint32_t n)
{
    if (n == 0 || !real_label(m, 0))
        return;
    fputs("  \"label_names\": [\n", f);
    for (uint32_t i = 0; i < n; i++) {
        const char *s = real_label(m, i);
        fputs("  ", f);
        put_string(f, s ? s : "");
        fputs(i + 1 < n ? ",\n" : "\n  ],\n", f);
    }
    if (!vt_model_longname(m, 0))
        return;
    fputs("  \"label_descriptions\": {\n", f);
    for (uint32_t i = 0; i < n; i++) {
        const char *s = real_label(m, i), *text = vt_model_longname(m, i);
        fputs("  ", f);
        put_string(f, s ? s : "");
        fputs(": ", f);
        put_string(f, text ? text : "");
        fputs(i + 1 < n ? ",\n" : "\n  },\n", f);
    }
}

void vt_convert_timm(FILE *f, const vt_model *m, const vt_target *t,
                     const vt_preprocess *how)
{
    const vt_config *c = vt_model_config(m);
    const int classes = c->classes ? c->classes : c->projection;

    fputs("{\n", f);
    put_pair(f, "architecture", t->type);
    fprintf(f, "  \"num_classes\": %d,\n  \"num_features\": %d,\n", classes,
            c->width);
    put_pair(f, "global_pool", pool_word(c));
    put_timm_args(f, c, t);
    put_timm_labels(f, m, (uint32_t)c->classes);
    put_timm_cfg(f, c, how, classes);
    fputs("}\n", f);
}

/* ---- Hugging Face ---- */

/* mlp_ratio is an integer, unless no integer gives this width. */
static void put_mlp(FILE *f, const vt_config *c, const vt_target *t)
{
    int product = c->mlp;

    if (strncmp(t->type, "dinov2", 6) != 0) {
        fprintf(f, "  \"intermediate_size\": %d,\n", c->mlp);
        return;
    }
    if (c->swiglu) {
        product = 4 * c->width;
        if ((product * 2 / 3 + 7) / 8 * 8 != c->mlp)
            product = (c->mlp * 3 + 1) / 2;
    }
    vt_print(f, "  \"mlp_ratio\": %.17g,\n", ratio_of(product, c->width));
    fprintf(f,
            "  \"use_swiglu_ffn\": %s,\n  \"use_mask_token\": false,\n"
            "  \"layerscale_value\": 1.0,\n",
            c->swiglu ? "true" : "false");
    if (c->registers)
        fprintf(f, "  \"num_register_tokens\": %d,\n", c->registers);
}

static void put_beit(FILE *f, const vt_config *c)
{
    fprintf(f,
            "  \"use_mean_pooling\": %s,\n  \"use_mask_token\": false,\n"
            "  \"use_absolute_position_embeddings\": %s,\n"
            "  \"use_relative_position_bias\": %s,\n"
            "  \"use_shared_relative_position_bias\": %s,\n"
            "  \"layer_scale_init_value\": %s,\n",
            c->pool == VT_POOL_MEAN ? "true" : "false",
            c->pos_embed ? "true" : "false",
            c->rel_pos && !c->rel_pos_shared ? "true" : "false",
            c->rel_pos_shared ? "true" : "false", c->layer_scale ? "0.1" : "0");
}

static void put_hf_labels(FILE *f, const vt_model *m, uint32_t n)
{
    char made[24];

    if (n == 0)
        return;
    fputs("  \"id2label\": {\n", f);
    for (uint32_t i = 0; i < n; i++) {
        const char *s = vt_model_longname(m, i);
        snprintf(made, sizeof made, "LABEL_%u", i);
        s = s ? s : real_label(m, i);
        fprintf(f, "  \"%u\": ", i);
        put_string(f, s ? s : made);
        fputs(i + 1 < n ? ",\n" : "\n  },\n", f);
    }
}

void vt_convert_hf(FILE *f, const vt_model *m, const vt_target *t)
{
    const vt_config *c = vt_model_config(m);

    fprintf(f, "{\n  \"architectures\": [\"%s\"],\n", t->architecture);
    put_pair(f, "model_type", t->type);
    fprintf(f,
            "  \"hidden_size\": %d,\n  \"num_hidden_layers\": %d,\n"
            "  \"num_attention_heads\": %d,\n",
            c->width, c->depth, c->heads);
    put_mlp(f, c, t);
    put_pair(f, "hidden_act",
             c->act == VT_ACT_GELU_TANH    ? "gelu_pytorch_tanh"
             : c->act == VT_ACT_GELU_QUICK ? "quick_gelu"
                                           : "gelu");
    vt_print(f, "  \"layer_norm_eps\": %.6g,\n", (double)c->eps);
    put_sides(f, "image_size", c->height, c->width_px);
    put_sides(f, "patch_size", c->patch_h, c->patch_w);
    if (t->to == VT_TO_HF_BEIT)
        put_beit(f, c);
    else if (t->to == VT_TO_HF_CLIP && c->projection + c->classes)
        fprintf(f, "  \"projection_dim\": %d,\n", c->projection + c->classes);
    else if (t->to == VT_TO_HF_SIGLIP)
        fputs("  \"vision_use_head\": true,\n", f);
    else
        fprintf(f, "  \"qkv_bias\": %s,\n", c->qkv_bias ? "true" : "false");
    if (t->to != VT_TO_HF_CLIP)
        put_hf_labels(f, m, (uint32_t)c->classes);
    fputs("  \"num_channels\": 3\n}\n", f);
}

void vt_convert_preprocessor(FILE *f, const vt_preprocess *how)
{
    const bool squash = how->fit == VT_FIT_SQUASH;

    fprintf(f, "{\n  \"image_processor_type\": \"%s\",\n",
            squash ? "ViTImageProcessor" : "CLIPImageProcessor");
    fprintf(f, "  \"do_resize\": %s,\n",
            how->fit == VT_FIT_NONE ? "false" : "true");
    if (squash)
        fprintf(f, "  \"size\": {\"height\": %u, \"width\": %u},\n",
                how->resize_height, how->resize_width);
    else
        fprintf(f, "  \"size\": {\"shortest_edge\": %u},\n",
                how->resize_height);
    fprintf(f, "  \"resample\": %d,\n  \"do_center_crop\": %s,\n",
            (int)how->filter, how->crop == VT_CROP_NONE ? "false" : "true");
    if (how->crop != VT_CROP_NONE)
        fprintf(f, "  \"crop_size\": {\"height\": %u, \"width\": %u},\n",
                how->height, how->width);
    vt_print(f, "  \"do_rescale\": true,\n  \"rescale_factor\": %.17g,\n",
             how->scale == 1.0f / 255.0f ? 1.0 / 255 : (double)how->scale);
    fprintf(f, "  \"do_convert_rgb\": %s,\n", how->on_white ? "true" : "false");
    put_three(f, "image_mean", how->mean);
    put_three(f, "image_std", how->std);
    fputs("  \"do_normalize\": true\n}\n", f);
}
