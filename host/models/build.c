/*
 * build.c - builds the steps of a model; the family's file does the work.
 */
#include "models/config.h"
#include "models/derived.h"
#include "models/family.h"
#include "models/model_private.h"

int vt_model_tokens(const vt_model *m, int height, int width)
{
    const vt_config *c = &m->config;
    int h = 0, w = 0;

    if (!vt_config_grid(&h, &w, c, height, width))
        return 0;
    return h * w + c->class_token + c->dist_token + c->registers;
}

bool vt_model_grid(int *rows, int *columns, const vt_model *m, int height,
                   int width)
{
    return vt_config_grid(rows, columns, &m->config, height, width);
}

static vitcl_status whole(const vt_model *m, int pixels, int own, int patch)
{
    const int less = pixels / patch * patch;

    if (m->config.stem_width[0] || pixels == own || pixels % patch == 0 ||
        !less)
        return VITCL_OK;
    return vt_fail(
        VITCL_EINVAL,
        "%s: %d pixels are not a multiple of its patch, %d; take %d or %d",
        m->path, pixels, patch, less, less + patch);
}

vitcl_status vt_model_whole(const vt_model *m, int height, int width)
{
    const vt_config *c = &m->config;

    VT_RET(whole(m, height, c->height, c->patch_h));
    return whole(m, width, c->width_px, c->patch_w);
}

vitcl_status vt_model_trains(const vt_model *m)
{
    if (m->config.budget)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: %s has no gradients here, so it is not trained, "
                       "and no relevance is computed: NaFlex resizes its "
                       "positions for each picture",
                       m->path, m->config.name);
    if (m->config.grey)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: %s reads one channel; such models are not trained "
                       "here, and no relevance is computed",
                       m->path, m->config.name);
    if (!m->config.folded)
        return VITCL_OK;
    return vt_fail(
        VITCL_EUNSUPPORTED,
        "%s: %s has no gradients here, so it is not trained, and no relevance "
        "is computed: the running statistics of its BatchNorm are folded into "
        "the convolutions",
        m->path, m->config.name);
}

void vt_model_build(vt_plan *p, const vt_model *m, vt_val pixels,
                    const vt_build_options *options, vt_outputs *out)
{
    static const vt_build_options inference = {.train_step = VT_NONE,
                                               .patch_source = VT_NONE};
    const vt_config *c = &m->config;
    const vt_plan_options *plan = vt_plan_settings(p);
    const int h = vt_dim(p, pixels, 2), w = vt_dim(p, pixels, 3);
    const vitcl_status trains =
        plan->train || plan->backward ? vt_model_trains(m) : VITCL_OK;

    *out = (vt_outputs){VT_NONE, VT_NONE, VT_NONE};
    if (vt_plan_status(p) != VITCL_OK)
        return;
    if (trains != VITCL_OK) {
        vt_plan_fail(p, trains);
        return;
    }
    if (!vt_model_tokens(m, h, w)) {
        vt_plan_fail(p, vt_fail(VITCL_EINVAL,
                                "pictures of %dx%d pixels are smaller than "
                                "this model's %dx%d patches",
                                h, w, c->patch_h, c->patch_w));
        return;
    }
    m->config.family->build(p, m, pixels, options ? options : &inference, out);
    if (c->projection && c->source == VT_SOURCE_TIMM) {
        out->features = vt_dense(p, out->features, "head", c->projection,
                                 c->head_bias, VT_ACT_NONE, VT_NONE, VT_NONE);
        vt_name(p, out->features, "image_embeds");
    }
    vt_keep(p, out->features);
    vt_keep(p, out->logits);
}

vitcl_status vt_model_learns(const vt_model *m, const vt_plan *p)
{
    int h, w;

    for (vt_val i = 0; i < vt_plan_values(p); i++) {
        const vt_value *v = vt_value_of(p, i);

        if (v->kind == VT_PARAM && v->wants_grad &&
            (vt_name_grid(v->name, &h, &w) || vt_name_attention(v->name)))
            return vt_fail(VITCL_EUNSUPPORTED,
                           "%s: %s is made from tensors of the file, to which "
                           "no gradient leads, so the model cannot be trained "
                           "like this",
                           m->path, v->name);
    }
    return VITCL_OK;
}
