/*
 * update.h - the part of a training's plan that changes the parameters.
 */
#ifndef VT_TRAIN_UPDATE_H
#define VT_TRAIN_UPDATE_H
#include "train/trainer.h"

/* scale[values of the plan]: of each parameter's learning rate, decay to the
 * power of the layers between its own and the head, as in timm's
 * param_groups_layer_decay() and BEiT (arXiv:2106.08254). The stem is the first
 * layer, then each block is one; the head is the last, with every parameter
 * that belongs to no other. */
void vt_layer_scales(double *scale, const vt_plan *p, double decay);

/* Append the steps that update param[n], whose gradients the plan has: the norm
 * (*norm: before clipping), the optimiser, the average. Puts them in slabs,
 * those of one weight decay and learning rate together: each slab is one launch
 * of each kernel. hyper[VT_HYPER] as in ops.h. The plan keeps an error of its
 * own. */
vitcl_status vt_update_add(vt_val *norm, vt_plan *p,
                           const vt_optimizer_config *config,
                           const vt_val *param, size_t n, vt_val hyper);

#endif
