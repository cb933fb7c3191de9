/*
 * preprocess_config.c - parses the preprocessing in a checkpoint's JSON: timm's
 * pretrained_cfg and HF's preprocessor_config.json, old spellings too.
 *
 * A key that could change a pixel is either applied or an error that names it.
 * A key that is null or false is ignored.
 */
#include "image/image.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

#define SIZE_LARGEST 16384 /* of a resize or crop; models use far less */

static const float half[3] = {0.5f, 0.5f, 0.5f};
static const float imagenet_mean[3] = {0.485f, 0.456f, 0.406f};
static const float imagenet_std[3] = {0.229f, 0.224f, 0.225f};
static const float clip_mean[3] = {0.48145466f, 0.4578275f, 0.40821073f};
static const float clip_std[3] = {0.26862954f, 0.26130258f, 0.27577711f};

/* ---- shared ------------------------------------------------------------- */

static bool listed(const char *const *list, const char *key)
{
    for (; *list; list++)
        if (strcmp(*list, key) == 0)
            return true;
    return false;
}

/* Every key must be known and harmless, or null or false. */
static vitcl_status check_keys(const vt_json *object, const char *const *known,
                               const char *name)
{
    for (const vt_json *m = vt_json_first(object); m; m = vt_json_next(m)) {
        bool on = true;

        if (listed(known, vt_json_key(m)) || vt_json_is_null(m) ||
            (vt_json_bool(&on, m) && !on))
            continue;
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: unknown key \"%s\" may change the "
                       "pixels; remove it if it does not",
                       name, vt_json_key(m));
    }
    return VITCL_OK;
}

static vitcl_status wrong(const char *name, const char *key, const char *want)
{
    return vt_fail(VITCL_ECORRUPT, "%s: \"%s\" must be %s", name, key, want);
}

static bool absent(const vt_json *v)
{
    return !v || vt_json_is_null(v);
}

/* Three numbers, or one for all three; if absent, *out stays. */
static vitcl_status get_three(float out[3], const vt_json *object,
                              const char *key, const char *name)
{
    const vt_json *v = vt_json_get(object, key);
    float three[3];

    if (absent(v))
        return VITCL_OK;
    for (size_t i = 0; i < 3; i++) {
        const vt_json *one = vt_json_is_array(v) ? vt_json_at(v, i) : v;
        double d;

        if (vt_json_is_array(v) && vt_json_count(v) == 1)
            one = vt_json_at(v, 0);
        else if (vt_json_is_array(v) && vt_json_count(v) != 3)
            return wrong(name, key, "three numbers");
        if (!vt_json_number(&d, one) || !(fabs(d) < 1e6))
            return wrong(name, key, "three numbers");
        three[i] = (float)d;
    }
    memcpy(out, three, sizeof three);
    return VITCL_OK;
}

static vitcl_status check_std(const vt_preprocess *p, const char *key,
                              const char *name)
{
    for (int i = 0; i < 3; i++)
        if (!(p->std[i] > 0))
            return wrong(name, key, "above zero");
    return VITCL_OK;
}

static bool get_side(uint32_t *out, const vt_json *v)
{
    uint64_t u;

    if (!vt_json_uint(&u, v) || u == 0 || u > SIZE_LARGEST)
        return false;
    *out = (uint32_t)u;
    return true;
}

/* Returns true if absent, false on a wrong type. */
static bool get_flag(bool *out, const vt_json *object, const char *key)
{
    const vt_json *v = vt_json_get(object, key);

    return absent(v) || vt_json_bool(out, v);
}

static vitcl_status check_target(uint32_t height, uint32_t width)
{
    if (height == 0 || width == 0 || height > SIZE_LARGEST ||
        width > SIZE_LARGEST)
        return vt_fail(VITCL_EINVAL, "a model input of %ux%u pixels", width,
                       height);
    return VITCL_OK;
}

