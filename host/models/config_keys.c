/*
 * config_keys.c - refuses what a config asks for and vitcl does not do.
 *
 * Of each key that the library's own class reads there is a row
 * (config_rows.c): it is read here, too, or has no effect on inference, or has
 * the only values with which the class computes as vitcl does. Other keys
 * change nothing in transformers, so nothing here: -v names them. But where the
 * file was written by a version that is newer than the newest tried, they may
 * mean something. timm refuses unknown arguments.
 */
#include "models/config.h"
#include "models/config_rows.h"
#include "models/family.h"

#include "base/json_types.h"
#include "base/log.h"
#include "base/memory.h"
#include "image/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NEWEST_MAJOR = 5, NEWEST_MINOR = 24 }; /* of transformers */

typedef vt_config_row key;

/* ---- checking ---- */

static const key *find(const key *rows, const char *name)
{
    for (; rows && rows->name; rows++)
        if (strcmp(rows->name, name) == 0)
            return rows;
    return NULL;
}

static vitcl_status check_value(const key *row, const vt_json *v,
                                const char *path)
{
    return vt_json_only(v, row->only, "the config's", path);
}

/* Was the file written by a version that was not tried? */
static bool is_newer(const vt_json *config)
{
    const char *version = vt_config_text(config, "transformers_version");
    int major = 0, minor = 0;

    return sscanf(version, "%9d.%9d", &major, &minor) == 2 &&
           (major > NEWEST_MAJOR ||
            (major == NEWEST_MAJOR && minor > NEWEST_MINOR));
}

static vitcl_status check_hf(const vt_json *o, const key *rows,
                             const vt_json *config, const char *path)
{
    vitcl_status st = VITCL_OK;

    for (const vt_json *v = vt_json_first(o); v; v = vt_json_next(v)) {
        const char *name = vt_json_key(v);
        const key *row = find(vt_config_hf_all, name);

        row = row ? row : find(rows, name);
        if (row)
            VT_TRY(check_value(row, v, path));
        else if (is_newer(config))
            VT_TRY(vt_fail(VITCL_EUNSUPPORTED,
                           "%s: the config's %s is unknown, and it was written "
                           "by transformers %.20s; %d.%d is the newest that "
                           "was tried. Remove the key if it does not change "
                           "the model",
                           path, name,
                           vt_config_text(config, "transformers_version"),
                           NEWEST_MAJOR, NEWEST_MINOR));
        else
            vt_log("model %s: transformers does not read %s, nor does vitcl",
                   path, name);
    }
done:
    return st;
}

static vitcl_status check_timm(const vt_json *args, const key *rows,
                               const char *path)
{
    vitcl_status st = VITCL_OK;

    for (const vt_json *v = vt_json_first(args); v; v = vt_json_next(v)) {
        const key *row = find(rows, vt_json_key(v));

        if (!row && vt_json_is_null(v)) /* timm leaves these out */
            continue;
        if (!row)
            VT_TRY(vt_fail(VITCL_EUNSUPPORTED,
                           "%s: model_args has %s, which is not an argument of "
                           "timm's class",
                           path, vt_json_key(v)));
        else
            VT_TRY(check_value(row, v, path));
    }
done:
    return st;
}

/* ---- what the tensors show must be what the config says ---- */

static vitcl_status differs(const char *path, const char *name)
{
    return vt_fail(VITCL_EUNSUPPORTED,
                   "%s: the config's %s does not belong to these weights", path,
                   name);
}

/* transformers ignores tensors that the config does not ask for. */
static vitcl_status agree(const vt_config *c, const key *rows, const vt_json *v,
                          const char *path)
{
    const bool beit = strcmp(c->family->name, "beit") == 0;
    const bool dino = strcmp(c->family->name, "dinov2") == 0;
    const vt_json *wide = vt_json_get(v, "head_dim");
    double scale = 0.1;
    uint64_t n = 0;
    bool bias = true, glu = false, gated = false;

    vt_json_bool(&bias, vt_json_get(v, "qkv_bias"));
    vt_json_bool(&glu, vt_json_get(v, "use_swiglu_ffn"));
    vt_json_number(&scale, vt_json_get(v, "layer_scale_init_value"));
    if (find(rows, "qkv_bias") && bias != c->qkv_bias)
        return differs(path, "qkv_bias");
    vt_json_bool(&gated, vt_json_get(v, "use_gated_mlp"));
    if (find(rows, "use_gated_mlp") && gated != c->swiglu)
        return differs(path, "use_gated_mlp");
    if (dino && glu != c->swiglu)
        return differs(path, "use_swiglu_ffn");
    if (beit && (scale > 0) != c->layer_scale)
        return differs(path, "layer_scale_init_value");
    if (wide && find(rows, "head_dim") &&
        (!vt_json_uint(&n, wide) || n != (uint64_t)(c->width / c->heads)))
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: the config's head_dim is supported only if it is "
                       "hidden_size / num_attention_heads, here %d",
                       path, c->width / c->heads);
    return VITCL_OK;
}

vitcl_status vt_config_keys(const vt_config *c, const vt_json *config,
                            const char *path)
{
    vitcl_status st = VITCL_OK;
    const vt_json *vision = vt_config_vision(c->family, config);
    const key *rows = vt_config_rows(c, c->source == VT_SOURCE_HF);

    if (c->source == VT_SOURCE_TIMM && config) {
        VT_TRY(check_timm(vt_json_get(config, "model_args"), rows, path));
        VT_TRY(vt_preprocess_timm_keys(vt_json_get(config, "pretrained_cfg"),
                                       path));
    } else if (c->source == VT_SOURCE_HF) {
        VT_TRY(check_hf(vision, rows, config, path));
        if (vision != config)
            VT_TRY(check_hf(config, vt_config_hf_towers, config, path));
        VT_TRY(agree(c, rows, vision, path));
    }
done:
    return st;
}
