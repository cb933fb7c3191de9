/*
 * checkpoint.h - the state of a training on disk.
 *
 * In the run folder:
 *   config.json            the model, in timm's form; written once
 *   model.safetensors      its current weights (averaged with EMA): the folder
 *                          is a model that every command loads
 *   training.safetensors   everything the next step depends on: step,
 *                          param.<name>, adam.m.<name>, adam.v.<name>,
 *                          sgd.v.<name>, ema.<name>; and the notes;
 *                          unscored, if scoring was stopped
 *   training.json          the settings; written once
 *   best/                  the best model so far, if pictures are held out
 *   base/                  with LoRA: the model of the first step
 *
 * Each file is replaced whole by a rename, and resuming reads
 * training.safetensors alone. If the process is killed between the two renames,
 * the model is from one checkpoint and the state from the next; each is
 * complete.
 */
#ifndef VT_TRAIN_CHECKPOINT_H
#define VT_TRAIN_CHECKPOINT_H
#include "train/trainer.h"

/* What is reported of steps before a checkpoint; no step depends on it. */
typedef struct vt_notes {
    double steps, loss, accuracy; /* of this epoch: how many, and their sums */
    double best_epoch;            /* 0: none was scored */
    double best_accuracy, best_loss;
} vt_notes;

/* The last step of an epoch, saved before the held-out pictures were scored. */
typedef struct vt_unscored {
    bool due;
    double loss, accuracy; /* of the step, for its report */
} vt_unscored;

typedef struct vt_checkpoint {
    const char *folder;
    vt_trainer *trainer;
    vt_model *model; /* shapes, and tensors that are not trained */
    const vt_optimizer_config *optimizer;
    uint64_t random_state;
    vt_notes *notes;
    vt_unscored *unscored;
} vt_checkpoint;

/* step: number of completed steps. VITCL_EINVAL: a weight is not finite; the
 * files are as they were. Also of the next two. */
vitcl_status vt_checkpoint_save(const vt_checkpoint *c, long step);
/* Writes the model of a state that was loaded, where no step follows. A
 * training that was killed after it wrote that state left an older model. */
vitcl_status vt_checkpoint_model(const vt_checkpoint *c);
/* Writes the current model to the subfolder best/, which is complete or as it
 * was before. */
vitcl_status vt_checkpoint_best(const vt_checkpoint *c);
vitcl_status vt_checkpoint_load(long *step, const vt_checkpoint *c);
/* Is the model in best/ as it was written? If there is none, it is. */
vitcl_status vt_checkpoint_check_best(const char *folder);

#endif