void vt_preprocess_default(vt_preprocess *out, uint32_t height, uint32_t width)
{
    *out = (vt_preprocess){
        .fit = VT_FIT_SQUASH,
        .filter = VT_BILINEAR,
        .crop = VT_CROP_NONE,
        .resize_height = height,
        .resize_width = width,
        .height = height,
        .width = width,
        .scale = 1.0f / 255,
    };
    memcpy(out->mean, half, sizeof half);
    memcpy(out->std, half, sizeof half);
}

/* ---- timm --------------------------------------------------------------- */

static const char *const timm_keys[] = {
    "input_size", "interpolation", "crop_pct", "crop_mode", "mean", "std",
    /* other input sizes: the caller chooses the size */
    "test_input_size", "test_crop_pct", "min_input_size", "fixed_input_size",
    /* about the weights, the labels, or where the file came from */
    "url", "file", "state_dict", "hf_hub_id", "hf_hub_filename", "source",
    "architecture", "tag", "custom_load", "num_classes", "label_offset",
    "label_names", "label_descriptions", "pool_size", "test_pool_size",
    "first_conv", "classifier", "license", "description", "origin_url",
    "paper_name", "paper_ids", "notes", "has_weights",
    /* also present in old files that have no pretrained_cfg */
    "num_features", "global_pool", "model_args", "num_labels", "labels", NULL};

static bool timm_filter(vt_filter *out, const char *word)
{
    static const char *const words[] = {"nearest", "lanczos", "bilinear",
                                        "bicubic", "box",     "hamming"};

    for (unsigned i = 0; i < VT_COUNT(words); i++)
        if (strcmp(word, words[i]) == 0) {
            *out = (vt_filter)i; /* in the order of Pillow's numbers */
            return true;
        }
    return false;
}

static vitcl_status timm_modes(vt_preprocess *p, const vt_json *c,
                               const char *name)
{
    const vt_json *v = vt_json_get(c, "interpolation");
    const char *word;

    if (!absent(v) &&
        (!vt_json_string(&word, v) || !timm_filter(&p->filter, word)))
        return wrong(name, "interpolation",
                     "nearest, box, bilinear, hamming, bicubic or lanczos");
    v = vt_json_get(c, "crop_mode");
    if (absent(v))
        return VITCL_OK;
    if (!vt_json_string(&word, v))
        return wrong(name, "crop_mode", "center, squash or border");
    if (strcmp(word, "squash") == 0)
        p->fit = VT_FIT_SQUASH;
    else if (strcmp(word, "border") == 0)
        p->fit = VT_FIT_BORDER;
    else if (strcmp(word, "center") != 0)
        return wrong(name, "crop_mode", "center, squash or border");
    return VITCL_OK;
}

static vitcl_status timm_size(vt_preprocess *p, const vt_json *c,
                              const char *name)
{
    const vt_json *v = vt_json_get(c, "input_size");
    uint64_t channels;
    double pct = 0.875;
    uint32_t side;

    if (!absent(v) &&
        (vt_json_count(v) != 3 || !vt_json_uint(&channels, vt_json_at(v, 0)) ||
         channels != 3 || !get_side(&side, vt_json_at(v, 1)) ||
         !get_side(&side, vt_json_at(v, 2))))
        return wrong(name, "input_size", "[3, height, width]");
    v = vt_json_get(c, "crop_pct");
    if (!absent(v) && !(vt_json_number(&pct, v) && pct >= 0.05 && pct <= 20))
        return wrong(name, "crop_pct", "a number between 0.05 and 20");
    p->resize_height = (uint32_t)floor(p->height / pct);
    p->resize_width = (uint32_t)floor(p->width / pct);
    if (p->resize_height == 0 || p->resize_width == 0)
        return wrong(name, "crop_pct", "smaller for so small a picture");
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
    float mean[3];
    vitcl_status st;

    if (!vt_json_is_object(c))
        c = config;
    memcpy(p.mean, imagenet_mean, sizeof p.mean);
    memcpy(p.std, imagenet_std, sizeof p.std);
    VT_TRY(check_target(height, width));
    VT_TRY(check_keys(c, timm_keys, name));
    VT_TRY(timm_modes(&p, c, name));
    VT_TRY(timm_size(&p, c, name));
    VT_TRY(get_three(p.mean, c, "mean", name));
    VT_TRY(get_three(p.std, c, "std", name));
    VT_TRY(check_std(&p, "std", name));
    memcpy(mean, p.mean, sizeof mean);
    for (int i = 0; i < 3 && p.fit == VT_FIT_BORDER; i++)
        p.fill[i] = (uint8_t)rint(255.0 * VT_MIN(VT_MAX(mean[i], 0), 1));
    *out = p;
done:
    return st;
}

