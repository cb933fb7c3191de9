/*
 * tower_config.c - which files a text tower is in, and Hugging Face's
 * config.json of it.
 *
 * A folder may have the same towers for two libraries. HF's config is used if
 * it is of a model with a text tower; else open_clip's, as beside timm's config
 * of a picture tower.
 */
#include "models/config.h"
#include "models/family.h"
#include "models/fields.h"
#include "models/model_private.h"
#include "models/tower.h"

#include "base/memory.h"
#include "weights/sidecar.h"

#include <stdio.h>
#include <string.h>

/* HF's class of the text tower, or of both; NULL: of none. */
static const vt_hf_class *class_of(const vt_json *config)
{
    const char *type = vt_config_hf(config);
    const vt_family *f = vt_family_of_type(type);
    const vt_hf_class *k = f ? vt_hf_class_of(f, type) : NULL;

    return k && k->towers && !strstr(type, "_vision_model") ? k : NULL;
}

/* open_clip's file, if the folder has one of its names. */
static vitcl_status open_weights(vt_tensors **out, const char *path,
                                 bool open_clip)
{
    static const char *const names[] = {
        "open_clip_model.safetensors",
        "open_clip_model.safetensors.index.json",
        "open_clip_pytorch_model.bin",
        "open_clip_pytorch_model.bin.index.json",
    };
    vitcl_status st = VITCL_OK;
    char *file = NULL;

    for (size_t i = 0;
         open_clip && vt_path_is_folder(path) && i < VT_COUNT(names); i++) {
        VT_TRY(vt_format(&file, "%s/%s", path, names[i]));
        if (vt_path_exists(file)) {
            st = vt_tensors_open(out, file);
            goto done;
        }
        free(file), file = NULL;
    }
    st = vt_tensors_open(out, path);
done:
    free(file);
    return st;
}

vitcl_status vt_tower_find(vt_tower_files *out, const char *path)
{
    vitcl_status st = VITCL_OK;
    const vt_hf_class *k;
    vt_json *hf = NULL;

    VT_TRY(vt_sidecar_json(&hf, path, "config.json"));
    VT_TRY(vt_config_names(hf, path));
    k = class_of(hf);
    out->open_clip = !k || !k->text;
    if (out->open_clip)
        VT_TRY(vt_sidecar_json(&out->config, path, "open_clip_config.json"));
    else
        out->config = hf, hf = NULL;
    if (!out->config && k)
        st = vt_fail(VITCL_EUNSUPPORTED,
                     "%s: the text tower is %s, which is not supported; its "
                     "picture tower is, for embed",
                     path, k->other);
    else if (!out->config)
        st = vt_fail(VITCL_EUNSUPPORTED,
                     "%s: no text tower: neither config.json nor "
                     "open_clip_config.json is of a model of pictures and "
                     "texts",
                     path);
    else
        st = open_weights(&out->raw, path, out->open_clip);
done:
    vt_json_free(hf);
    return st;
}

/* The text tower's config; NULL: all of it is default. */
static const vt_json *text_config(const vt_json *config)
{
    const char *type = vt_config_hf(config);
    const vt_json *v = vt_json_get(config, "text_config_dict");

    if (strstr(type, "_text_model"))
        return config;
    if (vt_json_is_object(v) && class_of(config)->dict)
        return v;
    v = vt_json_get(config, "text_config");
    return vt_json_is_object(v) ? v : NULL;
}

static const vt_field fields[] = {
    SIZE("hidden_size", width, VT_MOST_WIDTH),
    SIZE("intermediate_size", mlp, VT_MOST_MLP),
    SIZE("num_attention_heads", heads, VT_MOST_WIDTH),
    SIZE("num_hidden_layers", depth, VT_MOST_DEPTH),
    SIZE("max_position_embeddings", context, VT_MOST_TOKENS),
    SIZE("vocab_size", vocabulary, VT_MOST_WORDS),
    COUNT("eos_token_id", end, INT32_MAX, 49407),
    ACT("hidden_act"),
    EPS("layer_norm_eps"),
    END,
};
static const vt_keys keys = {fields, NULL, NULL};

static vitcl_status read_plain(const vt_json *config, const char *path)
{
    const vt_json *v = vt_json_get(config, "quantization_config");

    return !v || vt_json_is_null(v)
               ? VITCL_OK
               : vt_fail(VITCL_EUNSUPPORTED,
                         "%s: the config's quantization_config is not "
                         "supported",
                         path);
}

vitcl_status vt_tower_hf(vt_config *c, const vt_json *config, const char *path)
{
    const vt_json *v = text_config(config);
    const vt_text_class *k = class_of(config)->text;
    const char *bad = NULL, *arch = vt_config_hf(config);

    vt_json_string(&arch, vt_json_at(vt_json_get(config, "architectures"), 0));
    snprintf(c->name, sizeof c->name, "%s", arch);
    c->source = VT_SOURCE_HF;
    c->sigmoid = k->sigmoid;
    c->causal = !k->sigmoid;
    c->width = k->width, c->mlp = k->mlp;
    c->heads = k->heads, c->depth = 12;
    c->context = k->context, c->vocabulary = k->vocabulary;
    c->act = k->act, c->eps = k->eps;
    c->end_kind = k->end_kind;
    c->logit_scale = k->logit_scale, c->logit_bias = k->logit_bias;
    VT_RET(vt_fields_check(&keys, v, path));
    VT_RET(vt_fields_read(c, &keys, v, path));
    if (c->end == 2 && k->two_is_highest)
        c->end_kind = VT_END_HIGHEST;
    c->projection = c->width;
    if (k->projection)
        vt_config_number(&c->projection, v, k->projection, VT_MOST_WIDTH, &bad);
    else if (v == config || !vt_json_get(config, "projection_dim"))
        c->projection = 512;
    if (!k->projection)
        vt_config_number(&c->projection, config, "projection_dim",
                         VT_MOST_WIDTH, &bad);
    if (bad)
        return vt_bad_number(path, bad);
    return read_plain(config, path);
}
