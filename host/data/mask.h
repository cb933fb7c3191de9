/*
 * mask.h - masked patch prediction: what is hidden of a picture, and what
 * is asked about it (Dosovitskiy et al. 2020, arXiv:2010.11929, B.1.2).
 *
 * Half of the patches are corrupted: 80 % of those become a learnt [mask]
 * embedding, 10 % another patch of the picture, 10 % stay as they are. The
 * model says the mean colour of each, in 3 bits a channel: one of 512 classes.
 */
#ifndef VT_DATA_MASK_H
#define VT_DATA_MASK_H
#include "base/random.h"
#include "image/image.h"

#define VT_COLOURS 512

/* How many of so many patches are corrupted. */
int vt_mask_count(int patches);
/* source[patches]: as vt_mask_patches() takes it; asked[patches]: 1 where a
 * patch is corrupted (also where it stays as it is), else 0. */
vitcl_status vt_mask_choose(int32_t *source, uint8_t *asked, int patches,
                            vt_random *r);
/* colour[patches]: the class of each patch_h x patch_w pixels, row by row. */
void vt_mask_colours(int32_t *colour, const vt_picture *p, int patch_h,
                     int patch_w);
/* out[rows, 512]: one-hot with label smoothing; 0 where colour is below 0. */
void vt_mask_targets(float *out, const int32_t *colour, size_t rows,
                     double smoothing);

#endif