/* ---- HF ----------------------------------------------------------------- */

static const char *const hf_keys[] = {
    "do_resize", "size", "resample", "do_rescale", "rescale_factor",
    "do_normalize", "image_mean", "image_std", "do_center_crop", "crop_size",
    "do_convert_rgb",
    /* about the processor, its output, or segmentation labels */
    "image_processor_type", "feature_extractor_type", "processor_class",
    "_processor_class", "data_format", "input_data_format", "return_tensors",
    "device", "disable_grouping", "image_seq_length", "valid_processor_keys",
    "_valid_processor_keys", "do_reduce_labels", "reduce_labels",
    "default_to_square", "_commit_hash", "transformers_version",
    "_name_or_path", NULL};

/* The defaults of a processor. */
typedef struct hf_kind {
    const char *processor; /* before ImageProcessor or FeatureExtractor */
    const char *models;    /* its model_types, separated by spaces */
    bool shortest;         /* what a bare number for `size` means */
    bool crop;
    bool on_white;            /* do_convert_rgb; else alpha is dropped */
    uint32_t size, crop_size; /* crop_size 0: what the model reads */
    vt_filter filter;
    const float *mean, *std;
} hf_kind;

static const hf_kind hf_kinds[] = {
    {"ViT", " vit vit_msn vit_mae ijepa ", false, false, false, 224, 0,
     VT_BILINEAR, half, half},
    {"DeiT", " deit ", false, true, false, 256, 224, VT_BICUBIC, half, half},
    {"Beit", " beit data2vec-vision ", false, false, false, 224, 224,
     VT_BICUBIC, half, half},
    {"CLIP", " clip clip_vision_model ", true, true, true, 224, 224, VT_BICUBIC,
     clip_mean, clip_std},
    {"Bit", " bit dinov2 dinov2_with_registers ", true, true, true, 224, 224,
     VT_BICUBIC, clip_mean, clip_std},
    {"ViTHybrid", " vit-hybrid vit_hybrid ", true, true, true, 224, 224,
     VT_BICUBIC, clip_mean, clip_std},
    {"Siglip", " siglip siglip_vision_model ", false, false, true, 224, 0,
     VT_BICUBIC, half, half},
};

/* "CLIPImageProcessorFast" is CLIP: fast and slow are the same here. */
static bool is_processor(const char *word, const char *prefix)
{
    static const char *const tails[] = {"ImageProcessor", "ImageProcessorFast",
                                        "ImageProcessorPil",
                                        "FeatureExtractor"};
    size_t n = strlen(prefix);

    if (strncmp(word, prefix, n) != 0)
        return false;
    for (size_t i = 0; i < VT_COUNT(tails); i++)
        if (strcmp(word + n, tails[i]) == 0)
            return true;
    return false;
}

static vitcl_status hf_find(const hf_kind **out, const vt_json *c,
                            const char *model_type, const char *name)
{
    const char *word = NULL;
    char *spaced = NULL;
    vitcl_status st = VITCL_OK;

    *out = NULL;
    if (!vt_json_string(&word, vt_json_get(c, "image_processor_type")) &&
        !vt_json_string(&word, vt_json_get(c, "feature_extractor_type")))
        word = NULL;
    if (word) {
        for (size_t i = 0; i < VT_COUNT(hf_kinds); i++)
            if (is_processor(word, hf_kinds[i].processor)) {
                *out = &hf_kinds[i];
                return VITCL_OK;
            }
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: unknown image_processor_type \"%s\"", name, word);
    }
    VT_TRY(vt_format(&spaced, " %s ", model_type ? model_type : "vit"));
    for (size_t i = 0; i < VT_COUNT(hf_kinds); i++)
        if (strstr(hf_kinds[i].models, spaced))
            *out = &hf_kinds[i];
    if (!*out)
        st = vt_fail(VITCL_EUNSUPPORTED,
                     "%s: unknown preprocessing of \"%s\" models; add a "
                     "preprocessor_config.json",
                     name, model_type);
