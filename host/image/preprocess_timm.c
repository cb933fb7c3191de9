/*
 * preprocess_timm.c - the preprocessing in timm's config.json: its
 * pretrained_cfg, old spellings too.
 */
#include "image/preprocess_keys.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

static const double imagenet_mean[3] = {0.485, 0.456, 0.406};
static const float imagenet_std[3] = {0.229f, 0.224f, 0.225f};

static const char *const timm_keys[] = {
    /* of old files, which have no pretrained_cfg */
    "num_features", "global_pool", "model_args", "num_labels", "labels",
    "has_weights", "vitcl_pixels",
    /* of a PretrainedCfg */
    "input_size", "interpolation", "crop_pct", "crop_mode", "mean", "std",
    /* other input sizes: the caller chooses the size */
    "test_input_size", "test_crop_pct", "min_input_size", "fixed_input_size",
    /* about the weights, the labels, or where the file came from */
    "url", "file", "state_dict", "hf_hub_id", "hf_hub_filename", "source",
    "architecture", "tag", "custom_load", "num_classes", "label_offset",
    "label_names", "label_descriptions", "pool_size", "test_pool_size",
    "first_conv", "classifier", "license", "description", "origin_url",
    "paper_name", "paper_ids", "notes", NULL};
static const char *const *const cfg_keys = timm_keys + 7;

static bool timm_filter(vt_filter *out, const char *word)
{
    for (unsigned i = 0; i <= VT_HAMMING; i++)
        if (strcmp(word, vt_filter_name((vt_filter)i)) == 0) {
            *out = (vt_filter)i;
            return true;
        }
    return false;
}

static vitcl_status timm_modes(vt_preprocess *p, const vt_json *c,
                               const char *name)
{
    const vt_json *v = vt_json_get(c, "interpolation");
    const char *word;

    if (!vt_how_absent(v) &&
        (!vt_json_string(&word, v) || !timm_filter(&p->filter, word)))
        return vt_how_wrong(
            name, "interpolation",
            "nearest, box, bilinear, hamming, bicubic or lanczos");
    v = vt_json_get(c, "crop_mode");
    if (vt_how_absent(v))
        return VITCL_OK;
    if (!vt_json_string(&word, v))
        return vt_how_wrong(name, "crop_mode", "center, squash or border");
    if (strcmp(word, "squash") == 0)
        p->fit = VT_FIT_SQUASH;
    else if (strcmp(word, "border") == 0)
        p->fit = VT_FIT_BORDER;
    else if (strcmp(word, "center") != 0)
        return vt_how_wrong(name, "crop_mode", "center, squash or border");
    return VITCL_OK;
}

static vitcl_status timm_size(vt_preprocess *p, const vt_json *c,
                              const char *name)
{
    const vt_json *v = vt_json_get(c, "input_size");
    uint64_t channels;
    double pct = 0.875;
    uint32_t side;

    if (!vt_how_absent(v) &&
        (vt_json_count(v) != 3 || !vt_json_uint(&channels, vt_json_at(v, 0)) ||
         (channels != 1 && channels != 3) ||
         !vt_how_side(&side, vt_json_at(v, 1)) ||
         !vt_how_side(&side, vt_json_at(v, 2))))
        return vt_how_wrong(name, "input_size",
                            "[3, height, width], or [1, ...]");
    v = vt_json_get(c, "crop_pct");
    if (!vt_how_absent(v) &&
        !(vt_json_number(&pct, v) && pct >= 0.05 && pct <= 20))
        return vt_how_wrong(name, "crop_pct", "a number between 0.05 and 20");
    p->resize_height = (uint32_t)floor(p->height / pct);
    p->resize_width = (uint32_t)floor(p->width / pct);
    if (p->resize_height == 0 || p->resize_width == 0)
        return vt_how_wrong(name, "crop_pct", "smaller for so small a picture");
    return VITCL_OK;
}

vitcl_status vt_preprocess_timm_keys(const vt_json *cfg, const char *name)
{
    for (const vt_json *v = vt_json_first(cfg); v; v = vt_json_next(v)) {
        const char *const *known = cfg_keys;

        while (*known && strcmp(*known, vt_json_key(v)) != 0)
            known++;
        if (!*known)
            return vt_fail(VITCL_EUNSUPPORTED,
                           "%s: pretrained_cfg has %s, which timm does not "
                           "know; remove it",
                           name, vt_json_key(v));
    }
    return VITCL_OK;
}

/* timm itself has only Pillow's. */
static vitcl_status timm_pixels(vt_preprocess *p, const vt_json *config,
                                const char *name)
{
    const vt_json *v = vt_json_get(config, "vitcl_pixels");
    const char *word;

    if (vt_how_absent(v))
        return VITCL_OK;
    if (!vt_json_string(&word, v) || !vt_pixels_named(&p->pixels, word))
        return vt_how_wrong(name, "vitcl_pixels", "pillow or torchvision");
    return VITCL_OK;
}

vitcl_status vt_preprocess_timm(vt_preprocess *out, const vt_json *config,
                                uint32_t height, uint32_t width,
                                const char *name)
{
    const vt_json *c = vt_json_get(config, "pretrained_cfg");
    vt_preprocess p = {
        .fit = VT_FIT_SHORTEST,
        .filter = VT_BICUBIC,
        .crop = VT_CROP_TORCHVISION,
        .height = height,
        .width = width,
        .scale = 1.0f / 255,
    };
    double mean[3]; /* 255 * .3 is a tie, 255 * .3f is not */

    if (!vt_json_is_object(c))
        c = config;
    memcpy(mean, imagenet_mean, sizeof mean);
    memcpy(p.std, imagenet_std, sizeof p.std);
    VT_RET(vt_how_target(height, width));
    VT_RET(vt_how_keys(c, c == config ? timm_keys : cfg_keys, NULL, name));
    VT_RET(timm_modes(&p, c, name));
    VT_RET(timm_size(&p, c, name));
    VT_RET(vt_how_doubles(mean, c, "mean", name));
    VT_RET(vt_how_three(p.std, c, "std", name));
    VT_RET(vt_how_std(&p, "std", name));
    for (int i = 0; i < 3; i++) {
        p.mean[i] = (float)mean[i];
        if (p.fit == VT_FIT_BORDER)
            p.fill[i] = (uint8_t)rint(255 * VT_MIN(VT_MAX(mean[i], 0), 1));
    }
    VT_RET(timm_pixels(&p, config, name));
    *out = p;
    return VITCL_OK;
}
