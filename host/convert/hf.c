/*
 * hf.c - a model as HF transformers has it: its type, and its config.json and
 * preprocessor_config.json.
 *
 * Easy to get wrong: the SwiGLU width of DINOv2 is 2/3 of width * mlp_ratio,
 * rounded up to a multiple of 8.
 */
#include "convert/convert.h"

#include "base/json_print.h"
#include "base/memory.h"
#include "base/number.h"
#include "convert/print.h"
#include "convert/timm.h"
#include "models/config.h"
#include "models/family.h"

#include <string.h>

/* ---- the model in transformers ---- */

static const struct {
    uint8_t to;
    const char *type, *with_head, *without, *prefix;
} hf_types[] = {
    {VT_HF_DEIT, "deit", "DeiTForImageClassificationWithTeacher", "DeiTModel",
     "deit."},
    {VT_HF_BEIT, "beit", "BeitForImageClassification", "BeitModel", "beit."},
    {VT_HF_CLIP, "clip_vision_model", "CLIPVisionModelWithProjection",
     "CLIPVisionModel", "vision_model."},
    {VT_HF_SIGLIP, "siglip_vision_model", "SiglipVisionModel",
     "SiglipVisionModel", "vision_model."},
    {VT_HF_DINOV2, "dinov2", "Dinov2ForImageClassification", "Dinov2Model",
     "dinov2."},
    {VT_HF_DINOV2_GLU, "dinov2", "Dinov2ForImageClassification", "Dinov2Model",
     "dinov2."},
    {VT_HF_VIT, "vit", "ViTForImageClassification", "ViTModel", "vit."},
};

static uint8_t hf_kind(const vt_config *c)
{
    return c->dist_token                 ? VT_HF_DEIT
           : c->family->as_beit          ? VT_HF_BEIT
           : c->pre_norm                 ? VT_HF_CLIP
           : c->attn_pool                ? VT_HF_SIGLIP
           : c->layer_scale && c->swiglu ? VT_HF_DINOV2_GLU
           : c->layer_scale              ? VT_HF_DINOV2
                                         : VT_HF_VIT;
}

/* mlp_ratio, an integer there; 0: none gives this width. */
static int dino_ratio(const vt_config *c)
{
    if (!c->swiglu)
        return c->mlp % c->width ? 0 : c->mlp / c->width;
    for (int r = 1; r * 2 / 3 <= c->mlp / c->width + 1; r++)
        if ((c->width * r * 2 / 3 + 7) / 8 * 8 == c->mlp)
            return r;
    return 0;
}

/* NULL, or what HF's class for this model type does not support. Tensors that
 * it does not have are found when they are written. */
static const char *hf_lacks(const vt_config *c, uint8_t to)
{
    const bool mean = c->pool == VT_POOL_MEAN || c->pool == VT_POOL_MAX;
    const bool dino = to == VT_HF_DINOV2 || to == VT_HF_DINOV2_GLU;

    if (!vt_act_hf(c->act))
        return "this activation";
    if (c->rope.kind)
        return "rotary positions";
    if (c->post_norm)
        return "post-norm blocks";
    if (c->stem_stages || c->stem_only)
        return "a ResNet stem";
    if (!c->proj_bias || !c->fc_bias)
        return "layers without a bias";
    if (to == VT_HF_SIGLIP && !c->qkv_bias)
        return "SigLIP without biases of q, k and v";
    if (to == VT_HF_SIGLIP)
        return c->classes ? "a classifier on an attention-pooled tower" : NULL;
    if (to == VT_HF_BEIT && vt_timm_oblong(c))
        return "tables of relative positions that are not square";
    if (to == VT_HF_BEIT)
        return c->qkv_bias ? NULL : "BEiT without q and v biases";
    if (!c->class_token)
        return "a model without a class token";
    if (mean)
        return c->classes ? "a head on pooled patches"
                          : "features of pooled patches";
    if (c->dist_head && !c->classes)
        return "features that are the mean of two tokens";
    if (c->registers && !dino)
        return "registers without layer scale";
    if (dino && dino_ratio(c) == 0)
        return "an MLP of this width";
    if (!c->qkv_bias && to == VT_HF_CLIP)
        return "CLIP without biases of q, k and v";
    if (c->swiglu && !dino)
        return "SwiGLU without layer scale";
    return NULL;
}