done:
    free(spaced);
    return st;
}

/* `size` or `crop_size`: n, [h, w], [n], {height, width}, {shortest_edge}. */
static vitcl_status hf_size(uint32_t *h, uint32_t *w, bool *shortest,
                            const vt_json *c, const char *key, const char *name)
{
    static const char *const keys[] = {"height", "width", "shortest_edge",
                                       NULL};
    const vt_json *v = vt_json_get(c, key);
    bool ok;

    if (absent(v))
        return VITCL_OK;
    if (vt_json_is_object(v)) {
        const vt_json *edge = vt_json_get(v, "shortest_edge");
        vitcl_status st = check_keys(v, keys, name);

        if (st != VITCL_OK)
            return st;
        *shortest = !absent(edge);
        ok = *shortest ? vt_json_count(v) == 1 && get_side(h, edge)
                       : get_side(h, vt_json_get(v, "height")) &&
                             get_side(w, vt_json_get(v, "width"));
        if (*shortest)
            *w = *h;
    } else if (vt_json_is_array(v)) {
        size_t n = vt_json_count(v);

        ok = (n == 1 || n == 2) && get_side(h, vt_json_at(v, 0)) &&
             get_side(w, vt_json_at(v, n - 1));
        *shortest = *shortest && n == 1;
    } else {
        ok = get_side(h, v);
        *w = *h;
    }
    return ok ? VITCL_OK
              : wrong(name, key,
                      "a number, [height, width], {height, width} or "
                      "{shortest_edge}");
}

static vitcl_status hf_numbers(vt_preprocess *p, const vt_json *c,
                               const char *name)
{
    bool rescale = true, normalize = true;
    const vt_json *v = vt_json_get(c, "resample");
    vitcl_status st = VITCL_OK;
    double factor = 1.0 / 255;
    uint64_t number;

    if (!absent(v)) {
        if (!vt_json_uint(&number, v) || number > VT_HAMMING)
            return wrong(name, "resample",
                         "the number of a Pillow filter, 0 to 5");
        p->filter = (vt_filter)number;
    }
    if (!get_flag(&rescale, c, "do_rescale"))
        return wrong(name, "do_rescale", "true or false");
    if (!get_flag(&normalize, c, "do_normalize"))
        return wrong(name, "do_normalize", "true or false");
    v = vt_json_get(c, "rescale_factor");
    if (!absent(v) &&
        !(vt_json_number(&factor, v) && factor > 0 && factor < 1e6))
        return wrong(name, "rescale_factor", "a number above zero");
    p->scale = rescale ? (float)factor : 1;
    VT_TRY(get_three(p->mean, c, "image_mean", name));
    VT_TRY(get_three(p->std, c, "image_std", name));
    VT_TRY(check_std(p, "image_std", name));
    for (int i = 0; i < 3 && !normalize; i++)
        p->mean[i] = 0, p->std[i] = 1;
done:
    return st;
}

static uint32_t scaled(uint32_t size, uint32_t now, uint32_t was)
{
    return VT_MAX((uint32_t)((uint64_t)size * now / was), 1);
}

/* Scales the config's own sizes so that the result is height * width. */
static void hf_fit(vt_preprocess *p, uint32_t h, uint32_t w, uint32_t crop_h,
                   uint32_t crop_w)
{
    if (p->crop == VT_CROP_NONE)
        crop_h = h, crop_w = w;
    p->resize_height = scaled(h, p->height, crop_h);
    p->resize_width = scaled(w, p->width, crop_w);
    if (p->fit == VT_FIT_SHORTEST)
        p->resize_height = p->resize_width =
            VT_MAX(p->resize_height, p->resize_width);
}

