/*
 * preprocess.c - chooses the file that says how pictures are prepared:
 *
 *   timm          its config's pretrained_cfg, or the same keys outside of it
 *   open_clip     as timm, but the resize comes before RGB
 *   Hugging Face  the image processor's file; without one the defaults of
 *                 transformers for the model's type
 *   Google        .npz files: bilinear resize without keeping the aspect ratio,
 *                 mean and standard deviation 0.5
 *
 * If a folder has files of both libraries, its config.json decides.
 */
#include "models/preprocess.h"
#include "models/model_private.h"

#include "base/memory.h"
#include "models/config.h"
#include "models/family.h"
#include "weights/sidecar.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of its class, where the files do not name one. */
static const char *processor(const vt_model *m)
{
    const vt_hf_class *k = vt_hf_class_of(m->config.family, m->type);

    return k && k->processor ? k->processor : m->type;
}

vitcl_status vt_model_preprocess(vt_preprocess *out, const vt_model *m,
                                 uint32_t height, uint32_t width)
{
    const vt_source source = vt_model_config(m)->source;
    vitcl_status st = VITCL_OK;
    vt_preprocess p = {.pixels = VT_PIXELS_PILLOW};
    char *file = NULL;
    const bool any = !height && !width;

    if (any)
        vt_model_input(&height, &width, m);
    VT_TRY(vt_path_beside(
        &file, m->path,
        source == VT_SOURCE_HF && m->preprocessor ? m->processor_name
        : vt_json_get(m->json, "open_clip")       ? "open_clip_config.json"
                                                  : "config.json"));
    if (source == VT_SOURCE_TIMM &&
        strcmp(vt_config_text(m->json, "model_type"), "timm_wrapper") == 0 &&
        !vt_json_is_object(vt_json_get(m->json, "pretrained_cfg")))
        st = vt_fail(VITCL_EUNSUPPORTED,
                     "%s: this timm wrapper of transformers has no "
                     "pretrained_cfg, which says how pictures are prepared",
                     file);
    else if (source == VT_SOURCE_TIMM && m->json)
        st = vt_preprocess_timm(&p, m->json, height, width, file);
    else if (source == VT_SOURCE_HF)
        st = vt_preprocess_hf(&p, m->preprocessor, VT_PROCESSORS(processor(m)),
                              height, width, file);
    else
        vt_preprocess_default(&p, height, width);
    VT_TRY(st);
    if (source == VT_SOURCE_HF)
        p.pixels = vt_hf_pixels(m->preprocessor,
                                m->preprocessor != m->processor_file, m->json);
    if (m->pixels_chosen)
        p.pixels = m->pixels;
    if (vt_json_get(m->json, "open_clip")) {
        uint64_t fill = 0;

        p.own_mode = p.pixels == VT_PIXELS_PILLOW;
        vt_json_uint(&fill, vt_json_get(m->json, "fill_color"));
        memset(p.fill, (int)fill, sizeof p.fill);
    }
    p.grey = m->config.grey;
    if (p.grey && (p.mean[0] != p.mean[1] || p.mean[0] != p.mean[2] ||
                   p.std[0] != p.std[1] || p.std[0] != p.std[2]))
        VT_TRY(vt_fail(VITCL_EUNSUPPORTED,
                       "%s: mean and std of colours, but the model reads one "
                       "channel; give it one number each",
                       file));
    VT_TRY(vt_preprocess_check(&p, file));
    if (any && m->config.budget && p.fit == VT_FIT_NONE)
        VT_TRY(vt_fail(VITCL_EUNSUPPORTED,
                       "%s: pictures of any aspect ratio that are not resized "
                       "(\"do_resize\": false) are not supported; choose one "
                       "size (--size)",
                       file));
    if (any && m->config.budget && source == VT_SOURCE_HF)
        VT_TRY(vt_preprocess_hf_patches(&height, m->preprocessor,
                                        VT_PROCESSORS(processor(m)),
                                        (uint32_t)m->config.patch_h, file));
    if (any && vt_model_patches(m))
        vt_preprocess_any(&p, (uint32_t)m->config.patch_h,
                          (uint32_t)vt_model_patches(m));
    *out = p;
done:
    free(file);
    return st;
}

void vt_model_choose_pixels(vt_model *m, vt_pixels pixels)
{
    m->pixels_chosen = true;
    m->pixels = pixels;
}

int vt_model_patches(const vt_model *m)
{
    const vt_config *c = &m->config;
    uint32_t n = 0;

    if (!c->budget || m->patches)
        return (int)m->patches;
    if (c->source == VT_SOURCE_HF &&
        vt_preprocess_hf_patches(&n, m->preprocessor,
                                 VT_PROCESSORS(processor(m)),
                                 (uint32_t)c->patch_h, m->path) == VITCL_OK &&
        n)
        return (int)n;
    return c->budget;
}

vitcl_status vt_model_choose_patches(vt_model *m, uint32_t most)
{
    if (!m->config.budget)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: pictures of a %s have one size; only NaFlex models "
                       "have a number of patches",
                       m->path, vt_model_looks(m));
    if (most < 1 || most > VT_MOST_PIXELS)
        return vt_fail(VITCL_EINVAL,
                       "%u patches per picture: 1 to %d are possible", most,
                       VT_MOST_PIXELS);
    m->patches = most;
    return VITCL_OK;
}

vt_pixels vt_model_pixels(const vt_model *m)
{
    const vt_config *c = vt_model_config(m);
    vt_preprocess p = {.pixels = VT_PIXELS_PILLOW};

    (void)vt_model_preprocess(&p, m, (uint32_t)c->height,
                              (uint32_t)c->width_px);
    return p.pixels;
}

void vt_model_input(uint32_t *height, uint32_t *width, const vt_model *m)
{
    const vt_config *c = vt_model_config(m);
    uint32_t h = 0, w = 0;

    *height = (uint32_t)c->height;
    *width = (uint32_t)c->width_px;
    if (c->budget) {
        const double side = floor(sqrt((double)vt_model_patches(m)));

        *height = (uint32_t)(side * c->patch_h);
        *width = (uint32_t)(side * c->patch_w);
        return;
    }
    /* HF's models that accept any size by default use the processor's size:
     * DINOv2 was trained at 518, and its published processor has 224. */
    if (c->source != VT_SOURCE_HF || !c->family->processor_size ||
        !vt_model_preprocessor(m) ||
        vt_preprocess_hf_size(&h, &w, vt_model_preprocessor(m),
                              VT_PROCESSORS(processor(m)),
                              c->name) != VITCL_OK ||
        !vt_model_tokens(m, (int)h, (int)w))
        return;
    *height = h;
    *width = w;
}
