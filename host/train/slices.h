/*
 * slices.h - the gradients of a batch, in an order of sums that does not depend
 * on how many processes compute them.
 *
 * A batch is cut into slices of equally many pictures; how many is a power of
 * two and a multiple of the number of ranks. The gradients of each are computed
 * alone and added up by one balanced binary tree, whose leaves are the slices
 * in the order of their pictures. A rank computes consecutive slices, an
 * aligned subtree; vt_ranks_sum() adds the rest of the tree.
 */
#ifndef VT_TRAIN_SLICES_H
#define VT_TRAIN_SLICES_H
#include "train/ranks.h"
#include "train/trainer.h"

typedef struct vt_slices vt_slices;

vitcl_status vt_slices_new(vt_slices **out, vt_trainer *trainer,
                           const vt_ranks *ranks);
void vt_slices_free(vt_slices *s);
/* The trainer's gradients are those of this rank's next slice; they become
 * zeros. */
vitcl_status vt_slices_add(vt_slices *s);
/* After this rank's last: the trainer's gradients become those of the batch. */
vitcl_status vt_slices_total(vt_slices *s);

#endif
