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
#include "models/fields.h"

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
           : c->axial                  ? "axial attention"
           : c->post_add || c->no_skip ? "this kind of block"
           : c->tokens_last            ? "detection tokens"
           : c->pre_logits             ? "a pre-logits layer"
           : c->pre_norm && c->classes && !c->final_norm && !c->fc_norm
               ? "a head on patches without a norm"
           : c->family->conv_head && vt_json_get(args, "layers")
               ? "this number of layers in its stages"
           : c->dist_token && !c->dist_head
               ? "a distillation token that no head reads"
           : c->pooler ? "a pooler"
           : c->act != VT_ACT_GELU && vt_writing_of(c, false)->only_gelu
               ? vt_writing_of(c, false)->only_gelu
           : !vt_act_timm(c->act) ? "this activation"
                                  : NULL;
}

/* Epsilons below 1e-6 are no different for the variances of a model's tokens:
 * published ones have 1e-12 in HF and 1e-6 in timm. */
bool vt_same_eps(float a, float b)
{
    return a == b || (a <= 1e-6f && b <= 1e-6f);
}

const char *vt_timm_pool(const vt_config *c)
{
    return c->attn_pool              ? "map"
           : c->pool == VT_POOL_MEAN ? "avg"
           : c->pool == VT_POOL_MAX  ? "max"
                                     : "token";
}

/* ---- its config ---- */

static void put_args(vt_json_writer *w, const vt_config *c,
                     const vt_writing *as, bool no_embed_class, int height,
                     int width)
{
    const int rows = c->swiglu ? 2 * c->mlp : c->mlp;

    vt_put_sides(w, "img_size", height, width);
    if (!c->stem_width[0])
        vt_put_sides(w, "patch_size", c->patch_h, c->patch_w);
    /* timm's constructors only read the global_pool in model_args */
    vt_json_put(w,
                "\n  embed_dim:%d\n  depth:%d\n  mlp_ratio:%.17g"
                "\n  global_pool:%s",
                c->width, c->depth, vt_ratio_of(rows, c->width),
                vt_timm_pool(c));
    if (!c->qkv_bias)
        vt_json_put(w, "\n  qkv_bias:false");
    if (!c->proj_bias)
        vt_json_put(w, "\n  proj_bias:false");
    if (c->class_token == as->no_class_token)
        vt_json_put(w, "\n  class_token:%i", c->class_token);
    if (c->registers != as->registers)
        vt_json_put(w, "\n  reg_tokens:%d", c->registers);
    if (c->pos_embed && c->class_token && no_embed_class != as->no_embed_class)
        vt_json_put(w, "\n  no_embed_class:%i", no_embed_class);
    if (c->qk_norm)
        vt_json_put(w, "\n  qk_norm:true");
    if (c->pool == VT_POOL_MEAN && c->final_norm && !c->attn_pool)
        vt_json_put(w, "\n  fc_norm:false");
    if (c->rel_pos_shared)
        vt_json_put(w,
                    "\n  use_rel_pos_bias:%i\n  use_shared_rel_pos_bias:true",
                    c->rel_pos_both);
    if (as->tables && !c->rel_pos)
        vt_json_put(w, "\n  use_rel_pos_bias:false");
    if (as->tables && c->pos_embed)
        vt_json_put(w, "\n  use_abs_pos_emb:true");
    /* SwiGLU has one of its own; a layer's constructor would take this one */
    if (c->act != VT_ACT_GELU && !c->swiglu && (!as->act || c->act != as->act))
        vt_json_put(w, "\n  act_layer:%s",
                    vt_act_timm(c->act) ? vt_act_timm(c->act)
                                        : vt_act_hf(c->act));
    vt_json_put(w, "\n  num_heads:%d", c->heads);
}

