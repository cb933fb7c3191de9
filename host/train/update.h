/*
 * update.h - the part of a training's plan that changes the parameters.
 */
#ifndef VT_TRAIN_UPDATE_H
#define VT_TRAIN_UPDATE_H
#include "train/trainer.h"

/* Append the steps that update param[n], whose gradients the plan has: the norm
 * and clipping, the optimiser, the average. Puts them in slabs, those of one
 * weight decay together: each slab is one launch of each kernel.
 * hyper[VT_HYPER] as in ops.h. The plan keeps an error of its own. */
vitcl_status vt_update_add(vt_plan *p, const vt_optimizer_config *config,
                           const vt_val *param, size_t n, vt_val hyper);

#endif
