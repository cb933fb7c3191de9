/*
 * preprocess.h - how a checkpoint's own library would prepare its pictures: the
 * one place that decides, for answers, training and conversion alike.
 */
#ifndef VT_MODELS_PREPROCESS_H
#define VT_MODELS_PREPROCESS_H
#include "image/image.h"
#include "models/model.h"

/* How m's pictures are prepared for height x width. */
vitcl_status vt_model_preprocess(vt_preprocess *out, const vt_model *m,
                                 uint32_t height, uint32_t width);
/* The size that its pictures have where nobody asks for another. */
void vt_model_input(uint32_t *height, uint32_t *width, const vt_model *m);

#endif
