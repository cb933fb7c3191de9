/*
 * loop.h - epochs over labelled pictures, with checkpoints.
 */
#ifndef VT_TRAIN_LOOP_H
#define VT_TRAIN_LOOP_H
#include "data/batches.h"
#include "train/ranks.h"
#include "train/score.h"
#include "train/settings.h"

typedef struct vt_training {
    vt_dev *dev;
    const char *gemm,
        *folder; /* folder: the run folder, with a loadable model */
    const vt_settings *settings;
    const vt_dataset *data;
    const vt_dataset *val; /* NULL: none */
    const uint32_t
        *val_label; /* vt_score_match()'s; NULL with masked patches */
    bool resume;
    uint32_t workers, checkpoint_steps;
    vitcl_train_report report;
    vitcl_train_show show; /* NULL: nobody sees the first batch */
    vitcl_train_show preview,
        predicted; /* as in vitcl_train_options; NULL: nobody sees them */
    vitcl_progress scoring; /* NULL, or called while pictures are scored */
    void *context;
    /* Called before the first step, when nothing is wrong any more with what
     * was given: what is only worth knowing comes after errors. */
    vitcl_status (*begins)(void *with);
    void *with;
    const vt_ranks *ranks; /* only rank 0 writes, and calls the functions */
    bool *kept;            /* set once a checkpoint with steps is saved */
} vt_training;

/* show.c: calls job->show with the batch of a step, the first being 0.
 * VITCL_ESTOPPED where that ends the training. */
vitcl_status vt_training_show(const vt_training *job,
                              const vt_batches_options *f, const vt_batch *b,
                              long step);

/* Calls job->preview with the first picture of the batches. */
vitcl_status vt_training_preview(const vt_training *job,
                                 const vt_batches_options *f);
/* Calls job->predicted with the model's answers about some of these pictures,
 * or, if there are none, of the batches'. */
vitcl_status vt_training_predicted(const vt_training *job, vt_answers *a,
                                   const vt_held_out *h, uint64_t step);

vitcl_status vt_train(vitcl_train_event *out, const vt_training *job);

#endif
