/*
 * presets.c - the paper's models by name, with random weights.
 *
 * For plans, counts and benchmarks; their results are meaningless.
 */
#include "base/memory.h"
#include "models/family.h"
#include "models/model_private.h"
#include "models/stdconv.h"

#include <stdio.h>
#include <string.h>

static const char *const names[] = {
    "vit-ti/16",      "vit-s/16",     "vit-b/32",     "vit-b/16",
    "vit-l/32",       "vit-l/16",     "vit-h/14",     "r26+vit-s/32",
    "r50+vit-b/32",   "r50+vit-b/16", "r50+vit-l/32", "r50+vit-l/16",
    "resnet50x1",     "resnet101x1",  "resnet152x2",  "axial-vit-b/32",
    "axial-vit-b/16",
};

static vitcl_status unknown(const char *name)
{
    char list[320] = "";

    for (size_t i = 0; i < VT_COUNT(names); i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s",
                 i ? ", " : "", names[i]);
    return vt_fail(VITCL_EINVAL,
                   "unknown preset \"%s\"; the presets are %s, those with "
                   "another patch size, and timm's names of such models",
                   name, list);
}

vitcl_status vt_preset_read(vt_shape *out, char timm[96], const char *name)
{
    return vt_preset_shape(out, timm, name) ? VITCL_OK : unknown(name);
}

/* From a stem with these stages, as vt_stdconv_read() reads it from a file. */
static void configure_stem(vt_config *c, const vt_shape *s)
{
    c->stem_only = s->stages == 0;
    c->stem_stages = s->stages;
    c->stem_width[0] = s->stem_width;
    for (int i = 0; i < s->stages; i++) {
        c->stem_layers[i] = s->layers[i];
        c->stem_width[i + 1] = s->widths[i];
    }
}

static void configure_resnet(vt_config *c, const vt_shape *s)
{
    configure_stem(c, s);
    c->width = s->widths[s->stages - 1];
    for (int i = 0; i < s->stages; i++)
        c->depth += s->layers[i];
    c->pool = VT_POOL_MEAN;
}

static void configure_vit(vt_config *c, const vt_shape *s)
{
    if (s->hybrid)
        configure_stem(c, s);
    c->width = s->width;
    c->depth = s->depth;
    c->heads = s->heads;
    c->mlp = 4 * s->width;
    c->eps = 1e-6f;
    c->act = VT_ACT_GELU;
    c->pos_embed = true;
    c->axial = c->fc_norm = s->axial;
    c->class_token = c->final_norm = !s->axial;
    c->pos_prefix = c->class_token;
    c->patch_bias = c->qkv_bias = c->proj_bias = c->fc_bias = true;
    c->pool = s->axial ? VT_POOL_MEAN : VT_POOL_TOKEN;
}

vitcl_status vt_model_preset(vt_model **out, const char *name, uint32_t size)
{
    vitcl_status st = VITCL_OK;
    vt_config *c;
    vt_model *m = NULL;
    char timm[96];
    vt_shape s;

    VT_TRY(vt_preset_read(&s, timm, name));
    VT_TRY(VT_NEW(&m, 1));
    c = &m->config;
    (s.resnet ? configure_resnet : configure_vit)(c, &s);
    c->patch_h = c->patch_w =
        s.patch * (s.hybrid || s.resnet ? vt_stdconv_stride(c) : 1);
    if (size == 0)
        size = (uint32_t)s.size;
    if (size > 4096)
        VT_TRY(vt_fail(VITCL_EINVAL, "%s: %u pixels are more than 4096", name,
                       size));
    if (size % (uint32_t)c->patch_h)
        VT_TRY(vt_fail(VITCL_EINVAL,
                       "%s: %u pixels are not a multiple of its patch, %d",
                       name, size, c->patch_h));
    c->height = c->width_px = (int)size;
    c->classes = 1000;
    c->head_bias = true;
    c->family = s.resnet   ? &vt_family_resnet
                : s.hybrid ? &vt_family_hybrid
                : s.axial  ? &vt_family_axial
                           : &vt_family_vit;
    snprintf(c->name, sizeof c->name, "%s", name);
    m->type = "preset";
    VT_TRY(vt_strdup(&m->path, name));
    VT_TRY(vt_model_check(m));
    *out = m, m = NULL;
done:
    vt_model_close(m);
    return st;
}