vitcl_status vt_hf_target(vt_target *t, const vt_model *m, const char *path)
{
    const vt_config *c = vt_model_config(m);
    const char *missing = vt_timm_lacks(m);
    const uint8_t to = hf_kind(c);
    const char *lacks = hf_lacks(c, to);
    const bool head = c->classes || c->projection;

    if (c->family->conv_head)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: a ResNet can only be written with --to timm", path);
    if (c->source == VT_SOURCE_TIMM && missing)
        return vt_fail(VITCL_EUNSUPPORTED, "%s: HF has no model with %s", path,
                       missing);
    if (lacks)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: HF transformers has no class for %s; use --to timm",
                       path, lacks);
    for (size_t i = 0; i < VT_COUNT(hf_types); i++)
        if (hf_types[i].to == to)
            *t = (vt_target){to, hf_types[i].type,
                             head ? hf_types[i].with_head : hf_types[i].without,
                             head || to == VT_HF_CLIP || to == VT_HF_SIGLIP
                                 ? hf_types[i].prefix
                                 : "",
                             false};
    if (c->registers) {
        t->type = "dinov2_with_registers";
        t->architecture = head ? "Dinov2WithRegistersForImageClassification"
                               : "Dinov2WithRegistersModel";
        t->prefix = head ? "dinov2_with_registers." : "";
    }
    return VITCL_OK;
}

/* ---- its configs ---- */

const char *vt_hf_label(const vt_model *m, uint32_t i)
{
    const char *s = vt_model_label(m, i);
    return s && strncmp(s, "LABEL_", 6) != 0 ? s : NULL;
}

static void put_mlp(FILE *f, const vt_config *c, const vt_target *t)
{
    if (strncmp(t->type, "dinov2", 6) != 0) {
        fprintf(f, "  \"intermediate_size\": %d,\n", c->mlp);
        return;
    }
    fprintf(f,
            "  \"mlp_ratio\": %d,\n"
            "  \"use_swiglu_ffn\": %s,\n  \"use_mask_token\": false,\n"
            "  \"layerscale_value\": 1.0,\n",
            dino_ratio(c), c->swiglu ? "true" : "false");
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
            c->rel_pos && (!c->rel_pos_shared || c->rel_pos_both) ? "true"
                                                                  : "false",
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
        s = s ? s : vt_hf_label(m, i);
        fprintf(f, "  \"%u\": ", i);
        vt_json_print_string(f, s ? s : made);
        fputs(i + 1 < n ? ",\n" : "\n  },\n", f);
    }
}

void vt_hf_config(FILE *f, const vt_model *m, const vt_target *t)
{
    const vt_config *c = vt_model_config(m);
    const vt_certainty certainty = vt_model_certainty(m);

    fprintf(f, "{\n  \"architectures\": [\"%s\"],\n", t->architecture);
    vt_put_text(f, "model_type", t->type);
    fprintf(f,
            "  \"hidden_size\": %d,\n  \"num_hidden_layers\": %d,\n"
            "  \"num_attention_heads\": %d,\n",
            c->width, c->depth, c->heads);
    put_mlp(f, c, t);
    vt_put_text(f, "hidden_act", vt_act_hf(c->act));
    vt_put_float(f, "layer_norm_eps", c->eps);
    vt_put_sides(f, "image_size", c->height, c->width_px);
    vt_put_sides(f, "patch_size", c->patch_h, c->patch_w);
    if (t->to == VT_HF_BEIT)
        put_beit(f, c);
    else if (t->to == VT_HF_CLIP && c->projection + c->classes)
        fprintf(f, "  \"projection_dim\": %d,\n", c->projection + c->classes);
    else if (t->to == VT_HF_SIGLIP)
        fputs("  \"vision_use_head\": true,\n", f);
    else
        fprintf(f, "  \"qkv_bias\": %s,\n", c->qkv_bias ? "true" : "false");
    if (t->to != VT_HF_CLIP)
        put_hf_labels(f, m, (uint32_t)c->classes);
    fputs("  \"num_channels\": 3", f);
    vt_put_problem(f, vt_model_problem(m));
    vt_put_certainty(f, &certainty);
    fputs("\n}\n", f);
}

void vt_hf_preprocessor(FILE *f, const vt_preprocess *how)
{
    const bool squash = how->fit == VT_FIT_SQUASH;

    fprintf(f, "{\n  \"image_processor_type\": \"%sImageProcessor%s\",\n",
            squash ? "ViT" : "CLIP",
            how->pixels == VT_PIXELS_TORCHVISION ? "Fast" : "");
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
    vt_put_three(f, "image_mean", how->mean);
    vt_put_three(f, "image_std", how->std);
    fputs("  \"do_normalize\": true\n}\n", f);
}
