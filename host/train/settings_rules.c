/*
 * settings_rules.c - a setting is a member of vitcl_train_options and a row
 * here, for settings.c. Those of a settings file are not here.
 */
#include "train/settings_rules.h"

#include "base/memory.h"
#include "base/text.h"
#include "base/utf8.h"
#include "data/augment.h"
#include "image/image.h"
#include "train/share.h"

#include <string.h>

static const char model[] = "this is another model",
                  pictures[] = "these are other pictures",
                  positions[] = "the model's positions have this size";

#define AT(name, type, member)                                                 \
    .key = (name), .kind = VT_SETTING_##type,                                  \
    .at = offsetof(vt_settings, member)
#define ROW(member, type, ...)                                                 \
    {                                                                          \
        AT(#member, type, o.member), __VA_ARGS__                               \
    }
/* Behind KEEP, " = " why. */
#define KEEP .rule = VT_SETTING_KEEP, .why
#define CHANGE .rule = VT_SETTING_CHANGE
#define RENEW .rule = VT_SETTING_RENEW
#define IGNORE .rule = VT_SETTING_IGNORE

const vt_setting vt_setting_rows[] = {
    ROW(preset, TEXT, KEEP = model),
    ROW(config, TEXT, KEEP = model),
    ROW(model, TEXT, KEEP = model),
    ROW(data, TEXT, IGNORE), /* it may have moved */
    ROW(split, TEXT, KEEP = pictures),
    ROW(val, TEXT, RENEW),
    ROW(augment, TEXT, CHANGE),
    ROW(objective, TEXT, KEEP = model, .unset = "\"classes\""),
    ROW(pixels, TEXT, KEEP = "the pictures would be resized in another way"),
    ROW(columns, TEXT, KEEP = pictures),
    ROW(precision, PRECISION,
        KEEP = "its steps would be rounded in another way"),
    ROW(epochs, COUNT, CHANGE, .most = 1000000),
    ROW(batch, COUNT, KEEP = "steps are counted in batches", .most = 65536),
    ROW(micro, COUNT, CHANGE),
    ROW(slices, COUNT, KEEP = "its sums would be rounded in another order",
        .unset = "1", .most = 65536),
    ROW(lr, RATE, CHANGE),
    ROW(layer_decay, RATE, CHANGE, .unset = "1"),
    ROW(random_state, STATE, KEEP = "the order of the pictures depends on it"),
    ROW(height, COUNT, KEEP = positions),
    ROW(width, COUNT, KEEP = positions),
    ROW(hold_out, COUNT, KEEP = "held-out pictures would be trained with"),
    ROW(patience, COUNT, RENEW),
    ROW(follow, FLAG, KEEP = pictures),
    ROW(lora, COUNT, KEEP = "the optimiser's state belongs to it",
        .most = VT_LORA_MOST),
    ROW(freeze, PATTERNS,
        KEEP = "the optimiser has no state for other parameters"),
    {AT("settings", FILE, file),
     KEEP = "the optimiser's state belongs to them"},
    {AT("pictures", COUNT, pictures), KEEP = pictures},
    {AT("classes", COUNT, classes), KEEP = model},
    {.key = NULL, KEEP = "the steps so far depend on it"}};

const vt_setting *vt_setting_find(const char *key)
{
    const vt_setting *r = vt_setting_rows;

    while (r->key && strcmp(r->key, key) != 0)
        r++;
    return r;
}

static vitcl_status check_limits(const vt_settings *s)
{
    for (const vt_setting *r = vt_setting_rows; r->key; r++) {
        const uint32_t *n = (const void *)((const char *)s + r->at);

        if (r->most && *n > r->most)
            return vt_fail(VITCL_EINVAL, "the %s must be at most %u, not %u",
                           r->key, r->most, *n);
    }
    return VITCL_OK;
}

vitcl_status vt_settings_check(const vt_settings *s)
{
    const vitcl_train_options *o = &s->o;
    vt_augment a;
    vt_pixels pixels;
    const int starts =
        (o->preset != NULL) + (o->config != NULL) + (o->model != NULL);
    const uint32_t slices = VT_MAX(o->slices, 1u);
    const uint32_t longest =
        vt_share_longest(&(vt_share){o->batch, slices, o->micro});

    if (starts != 1)
        return vt_fail(VITCL_EINVAL, "training needs exactly one of preset, "
                                     "config and model");
    if (!o->data || !o->output)
        return vt_fail(VITCL_EINVAL,
                       "training needs data and an output folder");
    if (!vt_augment_named(&a, o->augment, 32, 32))
        return vt_fail(VITCL_EINVAL,
                       "augmentation \"%s\" is none of none, crop, light, full",
                       o->augment);
    if (o->objective && strcmp(o->objective, VT_OBJECTIVE_MASKED) != 0 &&
        strcmp(o->objective, "classes") != 0)
        return vt_fail(VITCL_EINVAL,
                       "objective \"%s\" is neither classes nor %s",
                       o->objective, VT_OBJECTIVE_MASKED);
    if (o->model && o->objective &&
        strcmp(o->objective, VT_OBJECTIVE_MASKED) == 0)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s is for training from scratch, not for fine-tuning",
                       VT_OBJECTIVE_MASKED);
    if (o->pixels && !vt_pixels_named(&pixels, o->pixels))
        return vt_fail(VITCL_EINVAL,
                       "pixels \"%s\" are neither pillow nor torchvision",
                       o->pixels);
    if (o->pixels && !o->model)
        return vt_fail(VITCL_EUNSUPPORTED, "pixels are for fine-tuning, not "
                                           "for training from scratch");
    if (o->lora && !o->model)
        return vt_fail(VITCL_EUNSUPPORTED, "lora is for fine-tuning, not for "
                                           "training from scratch");
    if (o->val && o->hold_out)
        return vt_fail(VITCL_EINVAL,
                       "pictures of their own and held-out ones cannot both be "
                       "scored; omit val or hold_out");
    if (o->patience && !o->val && !o->hold_out)
        return vt_fail(VITCL_EINVAL,
                       "patience needs pictures to score: val or hold_out");
    if (slices & (slices - 1))
        return vt_fail(VITCL_EINVAL,
                       "the slices must be a power of two, not %u", slices);
    VT_RET(check_limits(s));
    if (longest % o->micro)
        return vt_fail(VITCL_EINVAL,
                       "a %s of %u picture%s cannot be split into equal "
                       "parts of %u",
                       slices > 1 ? "slice" : "batch", longest,
                       vt_plural(longest), o->micro);
    if (!(o->lr > 0 && o->lr < VT_LR_MAX))
        return vt_fail(VITCL_EINVAL,
                       "the learning rate must be above 0 and below %g, not %g",
                       VT_LR_MAX, o->lr);
    if ((float)o->lr == 0)
        return vt_fail(VITCL_EINVAL,
                       "the learning rate %g is too small: in f32 it is 0",
                       o->lr);
    if (!(o->layer_decay >= 0 && o->layer_decay <= 1))
        return vt_fail(VITCL_EINVAL,
                       "the layer decay must be above 0 and at most 1, not %g",
                       o->layer_decay);
    if (o->random_state >> 53)
        return vt_fail(VITCL_EINVAL, "the random state must be below 2^53");
    if (o->precision == VITCL_INT8)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "training does not support int8; use f32, bf16 or f16");
    return VITCL_OK;
}

