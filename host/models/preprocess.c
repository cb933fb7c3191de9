/*
 * preprocess.c - see preprocess.h.
 *
 *   timm          its config's pretrained_cfg, or the same keys outside of it
 *   Hugging Face  the image processor's file; without one the defaults of
 *                 transformers for the model's type
 *   Google        .npz files: bilinear resize without keeping the aspect ratio,
 *                 mean and standard deviation 0.5
 *
 * If a folder has files of both libraries, its config.json decides.
 */
#include "models/preprocess.h"

#include <string.h>

vitcl_status vt_model_preprocess(vt_preprocess *out, const vt_model *m,
                                 uint32_t height, uint32_t width)
{
    const vt_config *c = vt_model_config(m);

    if (c->source == VT_SOURCE_TIMM && vt_model_json(m))
        return vt_preprocess_timm(out, vt_model_json(m), height, width,
                                  c->name);
    if (c->source == VT_SOURCE_HF)
        return vt_preprocess_hf(out, vt_model_preprocessor(m), vt_model_type(m),
                                height, width, c->name);
    vt_preprocess_default(out, height, width);
    return VITCL_OK;
}

void vt_model_input(uint32_t *height, uint32_t *width, const vt_model *m)
{
    const vt_config *c = vt_model_config(m);
    uint32_t h = 0, w = 0;

    *height = (uint32_t)c->height;
    *width = (uint32_t)c->width_px;
    /* HF's models that accept any size by default use the processor's size:
     * DINOv2 was trained at 518, and its published processor has 224. */
    if (c->source != VT_SOURCE_HF || strcmp(c->family, "dinov2") != 0 ||
        !vt_model_preprocessor(m) ||
        vt_preprocess_hf_size(&h, &w, vt_model_preprocessor(m),
                              vt_model_type(m), c->name) != VITCL_OK ||
        !vt_model_tokens(m, (int)h, (int)w))
        return;
    *height = h;
    *width = w;
}
