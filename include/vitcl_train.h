/*
 * vitcl_train.h - labelled pictures, evaluation, few-shot tests and training.
 *
 * The conventions are those of vitcl.h.
 */
#ifndef VITCL_TRAIN_H
#define VITCL_TRAIN_H
#include "vitcl.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef struct vitcl_dataset vitcl_dataset; /* labelled pictures; read-only */

/* A folder of class folders, or one with CIFAR-10's, CIFAR-100's or MNIST's
 * own files, told apart by what is there. split: "train", "test" (for class
 * folders: a folder of that name); NULL: the test part of CIFAR and MNIST,
 * everything else of class folders. */
VITCL_STATUS vitcl_dataset_open(vitcl_dataset **out, const char *path,
                                const char *split);
void vitcl_dataset_free(vitcl_dataset *dataset);
/* Without a dataset these give 0 or NULL; so does a class that it lacks. */
uint32_t vitcl_dataset_pictures(const vitcl_dataset *dataset);
uint32_t vitcl_dataset_classes(const vitcl_dataset *dataset);
const char *vitcl_dataset_class(const vitcl_dataset *dataset, uint32_t index);
const char *vitcl_dataset_kind(const vitcl_dataset *dataset);

/* Wherever this dataset's classes meet others they are matched by number, not
 * by name: folders that are all named by numbers ("0007") by those, others by
 * their places, of which there must be equally many. */
VITCL_STATUS vitcl_dataset_by_number(vitcl_dataset *dataset);

typedef struct {
    size_t size;
    uint32_t pictures; /* scored */
    uint32_t failed;   /* could not be decoded: counted nowhere else */
    double top1, top5; /* shares of `pictures`, 0 to 1 */
    /* With vitcl_dataset_labels(): pictures that have any, and the share of
     * them whose first answer is among them. */
    uint32_t real_pictures;
    double real;
    int real_by_number; /* labels were numbers, taken for the model's */
} vitcl_scores;

/* Several right classes a picture, as ImageNet's ReaL labels have them (arXiv
 * 2006.07159). JSON: real.json's list of lists, in the order of
 * ILSVRC2012_val_00000001 .. (pictures must be so named; where they are no
 * files, of all in order), or an object {picture's name: list}. A class is a
 * number, which is the model's, or a name, which is matched with its names. */
VITCL_STATUS vitcl_dataset_labels(vitcl_dataset *dataset, const char *path);

/* Classify the whole dataset. A class of the dataset is the model's class of
 * that label, else of that name; one that the model lacks is an error, unless
 * vitcl_dataset_by_number() was called. confusion: NULL, or [classes * (model's
 * classes)] counts, row: the dataset's class, column: the answer. */
VITCL_STATUS vitcl_evaluate(vitcl_scores *out, uint32_t *confusion,
                            vitcl_session *session,
                            const vitcl_dataset *dataset,
                            vitcl_progress progress, void *context);

typedef struct {
    uint32_t shots;
    double mean, sd; /* of the accuracies of `tries` choices, 0 to 1 */
    uint32_t failed; /* could not be decoded, in the test and in all choices:
                      * left out */
} vitcl_fewshot_score;

/* Few-shot linear evaluation as in arXiv 2010.11929: ridge regression (l2
 * 1024) from frozen features of `shots` training pictures a class to targets
 * -1 and 1, in closed form; accuracy on `test`, whose classes are the training
 * pictures' of the same names (all of them must be there). scores[n]: set shots
 * before, read mean and sd after. The choice of pictures depends on
 * random_state and the try alone. */
VITCL_STATUS vitcl_fewshot(vitcl_fewshot_score *scores, uint32_t n,
                           uint32_t tries, uint64_t random_state,
                           vitcl_session *session, const vitcl_dataset *train,
                           const vitcl_dataset *test, vitcl_progress progress,
                           void *context);

/* The training twin of vitcl_run_pixels(): `steps` optimiser steps on one
 * batch. input: a safetensors file with pixel_values [B,3,H,W] and labels [B];
 * settings: JSON with torch's words (optimizer, betas, eps, momentum,
 * weight_decay, clip_grad_norm, label_smoothing, lr: a number or one a step; a
 * key that is none is refused). output: loss [1] and grad.<tensor> of the first
 * step (before clipping), losses [steps] before each step, time_ms [steps] that
 * they took, and after.<tensor>, in safetensors. In f32, convolutions add up in
 * double where the device can: next to a ReLU's kink a rounding changes
 * gradients by a percent. */
