/*
 * preprocess_hf.c - the preprocessing in Hugging Face's
 * preprocessor_config.json, old spellings too.
 */
#include "image/preprocess_keys.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

const float vt_zeros[3] = {0, 0, 0}, vt_ones[3] = {1, 1, 1};
const float vt_halves[3] = {0.5f, 0.5f, 0.5f};
const float vt_imagenet_mean[3] = {0.485f, 0.456f, 0.406f};
const float vt_imagenet_std[3] = {0.229f, 0.224f, 0.225f};
const float vt_clip_mean[3] = {0.48145466f, 0.4578275f, 0.40821073f};
const float vt_clip_std[3] = {0.26862954f, 0.26130258f, 0.27577711f};

/* The first two are NaFlex's. */
static const char *const patch_keys[] = {
    "patch_size", "max_num_patches", "do_resize", "size", "resample",
    "do_rescale", "rescale_factor", "do_normalize", "image_mean", "image_std",
    "do_center_crop", "crop_size", "do_convert_rgb", "default_to_square",
    "device",
    /* about the processor, its output, or segmentation labels */
    "image_processor_type", "feature_extractor_type", "processor_class",
    "_processor_class", "data_format", "input_data_format", "return_tensors",
    "disable_grouping", "image_seq_length", "valid_processor_keys",
    "_valid_processor_keys", "do_reduce_labels", "reduce_labels",
    "_commit_hash", "transformers_version", "_name_or_path",
    /* DPT's */
    "ensure_multiple_of", NULL};
static const char *const *const hf_keys = patch_keys + 2;
/* Of a processor for boxes, whose pictures have any size. */
static const char *const box_keys[] = {
    "do_pad",   "pad_size", "pad_and_return_pixel_mask",
    "max_size", "format",   "do_convert_annotations",
    NULL};

static bool hf_processor(const char **word, const vt_json *c)
{
    return vt_json_string(word, vt_json_get(c, "image_processor_type")) ||
           vt_json_string(word, vt_json_get(c, "feature_extractor_type"));
}

/* "CLIPImageProcessorFast" is CLIP. */
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

static bool ends_with(const char *word, const char *tail)
{
    const size_t n = strlen(word), m = strlen(tail);

    return n >= m && strcmp(word + n - m, tail) == 0;
}

vt_pixels vt_hf_pixels(const vt_json *preprocessor, bool joined,
                       const vt_json *config)
{
    static const char key[] = "transformers_version";
    const char *word;
    bool five = joined;

    if (vt_json_string(&word,
                       vt_json_get(preprocessor, "image_processor_type"))) {
        if (ends_with(word, "Fast"))
            return VT_PIXELS_TORCHVISION;
        if (ends_with(word, "Pil"))
            return VT_PIXELS_PILLOW;
    } else if (vt_json_string(&word, vt_json_get(preprocessor,
                                                 "feature_extractor_type"))) {
        return VT_PIXELS_PILLOW; /* transformers 4 had dropped that */
    }
    if (vt_json_string(&word, vt_json_get(preprocessor, key)) ||
        (!joined && vt_json_string(&word, vt_json_get(config, key))))
        five = strtol(word, NULL, 10) >= 5;
    return five ? VT_PIXELS_TORCHVISION : VT_PIXELS_PILLOW;
}

/* The first that is the word's, or whose name is `usual`. */
static const vt_processor *hf_pick(const vt_processor *const *all,
                                   const char *word, const char *usual)
{
    for (; *all; all++)
        for (const vt_processor *p = *all; p->name; p++)
            if (word ? is_processor(word, p->name)
                     : strcmp(p->name, usual) == 0)
                return p;
    return NULL;
}

static vitcl_status hf_find(const vt_processor **out, const vt_json *c,
                            const vt_processor_list *of, const char *name)
{
    const char *word = NULL;

    hf_processor(&word, c);
    *out = hf_pick(of->all, word, of->usual);
    if (!*out && word)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: unknown image_processor_type \"%s\"", name, word);
    return *out ? VITCL_OK
                : vt_fail(VITCL_EUNSUPPORTED,
                          "%s: unknown preprocessing of \"%s\" models; add a "
                          "preprocessor_config.json",
                          name, of->usual);
}

/* `size` or `crop_size`: n, [h, w], [n], {height, width}, {shortest_edge}.
 * number: what n means. */
