/*
 * timm.c - a model as timm has it: its architecture, its arguments and its
 * config.json, for converting and for training.
 *
 * Easy to get wrong: timm truncates embed_dim * mlp_ratio, so the ratio must
 * not be too small; likewise crop_pct, by which timm divides.
 */
#include "convert/timm.h"

#include "base/json_print.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/text.h"
#include "convert/print.h"
#include "models/config.h"
#include "models/family.h"

#include <string.h>

/* ---- the model in timm ---- */

bool vt_timm_oblong(const vt_config *c)
{
    return c->rel_pos && c->height / c->patch_h != c->width_px / c->patch_w;
}

const char *vt_timm_lacks(const vt_model *m)
{
    const vt_config *c = vt_model_config(m);
    const vt_json *args = vt_json_get(vt_model_json(m), "model_args");

    return c->pos_kind != VT_POS_1D || c->pos_injection != VT_AT_STEM
               ? "these position embeddings"
           : c->rel_pos_turned && vt_timm_oblong(c)
               ? "tables of relative positions that are not square, as HF "
                 "reads them"
           : c->axial       ? "axial attention"
           : c->tokens_last ? "detection tokens"
           : c->pre_logits  ? "a pre-logits layer"
           : c->pre_norm && c->classes && !c->final_norm && !c->fc_norm
               ? "a head on patches without a norm"
           : c->family->conv_head && vt_json_get(args, "layers")
               ? "this number of layers in its stages"
           : c->dist_token && !c->dist_head
               ? "a distillation token that no head reads"
           : c->pooler ? "a pooler"
           : c->family->as_beit && c->act != VT_ACT_GELU
               ? "another activation than GELU in BEiT"
           : !vt_act_timm(c->act) ? "this activation"
                                  : NULL;
}

static const char *timm_hybrid(const vt_config *c)
{
    if (c->stem_only)
        return "vit_tiny_r_s16_p8_224";
    if (c->stem_stages == 3)
        return "vit_base_r50_s16_224";
    if (c->stem_stages == 4 && c->stem_layers[2] == 6)
        return "vit_large_r50_s32_224";
    return "vit_small_r26_s32_224";
}

const char *vt_timm_architecture(const vt_config *c, bool no_embed_class)
{
    if (c->stem_width[0])
        return timm_hybrid(c);
    if (c->dist_token)
        return "deit_base_distilled_patch16_224";
    if (c->family->as_beit)
        return "beit_base_patch16_224";
    if (c->pre_norm)
        return c->act == VT_ACT_GELU_QUICK
                   ? "vit_base_patch16_clip_quickgelu_224"
                   : "vit_base_patch16_clip_224";
    if (c->attn_pool)
        return "vit_base_patch16_siglip_224";
    if (!c->layer_scale)
        return "vit_base_patch16_224";
    if (c->registers)
        return c->swiglu ? "vit_giant_patch14_reg4_dinov2"
                         : "vit_base_patch14_reg4_dinov2";
    return c->swiglu        ? "vit_giant_patch14_dinov2"
           : no_embed_class ? "deit3_base_patch16_224"
                            : "vit_base_patch14_dinov2";
}

/* Epsilons below 1e-6 are no different for the variances of a model's tokens:
 * published ones have 1e-12 in HF and 1e-6 in timm. */
bool vt_same_eps(float a, float b)
{
    return a == b || (a <= 1e-6f && b <= 1e-6f);
}

vitcl_status vt_timm_eps(const vt_config *c, const char *architecture,
                         const char *path)
{
    const float eps = strstr(architecture, "clip") ? 1e-5f : 1e-6f;

    return vt_same_eps(c->eps, eps)
               ? VITCL_OK
               : vt_fail(VITCL_EUNSUPPORTED,
                         "%s: its layer_norm_eps is %g, but timm's models of "
                         "this kind have %g",
                         path, (double)c->eps, (double)eps);
}

const char *vt_timm_pool(const vt_config *c)
{
    return c->attn_pool              ? "map"
           : c->pool == VT_POOL_MEAN ? "avg"
           : c->pool == VT_POOL_MAX  ? "max"
                                     : "token";
}

/* ---- its config ---- */

static void put_args(FILE *f, const vt_config *c, const char *architecture,
                     bool no_embed_class, int height, int width)
{
    const bool siglip = strstr(architecture, "siglip") != NULL;
    const bool registers = strstr(architecture, "_reg4_") != NULL;
    const bool deit3 = strstr(architecture, "deit3") != NULL;
    /* timm's constructors of these say no_embed_class by themselves */
    const bool as_constructed =
        no_embed_class == (registers || deit3 || siglip);
    const int rows = c->swiglu ? 2 * c->mlp : c->mlp;

    fputs("\n", f);
    vt_put_sides(f, "img_size", height, width);
    if (!c->stem_width[0])
        vt_put_sides(f, "patch_size", c->patch_h, c->patch_w);
    fprintf(f, "  \"embed_dim\": %d,\n  \"depth\": %d,\n", c->width, c->depth);
    vt_print(f, "  \"mlp_ratio\": %.17g,\n", vt_ratio_of(rows, c->width));
    /* timm's constructors only read the one in model_args */
    vt_put_text(f, "global_pool", vt_timm_pool(c));
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
                no_embed_class ? "true" : "false");
    if (c->qk_norm)
        fputs("  \"qk_norm\": true,\n", f);
    if (c->pool == VT_POOL_MEAN && c->final_norm && !c->attn_pool)
        fputs("  \"fc_norm\": false,\n", f);
    if (c->rel_pos_shared)
        fprintf(f,
                "  \"use_rel_pos_bias\": %s,\n"
                "  \"use_shared_rel_pos_bias\": true,\n",
                c->rel_pos_both ? "true" : "false");
    if (c->family->as_beit && !c->rel_pos)
        fputs("  \"use_rel_pos_bias\": false,\n", f);
    if (c->family->as_beit && c->pos_embed)
        fputs("  \"use_abs_pos_emb\": true,\n", f);
    /* SwiGLU has one of its own; a layer's constructor would take this one */
    if (c->act != VT_ACT_GELU && !c->swiglu &&
        !strstr(architecture, "quickgelu"))
        vt_put_text(f, "act_layer",
                    vt_act_timm(c->act) ? vt_act_timm(c->act)
                                        : vt_act_hf(c->act));
    fprintf(f, "  \"num_heads\": %d\n  ", c->heads);
}

