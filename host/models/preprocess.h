/*
 * preprocess.h - how a checkpoint's original library prepares pictures.
 * Inference, training and conversion all use this.
 */
#ifndef VT_MODELS_PREPROCESS_H
#define VT_MODELS_PREPROCESS_H
#include "image/image.h"
#include "models/model.h"

/* How m's pictures are prepared for height x width. */
vitcl_status vt_model_preprocess(vt_preprocess *out, const vt_model *m,
                                 uint32_t height, uint32_t width);
/* The default picture size. */
void vt_model_input(uint32_t *height, uint32_t *width, const vt_model *m);

#endif