static vitcl_status hf_size(uint32_t *h, uint32_t *w, bool *shortest,
                            bool number, const vt_json *c, const char *key,
                            const char *name)
{
    static const char *const keys[] = {"height", "width", "shortest_edge",
                                       NULL};
    const vt_json *v = vt_json_get(c, key);
    bool ok;

    if (vt_how_absent(v))
        return VITCL_OK;
    if (vt_json_is_object(v)) {
        const vt_json *edge = vt_json_get(v, "shortest_edge");
        vitcl_status st = vt_how_keys(v, keys, NULL, name);

        if (st != VITCL_OK)
            return st;
        *shortest = !vt_how_absent(edge);
        ok = *shortest ? vt_json_count(v) == 1 && vt_how_side(h, edge)
                       : vt_how_side(h, vt_json_get(v, "height")) &&
                             vt_how_side(w, vt_json_get(v, "width"));
        if (*shortest)
            *w = *h;
    } else if (vt_json_is_array(v)) {
        size_t n = vt_json_count(v);

        ok = (n == 1 || n == 2) && vt_how_side(h, vt_json_at(v, 0)) &&
             vt_how_side(w, vt_json_at(v, n - 1));
        *shortest = number && n == 1;
    } else {
        ok = vt_how_side(h, v);
        *w = *h;
        *shortest = number;
    }
    return ok ? VITCL_OK
              : vt_how_wrong(name, key,
                             "a number, [height, width], {height, width} or "
                             "{shortest_edge}");
}