/* The sizes of the resize and of the crop in the config. */
typedef struct hf_sizes {
    uint32_t h, w, crop_h, crop_w;
    bool resize, crop, shortest;
} hf_sizes;

static vitcl_status hf_read_sizes(hf_sizes *out, const hf_kind *kind,
                                  const vt_json *c, uint32_t height,
                                  uint32_t width, const char *name)
{
    vitcl_status st = VITCL_OK;
    bool square = false;
    /* A crop without a size: the processor's default, or the model's input. */
    hf_sizes s = {.h = kind->size,
                  .w = kind->size,
                  .crop_h = kind->crop_size ? kind->crop_size : height,
                  .crop_w = kind->crop_size ? kind->crop_size : width,
                  .resize = true,
                  .crop = kind->crop,
                  .shortest = kind->shortest};

    VT_TRY(hf_size(&s.h, &s.w, &s.shortest, c, "size", name));
    VT_TRY(hf_size(&s.crop_h, &s.crop_w, &square, c, "crop_size", name));
    if (!get_flag(&s.resize, c, "do_resize") ||
        !get_flag(&s.crop, c, "do_center_crop")) {
        st = wrong(name, "do_resize or do_center_crop", "true or false");
        goto done;
    }
    *out = s;
done:
    return st;
}

static vitcl_status hf_begin(const hf_kind **kind, const vt_json *c,
                             const char *model_type, const char *name)
{
    vitcl_status st = VITCL_OK;

    if (c && !vt_json_is_object(c))
        return vt_fail(VITCL_ECORRUPT,
                       "%s: the preprocessor's config is not an object", name);
    VT_TRY(check_keys(c, hf_keys, name));
    VT_TRY(hf_find(kind, c, model_type, name));
done:
    return st;
}

vitcl_status vt_preprocess_hf_size(uint32_t *height, uint32_t *width,
                                   const vt_json *preprocessor,
                                   const char *model_type, const char *name)
{
    const hf_kind *kind = NULL;
    hf_sizes s = {0};
    vitcl_status st;

    VT_TRY(hf_begin(&kind, preprocessor, model_type, name));
    VT_TRY(hf_read_sizes(&s, kind, preprocessor, 0, 0, name));
    if (s.crop)
        *height = s.crop_h, *width = s.crop_w;
    else if (s.resize && !s.shortest)
        *height = s.h, *width = s.w;
    else
        st = vt_fail(VITCL_EUNSUPPORTED,
                     "%s: the preprocessor does not make pictures of one size",
                     name);
done:
    return st;
}

vitcl_status vt_preprocess_hf(vt_preprocess *out, const vt_json *preprocessor,
                              const char *model_type, uint32_t height,
                              uint32_t width, const char *name)
{
    const vt_json *c = preprocessor;
    vt_preprocess p = {.height = height, .width = width};
    const hf_kind *kind = NULL;
    hf_sizes s = {0};
    vitcl_status st;

    VT_TRY(check_target(height, width));
    VT_TRY(hf_begin(&kind, c, model_type, name));
    p.filter = kind->filter;
    p.on_white = kind->on_white;
    if (!get_flag(&p.on_white, c, "do_convert_rgb")) {
        st = wrong(name, "do_convert_rgb", "true or false");
        goto done;
    }
    memcpy(p.mean, kind->mean, sizeof p.mean);
    memcpy(p.std, kind->std, sizeof p.std);
    VT_TRY(hf_numbers(&p, c, name));
    VT_TRY(hf_read_sizes(&s, kind, c, height, width, name));
    p.crop = s.crop ? VT_CROP_HF : VT_CROP_NONE;
    p.fit = !s.resize    ? VT_FIT_NONE
            : s.shortest ? VT_FIT_SHORTEST
                         : VT_FIT_SQUASH;
    hf_fit(&p, s.h, s.w, s.crop_h, s.crop_w);
    *out = p;
done:
    return st;
}
