/*
 * settings_check.c - see settings_check.h.
 */
#include "train/settings_check.h"

#include "base/memory.h"
#include "base/text.h"
#include "base/utf8.h"
#include "data/augment.h"
#include "image/image.h"
#include "train/share.h"

#include <string.h>

vitcl_status vt_settings_check(const vitcl_train_options *o)
{
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
    if (o->val && o->hold_out)
        return vt_fail(VITCL_EINVAL,
                       "pictures of their own and held-out ones cannot both be "
                       "scored; omit val or hold_out");
    if (o->patience && !o->val && !o->hold_out)
        return vt_fail(VITCL_EINVAL,
                       "patience needs pictures to score: val or hold_out");
    if (o->batch > 65536)
        return vt_fail(VITCL_EINVAL, "the batch must be at most 65536, not %u",
                       o->batch);
    if (o->epochs > 1000000)
        return vt_fail(VITCL_EINVAL,
                       "the epochs must be at most 1000000, not %u", o->epochs);
    if (slices & (slices - 1))
        return vt_fail(VITCL_EINVAL,
                       "the slices must be a power of two, not %u", slices);
    if (slices > 65536)
        return vt_fail(VITCL_EINVAL, "the slices must be at most 65536, not %u",
                       slices);
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
    if (o->random_state >> 53)
        return vt_fail(VITCL_EINVAL, "the random state must be below 2^53");
    if (o->precision == VITCL_INT8)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "training does not support int8; use f32, bf16 or f16");
    return VITCL_OK;
}

static vitcl_status check_words(const vitcl_train_options *o)
{
    const char *const words[] = {o->preset, o->config, o->model,    o->data,
                                 o->split,  o->val,    o->objective};

    for (size_t i = 0; i < VT_COUNT(words); i++)
        if (words[i] && !vt_utf8(words[i], strlen(words[i])))
            return vt_fail(VITCL_EINVAL,
                           "%s: training keeps this name in a UTF-8 file, but "
                           "it is not UTF-8; rename it or link to it",
                           words[i]);
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

vitcl_status vt_settings_check_names(const vitcl_train_options *o,
                                     const vt_dataset *d)
{
    vitcl_status st;

    VT_TRY(check_words(o));
    VT_TRY(check_classes(d, o->data));
done:
    return st;
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
