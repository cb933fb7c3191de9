/*
 * preprocess.c - see preprocess.h.
 *
 *   timm          its config's pretrained_cfg, or the same words outside of one
 *   Hugging Face  the image processor's file; without one what transformers
 *                 does by default for the model's type
 *   Google        the .npz files' own: a squash, bilinear, mean and deviation
 *                 of one half
 *
 * A folder with both libraries' files is that of the library that its
 * config.json is written for.
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
    /* Of HF's models those that take any size unasked run at the processor's:
     * DINOv2 was trained at 518 and is published with a processor of 224. */
    if (c->source != VT_SOURCE_HF || strcmp(c->family, "dinov2") != 0 ||
        !vt_model_preprocessor(m) ||
        vt_preprocess_hf_size(&h, &w, vt_model_preprocessor(m),
                              vt_model_type(m), c->name) != VITCL_OK ||
        !vt_model_tokens(m, (int)h, (int)w))
        return;
    *height = h;
    *width = w;
}
