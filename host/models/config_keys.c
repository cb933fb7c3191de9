/*
 * config_keys.c - refuses what a config asks for and vitcl does not do.
 *
 * Each key that the library's own class reads has a row (fields.h), or is known
 * to have no effect on inference, or must have no value. Other keys change
 * nothing in transformers, so nothing here: -v names them. But where the file
 * was written by a version that is newer than the newest tried, they may mean
 * something. timm refuses unknown arguments.
 */
#include "models/config.h"
#include "models/family.h"
#include "models/fields.h"

#include "base/json_types.h"
#include "base/log.h"
#include "base/memory.h"
#include "image/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NEWEST_MAJOR = 5, NEWEST_MINOR = 24 }; /* of transformers */

/* Of every config: configuration_utils.py of transformers. */
static const vt_keys all = {
    NULL,
    /* read with the model */
    "architectures|model_type|transformers_version|id2label|problem_type|"
    "vitcl_certainty|"
    "label2id|num_labels|dtype|torch_dtype|output_hidden_states|"
    "output_attentions|return_dict|use_return_dict|use_cache|torchscript|"
    "tie_word_embeddings|tie_last_hidden_states|chunk_size_feed_forward|"
    "is_encoder_decoder|name_or_path|_name_or_path|_commit_hash|"
    "attn_implementation|_attn_implementation_autoset|initializer_range|"
    "initializer_factor|auto_map|"
    "num_channels", /* seen in the patch embedding */
    "quantization_config|per_layer_config"};

/* Around a tower's own config; texts are not read. */
static const vt_keys towers = {
    NULL,
    "vision_config|vision_config_dict|projection_dim|text_config|"
    "text_config_dict|logit_scale_init_value|"
    "max_logit_scale|"        /* aimv2 */
    "temperature_init_value", /* tipsv2 */
    NULL};

/* ---- checking ---- */

/* false: the class does not read the key. */
static bool check(vitcl_status *st, const vt_keys *k, const vt_json *v,
                  const char *path)
{
    const char *only;

    if (!vt_field_known(&only, k, v))
        return false;
    *st = vt_json_only(v, only, "the config's", path);
    return true;
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

static vitcl_status check_hf(const vt_json *o, const vt_keys *k,
                             const vt_json *config, const char *path)
{
    vitcl_status st = VITCL_OK;

    for (const vt_json *v = vt_json_first(o); v; v = vt_json_next(v)) {
        const char *name = vt_json_key(v);

        if (check(&st, &all, v, path) || check(&st, k, v, path))
            VT_TRY(st);
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

static vitcl_status check_timm(const vt_json *args, const vt_keys *k,
                               const char *path)
{
    vitcl_status st = VITCL_OK;

    for (const vt_json *v = vt_json_first(args); v; v = vt_json_next(v))
        if (check(&st, k, v, path))
            VT_TRY(st);
        else if (!vt_json_is_null(v)) /* timm leaves these out */
            VT_TRY(vt_fail(VITCL_EUNSUPPORTED,
                           "%s: model_args has %s, which is not an argument of "
                           "timm's class",
                           path, vt_json_key(v)));
done:
    return st;
}

vitcl_status vt_config_keys(const vt_config *c, const vt_json *config,
                            const char *path)
{
    const vt_json *vision = vt_config_vision(c->family, config);
    const vt_keys *k = vt_config_class(c->family, config);

    if (c->source == VT_SOURCE_TIMM && config) {
        VT_RET(check_timm(vt_json_get(config, "model_args"), k, path));
        VT_RET(vt_preprocess_timm_keys(vt_json_get(config, "pretrained_cfg"),
                                       path));
    } else if (c->source == VT_SOURCE_HF) {
        VT_RET(check_hf(vision, k, config, path));
        if (vision != config)
            VT_RET(check_hf(config, &towers, config, path));
        VT_RET(vt_fields_agree(c, k, vision, path));
    }
    return VITCL_OK;
}
