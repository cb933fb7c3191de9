/*
 * loop_state.h - what loop.c and loop_open.c know of a training that runs.
 */
#ifndef VT_TRAIN_LOOP_STATE_H
#define VT_TRAIN_LOOP_STATE_H
#include "data/batches.h"
#include "train/checkpoint.h"
#include "train/loop.h"
#include "train/score.h"
#include "train/share.h"
#include "train/slices.h"

/* What a rank tells the others of a micro-batch. */
typedef struct vt_micro_result {
    double loss;
    uint64_t right;
} vt_micro_result;

typedef struct vt_loop {
    const vt_training *job;
    const vt_ranks *ranks;
    const vt_settings *s;
    vt_model *model;
    vt_trainer *trainer;
    vt_optimizer_config optimizer;
    vt_schedule schedule;
    vt_checkpoint checkpoint;
    vt_notes notes;
    vt_unscored unscored;
    vt_batches_options feed;
    vt_batches *batches;
    size_t *chosen, trained; /* the trained ones, then those held out */
    size_t *val;             /* all of job->val */
    vt_held_out held;        /* of no pictures: none are scored */
    vt_answers answers;
    vt_slices *slices;           /* NULL: the trainer's sums are the batch's */
    vt_micro_result *mine, *all; /* this rank's of a step, and those of all */
    uint32_t passes;             /* of this rank */
    vt_share share;
    vt_filled filled;
    long steps, epoch_steps;
} vt_loop;

/* The model, the trainer and the pictures, as at the first step. */
vitcl_status vt_loop_open(vt_loop *l, const vt_training *job);
void vt_loop_close(vt_loop *l);

#endif
