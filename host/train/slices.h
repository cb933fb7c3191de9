/*
 * slices.h - the gradients of a batch, in an order of sums that does not depend
 * on how many processes compute them.
 *
 * A batch is cut into slices of equally many pictures; how many is a power of
 * two and a multiple of the number of ranks. The gradients of each are computed
 * alone and added up by one balanced binary tree, whose leaves are the slices
 * in the order of their pictures. A rank computes consecutive slices, an
 * aligned subtree; vt_ranks_sum() adds the rest of the tree.
 *
 * Gradients are summed over the ranks in buckets, in the order in which the
 * backward pass completes them, on a thread of its own: that of a rank's last
 * slice goes on meanwhile. A bucket's numbers are added up in the same order as
 * they would be alone.
 */
#ifndef VT_TRAIN_SLICES_H
#define VT_TRAIN_SLICES_H
#include "train/ranks.h"
#include "train/trainer.h"

typedef struct vt_slices vt_slices;

vitcl_status vt_slices_new(vt_slices **out, vt_trainer *trainer,
                           const vt_ranks *ranks);
/* Waits for sums that have begun: the other ranks take part in them, or mpirun
 * ends this one. */
void vt_slices_free(vt_slices *s);
/* The trainer's gradients are those of this rank's next slice, but not of its
 * last; they become zeros. */
vitcl_status vt_slices_add(vt_slices *s);
/* For the pass that completes this rank's last slice: where its buckets are
 * complete, and what to call then. NULL: alone, nothing is to be gained. */
const vt_halts *vt_slices_halts(vt_slices *s);
/* After this rank's last slice: the trainer's gradients become those of the
 * batch. Until then, only the sums may use MPI. */
vitcl_status vt_slices_total(vt_slices *s);

#endif
