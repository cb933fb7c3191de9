/*
 * configure.c - reads Hugging Face's config.json and Google's .npz files; for
 * timm's configs see config_timm.c.
 *
 * Easy to get wrong: HF's epsilon differs by family (1e-12 for ViT) and may be
 * missing from the file. A .npz file has no config: the number of heads is
 * an axis of query/kernel, and the picture size follows from the positions.
 */
#include "models/config.h"

#include "base/memory.h"
#include "models/family.h"
#include "models/fields.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Hugging Face ---- */

static void begin_hf(vt_config *c, const vt_json *config, const vt_hf_class *k)
{
    const char *arch = vt_config_hf(config);

    c->source = VT_SOURCE_HF;
    vt_json_string(&arch, vt_json_at(vt_json_get(config, "architectures"), 0));
    snprintf(c->name, sizeof c->name, "%s", arch);
    c->depth = k->depth ? k->depth : 12;
    c->heads = k->heads ? k->heads : 12;
    c->height = k->height ? k->height : 224;
    c->width_px = k->width ? k->width : 224;
    c->eps = k->eps;
    c->act = k->act;
}

vitcl_status vt_config_begin(vt_config *c, const vt_json *config,
                             const char *path)
{
    const vt_hf_class *k = vt_hf_class_of(c->family, vt_config_hf(config));

    if (!config)
        return VITCL_OK;
    if (k)
        begin_hf(c, config, k);
    else
        vt_begin_timm(c, config);
    return vt_fields_read(c, vt_config_class(c->family, config),
                          vt_config_own(c->family, config), path);
}

vitcl_status vt_configure_hf(vt_config *c, const vt_json *config,
                             const vt_weights *w, const char *path)
{
    const vt_hf_class *k = vt_hf_class_of(c->family, vt_config_hf(config));
    const char *act = c->said.pooler_act;

    VT_RET(vt_read_patch(c, w, path));
    vt_read_flags(c, w);
    c->class_token = !k->no_class_token;
    c->dist_token = k->dist_token;
    c->registers = c->said.registers;
    if (!c->classes && strstr(c->name, "ForImageClassification"))
        c->classes = VT_MAX((int)vt_json_count(vt_json_get(config, "id2label")),
                            1); /* then the head is named as missing */
    c->pos_rule = VT_POS_HF;
    c->pool = VT_POOL_TOKEN;
    c->pooler = c->classes ? 0 : vt_weight_dim(w, "pooler.dense.weight", 0);
    c->pooler_act = VT_ACT_TANH;
    if (act && act[0] && c->pooler && !vt_act_parse(&c->pooler_act, act))
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: pooler_act \"%s\" is not supported", path, act);
    VT_RET(vt_check_sizes(c, path));
    return vt_read_positions(c, w, path);
}

/* ---- Google's .npz ---- */

/* [D,H,hd], or stacked [L,D,H,hd] */
static int npz_heads(const vt_weights *w)
{
    static const char tail[] = "/query/kernel";
    const vt_tensors *raw = vt_weights_raw(w);

    for (size_t i = 0; i < vt_tensors_count(raw); i++) {
        const vt_tensor *t = vt_tensors_at(raw, i);
        size_t n = strlen(t->name);
        if (n > sizeof tail && strstr(t->name, "MAPHead") == NULL &&
            strcmp(t->name + n - (sizeof tail - 1), tail) == 0 && t->rank >= 3)
            return (int)VT_MIN(t->shape[t->rank - 2], (uint64_t)VT_MOST_WIDTH);
    }
    return 0;
}

vitcl_status vt_configure_npz(vt_config *c, const vt_weights *w,
                              const char *path)
{
    int rows, side;

    c->source = VT_SOURCE_NPZ;
    snprintf(c->name, sizeof c->name, "npz");
    VT_RET(vt_read_patch(c, w, path));
    vt_read_flags(c, w);
    c->heads = npz_heads(w);
    c->eps = 1e-6f;
    /* Flax trained with the tanh form. timm and HF use the exact one for the
     * same files, and so does vitcl: the two differ by less than 5e-4. */
    c->act = VT_ACT_GELU;
    c->pos_rule = VT_POS_GOOGLE;
    c->pool = c->class_token ? VT_POOL_TOKEN : VT_POOL_MEAN;
    c->pre_logits = vt_weight_dim(w, "pre_logits.fc.weight", 0);
    /* If all rows make a square, the class token has no row. */
    rows = vt_weight_dim(w, "pos_embed", -2);
    side = (int)lround(sqrt((double)VT_MAX(rows, 0)));
    if (side * side != rows || rows == 0)
        side = (int)lround(sqrt((double)VT_MAX(rows - c->class_token, 0)));
    c->height = side * c->patch_h;
    c->width_px = side * c->patch_w;
    VT_RET(vt_check_sizes(c, path));
    if (!c->pos_embed)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: no position embedding in the file, so the size of "
                       "its pictures is unknown",
                       path);
    return vt_read_positions(c, w, path);
}

vitcl_status vt_configure(vt_config *c, const vt_json *config,
                          const vt_weights *w, const char *path)
{
    if (!config)
        return vt_configure_npz(c, w, path);
    if (vt_config_timm(config)[0])
        return vt_configure_timm(c, config, w, path);
    return vt_configure_hf(c, config, w, path);
}
