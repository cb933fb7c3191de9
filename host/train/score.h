/*
 * score.h - the answers of a training's model: to micro-batches while it
 * trains, and to held-out pictures after an epoch.
 */
#ifndef VT_TRAIN_SCORE_H
#define VT_TRAIN_SCORE_H
#include "data/batches.h"
#include "train/certainty.h"
#include "train/ranks.h"
#include "train/trainer.h"

typedef struct vt_score_sums {
    uint64_t right, right5; /* the label is the best answer, or of five */
    double loss;            /* sum of -log softmax at the labels */
    double detail;          /* of one held-out picture */
} vt_score_sums;

typedef struct vt_answers {
    vt_trainer *trainer; /* borrowed */
    uint32_t micro;      /* pictures of a micro-batch */
    size_t rows, asked;  /* rows a picture, and rows to predict */
    bool masked;
    double smoothing;
    float *logits, *targets; /* targets: a micro-batch's masked patches */
    float **raw;             /* parameters, while averages are in their place */
} vt_answers;

vitcl_status vt_answers_new(vt_answers *out, vt_trainer *trainer,
                            uint32_t micro, bool masked, double smoothing);
void vt_answers_free(vt_answers *a);

/* The targets of the micro-batch b. With masked patches, also tells the trainer
 * which are masked. */
vitcl_status vt_answers_begin(const float **targets, vt_answers *a,
                              const vt_batch *b);
/* For the first n pictures of the last micro-batch: adds right answers. */
vitcl_status vt_answers_count(vt_score_sums *out, vt_answers *a,
                              const float *targets, uint32_t n);

typedef struct vt_held_out {
    const vt_batches_options *feed; /* of the training */
    const vt_dataset *d;
    const size_t *chosen; /* [count] of its pictures */
    size_t count;
    const uint32_t *label;   /* the class of each label of d; NULL: the same */
    const vt_ranks *ranks;   /* each scores a part */
    bool averages;           /* score the averages of the parameters */
    vt_evidence *evidence;   /* takes logits and detail; may be NULL */
    vitcl_progress progress; /* NULL, or called after each micro-batch */
    void *context;
} vt_held_out;
/* Scores these pictures; all ranks get the sums. VITCL_ESTOPPED where rank 0's
 * progress() ends it. In both cases the trainer is as before afterwards, bit by
 * bit. */
vitcl_status vt_score_held_out(vt_score_sums *out, vt_answers *a,
                               const vt_held_out *h);

/* Masked patches: colour[micro * rows], the best answer for each patch of this
 * batch; `averages` as above. */
vitcl_status vt_score_colours(int32_t *colour, vt_answers *a, const vt_batch *b,
                              bool averages);

/* *out: for each class of val, the class of data with that name; the caller
 * frees it. VITCL_EINVAL unless both have the same classes. */
vitcl_status vt_score_match(uint32_t **out, const vt_dataset *val,
                            const vt_dataset *data);

#endif
