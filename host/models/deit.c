/*
 * deit.c - DeiT (Touvron et al. 2021, arXiv:2012.12877), with and without
 * distillation, and DeiT-3 (arXiv:2204.07118).
 *
 * Easy to get wrong:
 *   - the distillation token is the second one and has a position of its own
 *   - there are two heads, and the result is the mean of their logits; timm's
 *     features are the mean of the two tokens
 *   - HF: DeiTForImageClassificationWithTeacher has two heads,
 *     DeiTForImageClassification has one, on the class token only, although
 *     the distillation token exists
 *   - DeiT-3 has layer scale and no position for the class token
 */
#include "models/config.h"
#include "models/family.h"
#include "models/fields.h"
#include "models/vit.h"
#include "weights/dialect_rows.h"

#include <string.h>

static vitcl_status configure(vt_config *c, const vt_json *config,
                              const vt_weights *w, const char *path)
{
    const vitcl_status st = vt_configure(c, config, w, path);

    c->dist_head = c->dist_token && (c->source != VT_SOURCE_HF ||
                                     strstr(c->name, "WithTeacher") != NULL);
    return st;
}

static void build(vt_plan *p, const vt_model *m, vt_val pixels,
                  const vt_build_options *o, vt_outputs *out)
{
    const vt_config *c = vt_model_config(m);
    const vt_block_extra grid = vt_vit_grid(p, m, pixels);
    vt_val x = vt_vit_stem(p, m, pixels, grid.gh, grid.gw, o), y;

    x = vt_vit_blocks(p, c, x, VT_NO_EXTRA, o);
    if (!c->dist_head) {
        vt_vit_head(p, m, x, o, out);
        return;
    }
    x = vt_vit_norm(p, c, x);
    y = vt_pool(p, x, VT_POOL_TOKEN, 1);
    x = vt_pool(p, x, VT_POOL_TOKEN, 0);
    out->features = vt_scale(p, vt_add(p, x, y), 0.5f);
    vt_name(p, out->features, "features");
    if (!c->classes)
        return;
    x = vt_dense(p, x, "head", c->classes, true, VT_ACT_NONE, VT_NONE, VT_NONE);
    y = vt_dense(p, y, "head_dist", c->classes, true, VT_ACT_NONE, VT_NONE,
                 VT_NONE);
    if (c->source == VT_SOURCE_HF) {
        vt_name(p, x, "cls_logits");
        vt_keep(p, x);
        vt_name(p, y, "distillation_logits");
        vt_keep(p, y);
    }
    out->logits = vt_scale(p, vt_add(p, x, y), 0.5f);
    vt_name(p, out->logits, "logits");
}

static const vt_hf_class classes[] = {
    {.types = "deit",
     .processor = "DeiT",
     .keys = &vt_hf_vit,
     .dist_token = true,
     .eps = 1e-12f,
     .act = VT_ACT_GELU},
    {.types = NULL},
};

static const vt_row names[] = {
    AS("embeddings.distillation_token", "dist_token"),
    AS("cls_classifier.%", "head.%"),
    AS("distillation_classifier.%", "head_dist.%"),
    END_ROWS,
};

static const vt_writing as = {
    .timm = "deit_base_distilled_patch16_224",
    .type = "deit",
    .with_head = "DeiTForImageClassificationWithTeacher",
    .without = "DeiTModel",
    .prefix = "deit.",
    .keys = &vt_hf_vit,
    .names = ROWS(vt_names_encoder, vt_names_key_bias, vt_names_layer, names),
};

static const vt_writing *writing(const vt_config *c)
{
    return c->dist_token ? &as : NULL;
}

const vt_family vt_family_deit = {
    .processors = {{"DeiT", .filter = VT_BICUBIC, .size = 256, .crop_size = 224,
                    .crop = true, .mean = vt_halves, .std = vt_halves}},
    .name = "deit",
    .looks = "DeiT",
    .args = &vt_timm_vit,
    .hf = classes,
    .timm = "deit*",
    .names.rows = {[VT_NAMES_HF] = ROWS(names)},
    .writing = writing,
    .configure = configure,
    .build = build,
    .finetunes = true,
};
