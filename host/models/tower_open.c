/*
 * tower_open.c - opens a text tower: its files, its config, and every tensor
 * against the plan.
 */
#include "models/config.h"
#include "models/derived.h"
#include "models/family.h"
#include "models/model_private.h"
#include "models/tower.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What the file has beside what the config says. */
static vitcl_status read_flags(vt_config *c, const vt_weights *w,
                               const char *path)
{
    bool head = vt_weight_has(w, "head.weight");

    c->qkv_bias = c->proj_bias = c->fc_bias = true;
    c->layer_scale = vt_weight_has(w, "blocks.0.ls1.gamma");
    c->head_bias = vt_weight_has(w, "head.bias");
    if (!head)
        c->projection = 0;
    VT_RET(vt_check_sizes(c, path));
    if (c->width / c->heads > 256)
        return vt_fail(VITCL_EUNSUPPORTED, "%s: heads are wider than 256",
                       path);
    return VITCL_OK;
}

/* A number that is not finite, or that no model has, is damage. */
static vitcl_status read_number(float *out, bool *found, const vt_model *m,
                                const char *name, float most)
{
    const vt_weight *t = vt_weights_get(m->weights, name);

    *found = t != NULL;
    if (!t)
        return VITCL_OK;
    if (t->count != 1)
        return vt_fail(VITCL_ECORRUPT, "%s: %s is not one number", m->path,
                       name);
    VT_RET(vt_weight_f32(out, m->weights, t));
    if (!(fabsf(*out) <= most))
        return vt_fail(VITCL_ECORRUPT, "%s: %s is %g", m->path, name,
                       (double)*out);
    return VITCL_OK;
}

static vitcl_status read_logits(vt_model *m)
{
    vt_config *c = &m->config;
    float scale = 0;
    bool found;

    VT_RET(read_number(&scale, &found, m, "logit_scale", 30));
    if (found)
        c->logit_scale = expf(scale);
    VT_RET(read_number(&c->logit_bias, &found, m, "logit_bias", 1e6f));
    c->sigmoid |= found;
    return VITCL_OK;
}

static vitcl_status load(vt_model *m, vt_tower_files *f)
{
    vt_config *c = &m->config;

    VT_RET(vt_weights_new_text(&m->weights, f->raw));
    f->raw = NULL; /* they are the weights' */
    m->type = f->open_clip ? "open_clip" : vt_config_hf(m->json);
    VT_RET(f->open_clip ? vt_tower_open_clip(c, m->json, m->weights, m->path)
                        : vt_tower_hf(c, m->json, m->path));
    c->family = vt_family_of_text(c->sigmoid);
    VT_RET(read_flags(c, m->weights, m->path));
    VT_RET(vt_model_check(m));
    VT_RET(read_logits(m));
    return vt_stored_weight(&m->positions, m, "pos_embed",
                            (uint64_t)c->context * (uint64_t)c->width);
}

vitcl_status vt_tower_open(vt_model **out, const char *path)
{
    vitcl_status st = VITCL_OK;
    vt_tower_files f = {0};
    vt_model *m = NULL;

    VT_TRY(VT_NEW(&m, 1));
    VT_TRY(vt_strdup(&m->path, path));
    VT_TRY(vt_tower_find(&f, path));
    m->json = f.config, f.config = NULL;
    VT_TRY(load(m, &f));
    *out = m, m = NULL;
done:
    vt_tensors_free(f.raw);
    vt_json_free(f.config);
    vt_model_close(m);
    return st;
}
