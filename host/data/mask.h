/*
 * mask.h - masked patch prediction: which patches are masked and what the model
 * predicts for them (Dosovitskiy et al. 2020, arXiv:2010.11929, B.1.2).
 *
 * Half of the patches are corrupted: 80 % of those become a learnt [mask]
 * embedding, 10 % a copy of another patch of the picture, 10 % stay unchanged.
 * For each of them the model predicts the mean colour, 3 bits a channel: 512
 * classes.
 */
#ifndef VT_DATA_MASK_H
#define VT_DATA_MASK_H
#include "base/random.h"
#include "image/image.h"

#define VT_COLOURS 512

/* How many patches out of `patches` are corrupted. */
int vt_mask_count(int patches);
/* source[patches]: input of vt_mask_patches(). asked[patches]: 1 for each
 * corrupted patch (also if it stays unchanged), else 0. */
vitcl_status vt_mask_choose(int32_t *source, uint8_t *asked, int patches,
                            vt_random *r);
/* colour[patches]: the colour class of each patch of patch_h x patch_w pixels,
 * row by row. */
void vt_mask_colours(int32_t *colour, const vt_picture *p, int patch_h,
                     int patch_w);
/* out[rows, 512]: one-hot with label smoothing; zeros where colour < 0. */
void vt_mask_targets(float *out, const int32_t *colour, size_t rows,
                     double smoothing);

#endif
