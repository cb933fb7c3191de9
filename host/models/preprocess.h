/*
 * preprocess.h - how a checkpoint's original library prepares pictures.
 * Inference, training and conversion all use this.
 */
#ifndef VT_MODELS_PREPROCESS_H
#define VT_MODELS_PREPROCESS_H
#include "image/image.h"
#include "models/model.h"

/* How m's pictures are prepared for height x width; 0 and 0: as the model's
 * library does, in NaFlex models each with an own grid of patches. */
vitcl_status vt_model_preprocess(vt_preprocess *out, const vt_model *m,
                                 uint32_t height, uint32_t width);
/* Whose resize they get, whatever m's files say. */
void vt_model_choose_pixels(vt_model *m, vt_pixels pixels);
/* Whose they get: Pillow's where the preprocessing is not known. */
vt_pixels vt_model_pixels(const vt_model *m);
/* NaFlex: the most patches of a picture; 0: pictures have one size. */
int vt_model_patches(const vt_model *m);
vitcl_status vt_model_choose_patches(vt_model *m, uint32_t most);
/* The default picture size; of NaFlex models the largest square. */
void vt_model_input(uint32_t *height, uint32_t *width, const vt_model *m);

#endif
