/*
 * hf.c - a model as HF transformers has it: its class, and its config.json and
 * preprocessor_config.json. What a family writes is in its file in host/models.
 */
#include "convert/convert.h"

#include "convert/print.h"
#include "convert/timm.h"
#include "models/fields.h"

#include <string.h>

/* ---- the model in transformers ---- */

/* NULL, or what HF's class does not support. Tensors that it does not have are
 * found when they are written. */
static const char *hf_lacks(const vt_config *c, const vt_writing *as)
{
    if (!vt_act_hf(c->act))
        return "this activation";
    if (c->rope.kind)
        return "rotary positions";
    if (c->post_norm)
        return "post-norm blocks";
    if (c->no_skip)
        return "blocks without skip connections";
    if (c->stem_stages || c->stem_only)
        return "a ResNet stem";
    if (!c->proj_bias || !c->fc_bias)
        return "layers without a bias";
    if (as->any_tokens)
        return vt_timm_oblong(c)
                   ? "tables of relative positions that are not square"
               : !c->qkv_bias ? as->unbiased
               : c->attn_pool && c->classes
                   ? "a classifier on an attention-pooled tower"
                   : NULL;
    if (!c->class_token)
        return "a model without a class token";
    if (c->pool == VT_POOL_MEAN || c->pool == VT_POOL_MAX)
        return c->classes ? "a head on pooled patches"
                          : "features of pooled patches";
    if (c->dist_head && !c->classes)
        return "features that are the mean of two tokens";
    if (c->registers && !as->registers)
        return "registers without layer scale";
    if (as->wide_head && vt_mlp_ratio(c) == 0)
        return "an MLP of this width";
    if (!c->qkv_bias && as->unbiased)
        return as->unbiased;
    if (c->swiglu && !as->swiglu)
        return "SwiGLU without layer scale";
    return NULL;
}

vitcl_status vt_hf_target(vt_target *t, const vt_model *m, const char *path)
{
    const vt_config *c = vt_model_config(m);
    const vt_writing *as = vt_writing_of(c, false);
    const char *lacks = hf_lacks(c, as);
    const bool head = c->classes || c->projection;

    if (lacks)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: HF transformers has no class for %s; use --to timm",
                       path, lacks);
    *t = (vt_target){as, head ? as->with_head : as->without,
                     head || as->tower ? as->prefix : "", false};
    return VITCL_OK;
}

/* ---- its configs ---- */

const char *vt_hf_label(const vt_model *m, uint32_t i)
{
    const char *s = vt_model_label(m, i);
    return s && strncmp(s, "LABEL_", 6) != 0 ? s : NULL;
}

static void put_hf_labels(vt_json_writer *w, const vt_model *m, uint32_t n)
{
    char made[24];

    if (n == 0)
        return;
    vt_json_put(w, "\n  id2label:{");
    for (uint32_t i = 0; i < n; i++) {
        const char *s = vt_model_longname(m, i);
        snprintf(made, sizeof made, "LABEL_%u", i);
        s = s ? s : vt_hf_label(m, i);
        vt_json_put(w, "\n  '%u':%s", i, s ? s : made);
    }
    vt_json_put(w, "\n  }");
}

void vt_hf_config(FILE *f, const vt_model *m, const vt_target *t)
{
    const vt_config *c = vt_model_config(m);
    const vt_certainty certainty = vt_model_certainty(m);
    vt_json_writer w = {.f = f, .spaced = true};

    vt_json_put(&w, "{\n  architectures:[%s]\n  model_type:%s", t->architecture,
                t->as->type);
    vt_fields_put(&w, t->as->keys, c);
    if (!t->as->embeds)
        put_hf_labels(&w, m, (uint32_t)c->classes);
    vt_json_put(&w, "\n  num_channels:3");
    vt_put_answers(&w, vt_model_problem(m), NULL, &certainty);
    vt_json_put(&w, "\n}\n");
}

void vt_hf_preprocessor(FILE *f, const vt_preprocess *how)
{
    const bool squash = how->fit == VT_FIT_SQUASH;
    vt_json_writer w = {.f = f, .spaced = true};

    vt_json_put(&w,
                "{\n  image_processor_type:'%sImageProcessor%s'"
                "\n  do_resize:%i",
                squash ? "ViT" : "CLIP",
                how->pixels == VT_PIXELS_TORCHVISION ? "Fast" : "",
                how->fit != VT_FIT_NONE);
    if (squash)
        vt_json_put(&w, "\n  size:{height:%u width:%u}", how->resize_height,
                    how->resize_width);
    else
        vt_json_put(&w, "\n  size:{shortest_edge:%u}", how->resize_height);
    vt_json_put(&w, "\n  resample:%d\n  do_center_crop:%i", (int)how->filter,
                how->crop != VT_CROP_NONE);
    if (how->crop != VT_CROP_NONE)
        vt_json_put(&w, "\n  crop_size:{height:%u width:%u}", how->height,
                    how->width);
    vt_json_put(&w,
                "\n  do_rescale:true\n  rescale_factor:%.17g"
                "\n  do_convert_rgb:%i\n  ",
                how->scale == 1.0f / 255.0f ? 1.0 / 255 : (double)how->scale,
                how->on_white);
    vt_put_three(&w, "image_mean", how->mean);
    vt_json_put(&w, "\n  ");
    vt_put_three(&w, "image_std", how->std);
    vt_json_put(&w, "\n  do_normalize:true\n}\n");
}