vitcl_status vt_timm_args_new(char **out, const vt_config *c,
                              const char *architecture, bool no_embed_class,
                              int height, int width)
{
    vitcl_status st;
    vt_text text;

    VT_TRY(vt_text_open(&text));
    put_args(text.f, c, architecture, no_embed_class, height, width);
    VT_TRY(vt_text_take(out, &text));
done:
    return st;
}

/* timm resizes to floor(size / crop_pct). Nine digits do not hold every ratio:
 * then half a pixel guards against rounding. */
static double crop_pct(const vt_timm_config *c)
{
    const vt_preprocess *how = &c->how;
    const double r = (double)how->height / how->resize_height;

    if (c->crop_pct > 0)
        return c->crop_pct;
    if (how->fit == VT_FIT_NONE || how->crop == VT_CROP_NONE ||
        how->resize_height == how->height)
        return 1;
    return c->full && (uint32_t)(how->height / r) == how->resize_height
               ? r
               : how->height / (how->resize_height + 0.5);
}

static void put_cfg(FILE *f, const vt_timm_config *c)
{
    const char *in = c->full ? "" : "  "; /* before what vt_put_..() indents */
    const vt_preprocess *how = &c->how;

    fprintf(f,
            "  \"pretrained_cfg\": {\n%s  \"input_size\": [3, %d, %d],\n%s%s",
            in, c->height, c->width,
            c->full ? "  \"fixed_input_size\": true,\n" : "", in);
    vt_put_text(f, "interpolation", vt_filter_name(how->filter));
    vt_print(f,
             c->full ? "  \"crop_pct\": %.17g,\n%s"
                     : "    \"crop_pct\": %.9g,\n%s",
             crop_pct(c), in);
    vt_put_text(f, "crop_mode",
                how->fit == VT_FIT_SQUASH   ? "squash"
                : how->fit == VT_FIT_BORDER ? "border"
                                            : "center");
    fputs(in, f);
    vt_put_three(f, "mean", how->mean);
    fputs(in, f);
    vt_put_three(f, "std", how->std);
    fprintf(f,
            "%s  \"num_classes\": %u,\n%s%s  \"first_conv\": \"%s\",\n"
            "%s  \"classifier\": %s\n  }",
            in, c->classes, c->full ? "  \"pool_size\": null,\n" : "", in,
            c->first_conv ? c->first_conv : "patch_embed.proj", in,
            c->classifier ? c->classifier : "\"head\"");
}

static const char *or_empty(const char *s)
{
    return s ? s : "";
}

static void put_labels(FILE *f, const vt_timm_config *c)
{
    const char *line = c->full ? "\n  " : "";

    fprintf(f, "  \"label_names\": [%s", line);
    for (uint32_t i = 0; i < c->labels; i++) {
        if (i)
            fprintf(f, ",%s", c->full ? line : " ");
        vt_json_print_string(f, or_empty(c->label(c->of, i)));
    }
    fprintf(f, "%s]", line);
    if (!c->description || !c->labels || !c->description(c->of, 0))
        return;
    fputs(",\n  \"label_descriptions\": {\n  ", f);
    for (uint32_t i = 0; i < c->labels; i++) {
        fputs(i ? ",\n  " : "", f);
        vt_json_print_string(f, or_empty(c->label(c->of, i)));
        fputs(": ", f);
        vt_json_print_string(f, or_empty(c->description(c->of, i)));
    }
    fputs("\n  }", f);
}

void vt_timm_config_write(FILE *f, const vt_timm_config *c)
{
    fputs("{\n", f);
    vt_put_text(f, "architecture", c->architecture);
    fprintf(f, "  \"num_classes\": %u,\n", c->classes);
    if (c->features)
        fprintf(f, "  \"num_features\": %d,\n", c->features);
    vt_put_text(f, "global_pool", c->pool);
    if (c->args && c->args[0])
        fprintf(f, "  \"model_args\": {%s},\n", c->args);
    fputs(or_empty(c->more), f);
    if (c->full && c->labels) {
        put_labels(f, c);
        fputs(",\n", f);
    }
    put_cfg(f, c);
    if (!c->full) {
        fputs(",\n", f);
        put_labels(f, c);
    }
    vt_put_problem(f, c->problem);
    if (c->how.pixels != VT_PIXELS_PILLOW) /* timm has no word for it */
        fprintf(f, ",\n  \"vitcl_pixels\": \"%s\"",
                vt_pixels_name(c->how.pixels));
    if (c->certainty.temperature > 0)
        vt_put_certainty(f, &c->certainty);
    fputs("\n}\n", f);
}
