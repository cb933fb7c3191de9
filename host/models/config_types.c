/*
 * config_types.c - checks the types of a config's fields: those of its class
 * (fields.h), and those that have rows here.
 *
 * A field of another type is an error that names it and is not taken as
 * missing: the default would give another model. null means the default.
 */
#include "models/config.h"

#include "base/json_types.h"
#include "base/memory.h"
#include "models/fields.h"

static const vt_json_row names[] = {
    {"architecture|model_type", VT_JSON_TEXT},
    {"architectures", VT_JSON_LIST},
    {"vision_config|vision_config_dict|text_config|text_config_dict",
     VT_JSON_OBJECT},
};

static const vt_json_row model_fields[] = {
    /* timm */
    {"num_classes", VT_JSON_COUNT},
    {"model_args|pretrained_cfg|label_descriptions", VT_JSON_OBJECT},
    {"label_names", VT_JSON_LIST | VT_JSON_OBJECT},
    /* Hugging Face */
    {"id2label", VT_JSON_OBJECT},
    {"problem_type|transformers_version", VT_JSON_TEXT},
    /* vitcl's hybrids and trainings */
    {"stem_width", VT_JSON_COUNT},
    {"stem_layers|stem_widths", VT_JSON_LIST},
    {"stem_block|vitcl_pixels", VT_JSON_TEXT},
    {"vitcl_certainty", VT_JSON_OBJECT},
};

/* The other fields are checked where pictures are prepared. */
static const vt_json_row timm_cfg[] = {
    {"input_size|test_input_size", VT_JSON_LIST},
    {"crop_pct", VT_JSON_NUMBER},
};

static vitcl_status check(const vt_json *o, const vt_json_row *rows, size_t n,
                          const char *path)
{
    return vt_json_types(o, rows, n, "the config's", path);
}

vitcl_status vt_config_names(const vt_json *config, const char *path)
{
    const vt_json *named = vt_json_at(vt_json_get(config, "architectures"), 0);
    const char *word;

    if (config && !vt_json_is_object(config))
        return vt_fail(VITCL_ECORRUPT, "%s: the config is not an object", path);
    if (named && !vt_json_string(&word, named))
        return vt_fail(VITCL_ECORRUPT,
                       "%s: the config's architectures are not strings", path);
    return check(config, names, VT_COUNT(names), path);
}

vitcl_status vt_config_types(const vt_family *f, const vt_json *config,
                             const char *path)
{
    VT_RET(check(config, model_fields, VT_COUNT(model_fields), path));
    VT_RET(vt_fields_check(vt_config_class(f, config), vt_config_own(f, config),
                           path));
    return check(vt_json_get(config, "pretrained_cfg"), timm_cfg,
                 VT_COUNT(timm_cfg), path);
}
