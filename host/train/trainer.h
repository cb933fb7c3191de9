/*
 * trainer.h - one plan that computes gradients and updates parameters.
 *
 *   forward, loss, backward      for each micro-batch; gradients add up
 *   norm, clip, optimiser, EMA   once a step; then gradients are zeroed
 *
 * The trainer changes its own store of parameters; the model stays unchanged.
 */
#ifndef VT_TRAIN_TRAINER_H
#define VT_TRAIN_TRAINER_H
#include "models/model.h"

typedef enum { VT_SGD, VT_ADAM, VT_ADAMW } vt_optimizer;

typedef struct vt_optimizer_config {
    vt_optimizer optimizer;
    double momentum;          /* SGD */
    double beta1, beta2, eps; /* Adam, AdamW */
    double weight_decay;      /* AdamW: decoupled; else added to the gradient */
    bool decay_matrices;      /* decay layers' weights only: no biases, norms,
                                 tokens, positions */
    double clip_norm;         /* limit of the global norm; 0: off */
    double label_smoothing;   /* for vt_targets() */
    double ema;               /* 0: none */
    double layer_decay;       /* update.h; 0: none */
    int lora;                 /* rank (lora.h); 0: none */
    double lora_alpha;        /* 0: the rank */
    double dropout, drop_path; /* probabilities of dropping */
    int micro_batches;         /* micro-batches a step; 0: 1 */
    const char *const *freeze; /* patterns of parameters not to train */
} vt_optimizer_config;

/* Keys as torch spells them: optimizer ("adamw", "adam", "sgd"), betas, eps,
 * momentum, weight_decay, clip_grad_norm, label_smoothing, lora_alpha. */
vitcl_status vt_optimizer_config_read(vt_optimizer_config *out,
                                      const vt_json *settings,
                                      const char *name);
/* The same; what the settings leave out is unchanged. */
vitcl_status vt_optimizer_config_change(vt_optimizer_config *out,
                                        const vt_json *settings,
                                        const char *name);

/* VITCL_ECORRUPT unless the settings are an object whose keys are all optimiser
 * settings or in more[] (NULL-ended), so that a misspelt key is not taken for a
 * missing one. */
vitcl_status vt_optimizer_config_keys(const vt_json *settings,
                                      const char *const *more,
                                      const char *name);
/* VITCL_ECORRUPT if a key is one that this optimiser does not read. */
vitcl_status vt_optimizer_config_used(const vt_optimizer_config *c,
                                      const vt_json *settings,
                                      const char *name);
/* An optional string: *out is unchanged if it is missing; another type is an
 * error. */
vitcl_status vt_optimizer_config_word(const char **out, const vt_json *settings,
                                      const char *key, const char *name);

/* The factor of LoRA's product. */
double vt_optimizer_config_lora(const vt_optimizer_config *c);

typedef struct vt_trainer vt_trainer;
typedef struct vt_trainer_options {
    vt_dev *dev;
    const char *gemm;
    vitcl_precision precision;
    int batch, height, width;
    int pictures; /* of a step, by which its loss is divided; 0: batch times the
                     micro-batches, of which none has an empty row */
    unsigned random_state;
    bool exact;  /* vt_plan_options: for comparisons */
    bool masked; /* masked patch prediction (mask.h): K is 512 colours, and each
                    patch has a row of targets */
} vt_trainer_options;
vitcl_status vt_trainer_new(vt_trainer **out, vt_model *model,
                            const vt_optimizer_config *optimizer,
                            const vt_trainer_options *options);
void vt_trainer_free(vt_trainer *t);
int vt_trainer_classes(const vt_trainer *t);
/* Rows of targets and logits per picture: 1, or its patches. */
int vt_trainer_rows(const vt_trainer *t);

/* Masked: patches of the next batch; source[B,N] as in vt_mask_patches(). */
vitcl_status vt_trainer_corrupt(vt_trainer *t, const int32_t *source);
/* pixels[B,3,H,W], targets[B,K] (rows sum to 1; masked: [B,N,K], rows of zeros
 * for patches that are not predicted; a row of zeros has no weight) -> the
 * batch's loss. Its gradients are added to those since the last update. */
vitcl_status vt_trainer_batch(double *loss, vt_trainer *t, const float *pixels,
                              const float *targets);
/* The same, with halts on the way: reached(context, i) is called between the
 * plan's steps step[i] - 1 and step[i], which ascend. */
typedef struct vt_halts {
    const int *step;
    size_t count;
    vitcl_status (*reached)(void *context, size_t i);
    void *context;
} vt_halts;
vitcl_status vt_trainer_batch_halting(double *loss, vt_trainer *t,
                                      const float *pixels, const float *targets,
                                      const vt_halts *halts);
/* The loss only: no gradients, no change of state. */
vitcl_status vt_trainer_evaluate(double *loss, vt_trainer *t,
                                 const float *pixels, const float *targets);
/* The last batch's logits, [B,K] or [B,N,K]. */
vitcl_status vt_trainer_logits(float *out, vt_trainer *t);
/* After a loss that is not finite: runs the batch again, step by step, and
 * names the first step whose output is not finite ("nothing" if none). */
vitcl_status vt_trainer_blame(char *out, size_t size, vt_trainer *t);
/* The next micro-batch is this one of the step; seeds dropout. */
void vt_trainer_begin(vt_trainer *t, long step, uint32_t micro_batch);
/* One step of the optimiser; `step` counts from 0. */
vitcl_status vt_trainer_update(vt_trainer *t, double lr, long step);
/* The norm of the last update's gradients, before they were clipped. */
vitcl_status vt_trainer_grad_norm(double *out, vt_trainer *t);

/* Trained parameters, in the plan's order: name and elements. */
size_t vt_trainer_parameters(const vt_trainer *t);
const vt_value *vt_trainer_parameter(const vt_trainer *t, size_t index);
uint64_t vt_trainer_elements(const vt_trainer *t, size_t index);
/* From this step of the plan on, a batch does not change the parameter's
 * gradient any more. */
int vt_trainer_gradient_end(const vt_trainer *t, size_t index);
/* The optimiser's tensors of a parameter: "" for the parameter itself, "grad",
 * "adam.m", "adam.v", "sgd.v", "ema"; VITCL_EINVAL if it has no such tensor. */
vitcl_status vt_trainer_read(float *out, vt_trainer *t, size_t index,
                             const char *kind);
vitcl_status vt_trainer_write(vt_trainer *t, size_t index, const char *kind,
                              const float *data);
vt_plan_memory vt_trainer_memory(const vt_trainer *t);

/* One-hot targets with label smoothing: (1 - s) on the label, s / K on all. */
void vt_targets(float *out, const int64_t *label, int batch, int classes,
                double smoothing);

#endif
