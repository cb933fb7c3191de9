/*
 * checkpoint.h - a training on disk, so that it can be looked at and go on.
 *
 * In the training's folder:
 *   config.json            the model, in timm's form; written once
 *   model.safetensors      its weights now (averaged ones with EMA): the folder
 *                          is a model that every command loads
 *   training.safetensors   all that the next step depends on: step,
 *                          param.<name>, adam.m.<name>, adam.v.<name>,
 *                          sgd.v.<name>, ema.<name>
 *   training.json          the settings; written once
 *
 * Each file appears whole by a rename, and going on reads
 * training.safetensors alone: a process that is killed between the two leaves
 * a model of one checkpoint beside the state of the next, each whole.
 */
#ifndef VT_TRAIN_CHECKPOINT_H
#define VT_TRAIN_CHECKPOINT_H
#include "train/trainer.h"

typedef struct vt_checkpoint {
    const char *folder;
    vt_trainer *trainer;
    vt_model *model; /* shapes, and what does not train */
    const vt_optimizer_config *recipe;
    uint64_t random_state;
} vt_checkpoint;

/* step: how many are done. */
vitcl_status vt_checkpoint_save(const vt_checkpoint *c, long step);
vitcl_status vt_checkpoint_load(long *step, const vt_checkpoint *c);
/* What the optimiser keeps, NULL-ended; the first is "": the parameter. */
const char *const *vt_checkpoint_kinds(const vt_optimizer_config *r);

#endif
