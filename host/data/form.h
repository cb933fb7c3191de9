/*
 * form.h - how a dataset's pictures look, to choose how they may be changed.
 */
#ifndef VT_DATA_FORM_H
#define VT_DATA_FORM_H
#include "data/dataset.h"

/* *out: how far pictures differ from their mirror images in the same way as
 * others of their class: 0 not at all, as photographs of animals; 1 entirely.
 * Letters and digits have 0.05 to 0.5. Decodes up to 512 pictures. */
vitcl_status vt_dataset_asymmetry(double *out, const vt_dataset *d);
/* Above this, flipped pictures are of no class of the data. */
#define VT_ASYMMETRIC 0.03

#endif