static vitcl_status hf_numbers(vt_preprocess *p, const vt_json *c,
                               const char *name)
{
    bool rescale = true, normalize = true;
    const vt_json *v = vt_json_get(c, "resample");
    double factor = 1.0 / 255;
    uint64_t number;

    if (!vt_how_absent(v)) {
        if (!vt_json_uint(&number, v) || number > VT_HAMMING)
            return vt_how_wrong(name, "resample",
                                "the number of a Pillow filter, 0 to 5");
        p->filter = (vt_filter)number;
    }
    if (!vt_how_flag(&rescale, c, "do_rescale"))
        return vt_how_wrong(name, "do_rescale", "true or false");
    if (!vt_how_flag(&normalize, c, "do_normalize"))
        return vt_how_wrong(name, "do_normalize", "true or false");
    v = vt_json_get(c, "rescale_factor");
    if (!vt_how_absent(v) &&
        !(vt_json_number(&factor, v) && factor > 0 && factor < 1e6))
        return vt_how_wrong(name, "rescale_factor", "a number above zero");
    p->scale = rescale ? (float)factor : 1;
    VT_RET(vt_how_three(p->mean, c, "image_mean", name));
    VT_RET(vt_how_three(p->std, c, "image_std", name));
    VT_RET(vt_how_std(p, "image_std", name));
    for (int i = 0; i < 3 && !normalize; i++)
        p->mean[i] = 0, p->std[i] = 1;
    return VITCL_OK;
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

static vitcl_status hf_read_sizes(hf_sizes *out, const vt_processor *kind,
                                  const vt_json *c, uint32_t height,
                                  uint32_t width, const char *name)
{
    vitcl_status st = VITCL_OK;
    bool edge = false, square = !kind->number_shortest;
    const vt_json *v;
    uint32_t unit;
    /* A crop without a size: the processor's default, or the model's input. */
    hf_sizes s = {.h = kind->size,
                  .w = kind->size,
                  .crop_h = kind->crop_size ? kind->crop_size : height,
                  .crop_w = kind->crop_size ? kind->crop_size : width,
                  .resize = true,
                  .crop = kind->crop,
                  .shortest = kind->shortest};

    if (!vt_how_flag(&s.resize, c, "do_resize") ||
        !vt_how_flag(&s.crop, c, "do_center_crop") ||
        !vt_how_flag(&square, c, "default_to_square")) {
        st =
            vt_how_wrong(name, "do_resize, do_center_crop or default_to_square",
                         "true or false");
        goto done;
    }
    if (!kind->size) /* a processor for boxes: its pictures have any size */
        s.h = height, s.w = width;
    else
        VT_TRY(hf_size(&s.h, &s.w, &s.shortest, !square, c, "size", name));
    v = vt_json_get(c, "ensure_multiple_of");
    if (!vt_how_absent(v) &&
        (!vt_how_side(&unit, v) || s.h % unit || s.w % unit)) {
        st = vt_how_wrong(name, "ensure_multiple_of",
                          "a number that divides the size");
        goto done;
    }
    VT_TRY(hf_size(&s.crop_h, &s.crop_w, &edge, false, c, "crop_size", name));
    if (s.crop && edge) {
        st = vt_how_wrong(name, "crop_size",
                          "a number, [height, width] or {height, width}");
        goto done;
    }
    *out = s;
done:
    return st;
}

static vitcl_status hf_begin(const vt_processor **kind, const vt_json *c,
                             const vt_processor_list *of, const char *name)
{
    const vt_json *device = vt_json_get(c, "device");
    const char *word;

    if (c && !vt_json_is_object(c))
        return vt_fail(VITCL_ECORRUPT,
                       "%s: the preprocessor's config is not an object", name);
    VT_RET(hf_find(kind, c, of, name));
    VT_RET(vt_how_keys(c, (*kind)->patches ? patch_keys : hf_keys,
                       (*kind)->size ? NULL : box_keys, name));
    /* torchvision's resize on another one gives other pixels */
    if (!vt_how_absent(device) &&
        !(vt_json_string(&word, device) && strcmp(word, "cpu") == 0))
        VT_RET(vt_how_wrong(name, "device", "\"cpu\" or null"));
    return VITCL_OK;
}

vitcl_status vt_preprocess_hf_patches(uint32_t *patches,
                                      const vt_json *preprocessor,
                                      const vt_processor_list *of,
                                      uint32_t patch, const char *name)
{
    const vt_json *size = vt_json_get(preprocessor, "patch_size");
    const vt_json *most = vt_json_get(preprocessor, "max_num_patches");
    const vt_processor *kind = NULL;
    uint64_t n = 16;
    vitcl_status st;

    VT_TRY(hf_begin(&kind, preprocessor, of, name));
    *patches = kind->patches;
    if (!*patches)
        goto done;
    if ((!vt_how_absent(size) && !vt_json_uint(&n, size)) || n != patch)
        VT_TRY(vt_how_wrong(name, "patch_size", "the model's"));
    if (!vt_how_absent(most) && !vt_how_side(patches, most))
        st = vt_how_wrong(name, "max_num_patches", "a number above zero");
done:
    return st;
}

vitcl_status vt_preprocess_hf_size(uint32_t *height, uint32_t *width,
                                   const vt_json *preprocessor,
                                   const vt_processor_list *of,
                                   const char *name)
{
    const vt_processor *kind = NULL;
    hf_sizes s = {0};

    VT_RET(hf_begin(&kind, preprocessor, of, name));
    VT_RET(hf_read_sizes(&s, kind, preprocessor, 0, 0, name));
    if (s.crop)
        *height = s.crop_h, *width = s.crop_w;
    else if (s.resize && !s.shortest)
        *height = s.h, *width = s.w;
    else
        return vt_fail(
            VITCL_EUNSUPPORTED,
            "%s: the preprocessor does not make pictures of one size", name);
    return VITCL_OK;
}

vitcl_status vt_preprocess_hf(vt_preprocess *out, const vt_json *preprocessor,
                              const vt_processor_list *of, uint32_t height,
                              uint32_t width, const char *name)
{
    const vt_json *c = preprocessor;
    vt_preprocess p = {.height = height, .width = width};
    const vt_processor *kind = NULL;
    hf_sizes s = {0};

    VT_RET(vt_how_target(height, width));
    VT_RET(hf_begin(&kind, c, of, name));
    p.filter = kind->filter;
    p.pixels = vt_hf_pixels(c, false, NULL);
    p.on_white = kind->on_white;
    if (!vt_how_flag(&p.on_white, c, "do_convert_rgb"))
        return vt_how_wrong(name, "do_convert_rgb", "true or false");
    memcpy(p.mean, kind->mean, sizeof p.mean);
    memcpy(p.std, kind->std, sizeof p.std);
    VT_RET(hf_numbers(&p, c, name));
    VT_RET(hf_read_sizes(&s, kind, c, height, width, name));
    p.crop = s.crop ? VT_CROP_HF : VT_CROP_NONE;
    p.fit = !s.resize    ? VT_FIT_NONE
            : s.shortest ? VT_FIT_SHORTEST
                         : VT_FIT_SQUASH;
    hf_fit(&p, s.h, s.w, s.crop_h, s.crop_w);
    *out = p;
    return VITCL_OK;
}