VITCL_STATUS vitcl_train_steps(const char *output, vitcl_device *device,
                               const char *model, const char *input,
                               const char *settings, uint32_t steps,
                               const char *gemm, vitcl_precision precision);

/* ---- training --------------------------------------------------------- */

typedef struct {
    size_t size;
    /* Where it starts: one of the three, none to resume. */
    const char *preset;    /* from scratch, for instance "vit-ti/16" */
    const char *config;    /* from scratch: a config.json in timm's form */
    const char *model;     /* fine-tune: a checkpoint; its head is replaced by
                            * zeros, its positions fit the new size */
    const char *data;      /* as vitcl_dataset_open() takes it ... */
    const char *split;     /* NULL: "train" where the data has it */
    const char *output;    /* folder of the training: always a model that can be
                            * loaded, and the state to go on from */
    int resume;            /* go on: what is given must be what it began with;
                            * the rest is read from the folder */
    uint32_t epochs;       /* 0: 1 */
    uint32_t batch;        /* pictures a step; 0: 64 */
    uint32_t micro;        /* pictures at a time, a divisor of batch; 0: all */
    double lr;             /* at the top; 0: AdamW 5e-4 * batch / 512 (at least
                            * 1e-4), SGD 0.01, masked patches 2e-4 */
    const char *augment;   /* "none", "light", "full"; NULL: light */
    uint64_t random_state; /* below 2^53 */
    uint32_t height, width; /* pixels; 0: the model's own */
    uint32_t hold_out;      /* training pictures kept for scoring each epoch */
    /* JSON: optimizer ("adamw", "adam", "sgd"), betas, eps, momentum,
     * weight_decay, clip_grad_norm, label_smoothing, dropout, drop_path, ema,
     * schedule ("cosine", "linear", "constant"), warmup_steps, min_lr; and what
     * the augmentation does beyond its word: color_jitter, aa (operations of
     * RandAugment), magnitude (of them, 0 to 1), reprob (random erasing), mixup
     * and cutmix (alphas), mixup_prob (share of batches mixed). Left out: AdamW
     * with decay 0.05 from scratch, SGD with momentum 0.9 to fine-tune (the
     * paper's recipe); both cosine, clipped at 1. */
    const char *settings;
    const char *const *freeze; /* NULL-ended patterns of parameters; each must
                                * match one */
    vitcl_precision precision; /* of the multiplications */
    const char *gemm;
    uint32_t workers;          /* threads that make batches; 0: one a core */
    uint32_t checkpoint_steps; /* also every so many; 0: each epoch's end */
    /* NULL or "classes"; "masked-patch": from scratch and without labels, the
     * model learns to say the mean colour of hidden patches (Adam, cosine, as
     * in arXiv 2010.11929, B.1.2). What comes of it has no classifier: it is
     * to be fine-tuned. Losses and accuracies are those of hidden patches. */
    const char *objective;
} vitcl_train_options;

typedef struct {
    size_t size;
    uint64_t step, steps;   /* done, of all */
    uint32_t epoch, epochs; /* the step's, from 1 */
    uint32_t pictures;      /* of this step */
    double loss, accuracy;  /* of this step, on pictures as they were changed */
    double lr;
    int scored; /* the held-out pictures were, at the end of an epoch: */
    double held_out_loss, held_out_accuracy;
    int saved; /* a checkpoint was written */
    /* Bytes on the device: all activations, of them those that the backward
     * pass reads again, and gradients with what the optimiser keeps. */
    uint64_t activation_bytes, kept_bytes, state_bytes;
} vitcl_train_event;
/* Called after every step; e->size is the library's. What it returns other than
 * 0 ends the training with a checkpoint. */
typedef int (*vitcl_train_report)(void *context, const vitcl_train_event *e);

/* *out: the last step's event; out->step < out->steps: report ended it. A
 * training that is resumed has the bits of one that never stopped. */
VITCL_STATUS vitcl_train(vitcl_train_event *out, vitcl_device *device,
                         const vitcl_train_options *options,
                         vitcl_train_report report, void *context);

#ifdef __cplusplus
}
#endif
#endif