vitcl_status vt_timm_args_new(char **out, const vt_config *c,
                              bool no_embed_class, int height, int width,
                              const char *path)
{
    const vt_writing *as = vt_writing_of(c, no_embed_class);
    const float eps = as->eps > 0 ? as->eps : 1e-6f;
    vt_json_writer w = {.spaced = true, .depth = 1};
    vt_text text;

    if (!vt_same_eps(c->eps, eps))
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: its layer_norm_eps is %g, but timm's models of "
                       "this kind have %g",
                       path, (double)c->eps, (double)eps);
    VT_RET(vt_text_open(&text));
    w.f = text.f;
    put_args(&w, c, as, no_embed_class, height, width);
    fputs("\n  ", text.f);
    return vt_text_take(out, &text);
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

static void put_cfg(vt_json_writer *w, const vt_timm_config *c)
{
    const vt_preprocess *how = &c->how;

    vt_json_put(w, "\n  pretrained_cfg:{");
    w->indent = c->full ? 0 : 2;
    vt_json_put(w, "\n  input_size:[3 %d %d]", c->height, c->width);
    if (c->full)
        vt_json_put(w, "\n  fixed_input_size:true");
    vt_json_put(
        w, "\n  interpolation:%s\n  crop_pct:", vt_filter_name(how->filter));
    vt_print(vt_json_raw(w), c->full ? "%.17g" : "%.9g", crop_pct(c));
    vt_json_put(w, "\n  crop_mode:%s\n  ",
                how->fit == VT_FIT_SQUASH   ? "squash"
                : how->fit == VT_FIT_BORDER ? "border"
                                            : "center");
    vt_put_three(w, "mean", how->mean);
    vt_json_put(w, "\n  ");
    vt_put_three(w, "std", how->std);
    vt_json_put(w, "\n  num_classes:%u", c->classes);
    if (c->full)
        vt_json_put(w, "\n  pool_size:null");
    vt_json_put(w, "\n  first_conv:%s\n  classifier:",
                c->first_conv ? c->first_conv : "patch_embed.proj");
    fputs(c->classifier ? c->classifier : "\"head\"", vt_json_raw(w));
    w->indent = 0;
    vt_json_put(w, "\n  }");
}

static const char *or_empty(const char *s)
{
    return s ? s : "";
}

static void put_labels(vt_json_writer *w, const vt_timm_config *c)
{
    vt_json_put(w, "\n  label_names:[");
    for (uint32_t i = 0; i < c->labels; i++) {
        if (c->full)
            vt_json_put(w, "\n  ");
        vt_json_put(w, "%s", or_empty(c->label(c->of, i)));
    }
    if (c->full)
        fputs("\n  ", w->f);
    vt_json_put(w, "]");
    if (!c->description || !c->labels || !c->description(c->of, 0))
        return;
    vt_json_put(w, "\n  label_descriptions:{");
    for (uint32_t i = 0; i < c->labels; i++)
        vt_json_put(w, "\n  %s:%s", or_empty(c->label(c->of, i)),
                    or_empty(c->description(c->of, i)));
    vt_json_put(w, "\n  }");
}

void vt_timm_config_write(FILE *f, const vt_timm_config *c)
{
    vt_json_writer w = {.f = f, .spaced = true};

    vt_json_put(&w, "{\n  architecture:%s\n  num_classes:%u", c->architecture,
                c->classes);
    if (c->features)
        vt_json_put(&w, "\n  num_features:%d", c->features);
    vt_json_put(&w, "\n  global_pool:%s", c->pool);
    if (c->args && c->args[0]) {
        vt_json_put(&w, "\n  model_args:");
        fprintf(vt_json_raw(&w), "{%s}", c->args);
    }
    if (c->more && c->more[0])
        fprintf(f, ",%s", c->more);
    if (c->full && c->labels)
        put_labels(&w, c);
    put_cfg(&w, c);
    if (!c->full)
        put_labels(&w, c);
    vt_put_answers(&w, c->problem,
                   c->how.pixels == VT_PIXELS_PILLOW
                       ? NULL
                       : vt_pixels_name(c->how.pixels),
                   &c->certainty);
    vt_json_put(&w, "\n}\n");
}
