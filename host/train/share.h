/*
 * share.h - which pictures of a batch a slice has, and a pass over a slice.
 *
 * Slice i of a batch of n pictures and S slices has the pictures from
 * floor(i n / S) up to floor((i + 1) n / S). Every slice takes equally many
 * passes of equally many rows: those without a picture have no target and so no
 * weight in the loss, and their gradients are zeros. A slice may be empty.
 */
#ifndef VT_TRAIN_SHARE_H
#define VT_TRAIN_SHARE_H
#include "data/batches.h"

typedef struct vt_share {
    uint32_t pictures, slices, micro; /* micro: rows of a pass */
} vt_share;

/* Where a slice begins. */
uint32_t vt_share_begin(const vt_share *s, uint32_t slice);
/* The pictures of the longest slice. */
uint32_t vt_share_longest(const vt_share *s);
/* The passes over a slice. */
uint32_t vt_share_passes(const vt_share *s);
/* *at: the first picture of a pass of the batch. Returns how many it has. */
uint32_t vt_share_pass(uint32_t *at, const vt_share *s, uint32_t pass);

typedef struct vt_filled {
    float *pixels, *targets;
    int32_t *source, *colour;
    uint32_t micro;
    size_t picture, classes, patches; /* elements */
} vt_filled;
vitcl_status vt_filled_new(vt_filled *out, const vt_batches_options *feed,
                           uint32_t micro);
void vt_filled_free(vt_filled *f);
/* *out: n pictures of b, 1 to micro, and empty rows behind them. It uses the
 * memory of f and b. */
void vt_filled_take(vt_batch *out, vt_filled *f, const vt_batch *b, uint32_t at,
                    uint32_t n);

#endif