vitcl_status vt_settings_check_scored(const vt_settings *s,
                                      const vitcl_train_options *given)
{
    if (given->val && s->o.hold_out)
        return vt_fail(VITCL_EINVAL,
                       "%s: this training began with held-out pictures; omit "
                       "val to resume",
                       given->output);
    if (given->patience && !s->o.val && !s->o.hold_out)
        return vt_fail(VITCL_EINVAL,
                       "%s: this training scores no pictures, so it cannot "
                       "have patience; give val",
                       given->output);
    return VITCL_OK;
}

static vitcl_status check_words(const vt_settings *s)
{
    for (const vt_setting *r = vt_setting_rows; r->key; r++) {
        const char *const *text = (const void *)((const char *)s + r->at);

        if (r->kind == VT_SETTING_TEXT && *text &&
            !vt_utf8(*text, strlen(*text)))
            return vt_fail(VITCL_EINVAL,
                           "%s: training keeps this name in a UTF-8 file, but "
                           "it is not UTF-8; rename it or link to it",
                           *text);
    }
    return VITCL_OK;
}

static vitcl_status check_classes(const vt_dataset *d, const char *data)
{
    for (uint32_t i = 0; d && i < vt_dataset_classes(d); i++) {
        const char *name = vt_dataset_class(d, i);

        if (!vt_utf8(name, strlen(name)))
            return vt_fail(VITCL_EINVAL,
                           "%s: a model keeps the names of its classes in a "
                           "UTF-8 file, but class '%s' is not UTF-8; rename it",
                           data, name);
    }
    return VITCL_OK;
}

vitcl_status vt_settings_check_names(const vt_settings *s, const vt_dataset *d)
{
    VT_RET(check_words(s));
    return check_classes(d, s->o.data);
}

vitcl_status vt_settings_check_masked(const vt_json *file, const char *path)
{
    static const char *const keys[] = {"mixup", "cutmix", "mixup_prob"};

    for (size_t i = 0; i < VT_COUNT(keys); i++) {
        double v = 0;

        if (vt_json_number(&v, vt_json_get(file, keys[i])) && v > 0)
            return vt_fail(VITCL_ECORRUPT,
                           "%s: \"%s\" needs the objective classes: masked "
                           "pictures are not mixed",
                           path, keys[i]);
    }
    return VITCL_OK;
}
