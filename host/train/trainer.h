/*
 * trainer.h - one plan that computes gradients and updates parameters.
 *
 *   forward, loss, backward      once a micro-batch; gradients add up
 *   norm, clip, optimiser, EMA   once a step; leaves the gradients at zero
 *
 * The parameters live in a store of the trainer's own, so that they can
 * change; the model that they came from does not.
 */
#ifndef VT_TRAIN_TRAINER_H
#define VT_TRAIN_TRAINER_H
#include "models/model.h"

typedef enum { VT_SGD, VT_ADAM, VT_ADAMW } vt_optimizer;

typedef struct vt_optimizer_config {
    vt_optimizer optimizer;
    double momentum;           /* SGD */
    double beta1, beta2, eps;  /* Adam, AdamW */
    double weight_decay;       /* AdamW: decoupled; else in the gradient */
    bool decay_matrices;       /* ... of layers' weights alone: no biases,
                                * norms, tokens, positions */
    double clip_norm;          /* global norm; 0: none */
    double label_smoothing;    /* for vt_targets() */
    double ema;                /* 0: none */
    double dropout, drop_path; /* shares that fall */
    int micro_batches;         /* gradients of so many make a step; 0: 1 */
    const char *const *freeze; /* patterns of parameters that stay */
} vt_optimizer_config;

/* Keys as torch spells them: optimizer ("adamw", "adam", "sgd"), betas, eps,
 * momentum, weight_decay, clip_grad_norm, label_smoothing. */
vitcl_status vt_optimizer_config_read(vt_optimizer_config *out,
                                      const vt_json *settings,
                                      const char *name);
/* The same, where what the settings leave out stays as it is. */
vitcl_status vt_optimizer_config_change(vt_optimizer_config *out,
                                        const vt_json *settings,
                                        const char *name);

/* VITCL_ECORRUPT unless the settings are an object whose keys are all a
 * recipe's or in more[] (NULL-ended): a misspelt key must not pass for one that
 * was left out. */
vitcl_status vt_optimizer_config_keys(const vt_json *settings,
                                      const char *const *more,
                                      const char *name);
/* A string that may be left out: *out stays; another type is an error. */
vitcl_status vt_optimizer_config_word(const char **out, const vt_json *settings,
                                      const char *key, const char *name);

typedef struct vt_trainer vt_trainer;
typedef struct vt_trainer_options {
    vt_dev *dev;
    const char *gemm;
    vitcl_precision precision;
    int batch, height, width;
    unsigned random_state;
    bool exact;  /* vt_plan_options: for comparisons */
    bool masked; /* masked patch prediction (mask.h): K is 512 colours, and
                  * a picture has a row of targets for each patch */
} vt_trainer_options;
vitcl_status vt_trainer_new(vt_trainer **out, vt_model *model,
                            const vt_optimizer_config *recipe,
                            const vt_trainer_options *options);
void vt_trainer_free(vt_trainer *t);
int vt_trainer_classes(const vt_trainer *t);
/* Rows of targets and logits a picture: 1, or its patches. */
int vt_trainer_rows(const vt_trainer *t);

/* Masked: which patches the next batch sees; source[B,N] as vt_mask_patches().
 */
vitcl_status vt_trainer_corrupt(vt_trainer *t, const int32_t *source);
/* pixels[B,3,H,W], targets[B,K] (rows that sum to 1; masked: [B,N,K], rows of
 * zeros where nothing is asked) -> this batch's loss; its gradients are added
 * to those since the last update. */
vitcl_status vt_trainer_batch(double *loss, vt_trainer *t, const float *pixels,
                              const float *targets);
/* The same without gradients: nothing changes. */
vitcl_status vt_trainer_evaluate(double *loss, vt_trainer *t,
                                 const float *pixels, const float *targets);
/* The last batch's logits, [B,K] or [B,N,K]. */
vitcl_status vt_trainer_logits(float *out, vt_trainer *t);
/* After a loss that is not finite: run the batch again, step by step, and name
 * the first step whose output is not ("nothing" if none is). */
vitcl_status vt_trainer_blame(char *out, size_t size, vt_trainer *t);
/* The next batch is the first of this step: decides what falls. */
void vt_trainer_begin(vt_trainer *t, long step);
/* One step of the optimiser; `step` counts from 0. */
vitcl_status vt_trainer_update(vt_trainer *t, double lr, long step);

/* Trained parameters, in the plan's order: name, elements. */
size_t vt_trainer_parameters(const vt_trainer *t);
const vt_value *vt_trainer_parameter(const vt_trainer *t, size_t index);
/* What the optimiser keeps of it, "" for the parameter itself: "grad",
 * "adam.m", "adam.v", "sgd.v", "ema"; VITCL_EINVAL if it keeps none. */
vitcl_status vt_trainer_read(float *out, vt_trainer *t, size_t index,
                             const char *kind);
vitcl_status vt_trainer_write(vt_trainer *t, size_t index, const char *kind,
                              const float *data);
vt_plan_memory vt_trainer_memory(const vt_trainer *t);

/* One-hot targets with label smoothing: (1 - s) on the label, s / K on all. */
void vt_targets(float *out, const int64_t *label, int batch, int classes,
                double smoothing);

#endif
