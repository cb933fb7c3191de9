/*
 * vitcl_train.h - labelled pictures, evaluation and training.
 *
 * The contract is that of vitcl.h.
 */
#ifndef VITCL_TRAIN_H
#define VITCL_TRAIN_H
#include "vitcl.h"
#ifdef __cplusplus
extern "C" {
#endif

/* ---- labelled pictures ------------------------------------------------ */

typedef struct vitcl_dataset vitcl_dataset;

typedef struct {
    size_t size;
    /* "train" or "test"; of class folders, the subfolder of that name. NULL:
     * the test part of CIFAR and MNIST; test/, val/ or validation/ of a folder
     * that has class folders there; otherwise the class folders themselves. Of
     * a table test, else val; all of one without splits. */
    const char *split;
    /* Of a table: other names of columns, or another character between them, as
     * lines of any of: path=NAME, label=NAME, split=NAME, sep=CHARACTER. The
     * file may then have any ending; one in .tsv has tabs. */
    const char *columns;
    int follow; /* 1: links to folders are read, too, except those to a folder
                   above */
} vitcl_dataset_options;

/* Opens a folder of class folders, or one with the original files of CIFAR-10,
 * CIFAR-100 or MNIST; the format is detected.
 * A path that ends in .csv is a table (RFC 4180, UTF-8) whose first row names
 * the columns: path, relative to the table's folder; label; and, for data with
 * parts, split: train, val, validation (the same) or test. The classes are the
 * labels of all rows in byte order, for each split. VITCL_ECORRUPT: a row is
 * wrong; the message has its line.
 * Folders in a class folder belong to the class. A picture is a file whose
 * ending says so, or whose first bytes are those of a picture where it has no
 * such ending. Hidden files are left out, and of several names of one file
 * (links) all but the first. VITCL_EINVAL: one file is in two classes;
 * VITCL_EIO: the folder cannot be read. */
VITCL_STATUS vitcl_dataset_open(vitcl_dataset **out, const char *path,
                                const vitcl_dataset_options *options);
/* How many pictures and classes, and a class's name. For a NULL dataset, or a
 * class that does not exist: 0 or NULL. */
uint32_t vitcl_dataset_pictures(const vitcl_dataset *dataset);
uint32_t vitcl_dataset_classes(const vitcl_dataset *dataset);
const char *vitcl_dataset_class(const vitcl_dataset *dataset, uint32_t index);

void vitcl_dataset_free(vitcl_dataset *dataset);

/* ---- evaluation ------------------------------------------------------- */

typedef struct {
    size_t size;
    uint32_t pictures; /* scored */
    uint32_t failed;   /* could not be decoded; counted in no other member */
    double top1, top5; /* shares of `pictures`, 0 to 1 */
    /* Only for the program, which can add labels: pictures with labels, and the
     * share of them whose best class is one of their labels. */
    uint32_t real_pictures;
    double real;
    int real_by_number; /* labels were numbers: the model's class indices */
    uint32_t right1, right5, real_right; /* the shares as counts */
    /* Instead of the shares: for models that answer with VITCL_ANY_CLASSES, the
     * mean of the average precisions of `ranked_classes` classes, those that
     * any picture has; with VITCL_NUMBERS, the mean squared error. */
    uint32_t ranked_classes;
    double average_precision, squared_error;
    /* Expected calibration error of the first answers, with 15 bins of equal
     * width (Guo et al., arXiv 1706.04599): the mean distance of a bin's
     * probabilities, as vitcl_classify() gives them, from the share of its
     * answers that are right. NAN: no pictures, or not one class each. */
    double calibration_error;
    /* Only for the program, to add up parts: of each bin pictures, right
     * answers, and the sum of probabilities in 2^-24. */
    uint64_t bins[45];
} vitcl_scores;

/* Classifies all pictures of a dataset and scores the answers. A class of the
 * dataset is the model's class with that label, else with that name. One that
 * the model lacks is VITCL_EINVAL. confusion: NULL, or counts [dataset's
 * classes, model's classes], written even if the call fails; row: the true
 * class, column: the answer. progress: NULL, or called with pictures.
 * With VITCL_ANY_CLASSES, pictures of a class that the model lacks have none.
 * With VITCL_NUMBERS, the dataset's classes are numbers, the right answers.
 * In both cases, confusion must be NULL. */
VITCL_STATUS vitcl_evaluate(vitcl_scores *out, uint32_t *confusion,
                            vitcl_session *session,
                            const vitcl_dataset *dataset,
                            vitcl_progress progress, void *context);
/* ---- training --------------------------------------------------------- */

/* A batch as the training step sees it. The pointers are valid until the
 * return. */
typedef struct {
    size_t size;
    uint64_t step; /* from 1 */
    uint32_t pictures, height, width, classes;
    /* [pictures,3,height,width]; of a pixel v from 0 to 255:
     * (v * scale - mean[channel]) / std[channel] */
    const float *pixels;
    float scale, mean[3], std[3];
    const float *targets; /* [pictures,classes]: smoothed and mixed labels; NULL
                             with masked patches */
    const char *const *label; /* [classes]; NULL with masked patches */
    /* Only for `predicted`, else NULL: [pictures,patches], row by row. Which
     * patch stands in each patch's place (-1: the mask); the class of its mean
     * colour (-1: it is not asked for); and the model's answer. A class has
     * three bits of red, of green and of blue. */
    const int32_t *source, *colour, *predicted;
    uint32_t patch_height, patch_width;
} vitcl_train_batch;
/* A return value other than 0 ends the training with VITCL_ESTOPPED. */
typedef int (*vitcl_train_show)(void *context, const vitcl_train_batch *batch);

typedef struct {
    size_t size;
    /* The starting point: exactly one of the three; none to resume. */
    const char *preset; /* from scratch, for instance "vit-ti/16" */
    const char *config; /* from scratch: a config.json in timm's format */
    const char *model;  /* fine-tune this checkpoint: its head is replaced by
                           zeros, its positions are resized */
    const char *data;   /* as for vitcl_dataset_open() */
    const char *split;  /* NULL: "train" if the data has it */
    /* Run folder: at any time a model that can be loaded, and the state to
     * resume from. Without `resume`: VITCL_EINVAL if it has a model or a file
     * that would be overwritten. */
    const char *output;
    /* Resume the training in `output`. epochs, lr, layer_decay, micro and
     * augment may differ from the original ones, which are read from the
     * folder; other options that are given must equal them. 0, NULL and
     * VITCL_F32 count as not given. */
    int resume;
    uint32_t epochs; /* 0: 1 */
    uint32_t batch;  /* pictures a step; 0: 64 */
    uint32_t micro;  /* pictures a pass, a divisor of the longest slice;
                      * 0: all of it */
    double lr; /* peak learning rate; 0: AdamW 5e-4 * batch / 512 (at least
                  1e-4), SGD 0.01, masked patches 2e-4 */
    /* "none", "crop", "light" (crop and flip), "full"; NULL: light or, where
     * pictures and their mirror images differ, as those of digits, crop */
    const char *augment;
    uint64_t random_state;  /* below 2^53 */
    uint32_t height, width; /* pixels; 0: the model's own */
    uint32_t hold_out; /* training pictures set aside to score each epoch; see
                          also val */
    /* JSON: optimizer ("adamw", "adam", "sgd"), betas, eps, momentum,
     * weight_decay, clip_grad_norm, label_smoothing, dropout, drop_path, ema,
     * schedule ("cosine", "linear", "constant"), warmup_steps, min_lr; and
     * overrides of `augment`: color_jitter, aa (number of RandAugment
     * operations, or timm's string such as "rand-m9-mstd0.5-inc1"), magnitude
     * (theirs, 0 to 1), reprob (random erasing), mixup and cutmix (alphas),
     * mixup_prob (share of batches to mix); the last three are refused with
     * masked patches. Defaults: from scratch AdamW with decay 0.05, fine-tuning
     * SGD with momentum 0.9 (the paper's settings); both cosine, clipped at
     * 1. */
    const char *settings;
    const char *const *freeze; /* NULL-ended patterns of parameters not to
                                  train; each must match one */
    vitcl_precision precision; /* of the multiplications */
    const char *gemm;
    uint32_t workers;          /* threads that prepare batches; 0: one a core */
    uint32_t checkpoint_steps; /* steps between more checkpoints; 0: only after
                                  each epoch */
    /* NULL or "classes". "masked-patch": pre-train from scratch without labels;
     * the model predicts the mean colour of masked patches (Adam, cosine, as in
     * arXiv 2010.11929, B.1.2). The result has no classifier and must be
     * fine-tuned. Losses and accuracies are over masked patches. */
    const char *objective;
    /* Pictures to score after each epoch, as for vitcl_dataset_open(), with the
     * classes of the data; instead of hold_out. Of a table val precedes test.
     * The best model so far, by its accuracy on either, then by its loss, is in
     * the subfolder best/ of the output. To resume, another path may be given;
     * the best model is then chosen anew among the epochs that follow. */
    const char *val;
    uint32_t patience; /* end after so many epochs in a row without a better
                          model; 0: never. To resume, another may be given */
    /* Before its first step a new training run decodes every picture file. What
     * cannot be decoded is left out, also when the training is resumed; with
     * strict it is an error (VITCL_ECORRUPT). */
    int strict;
    /* NULL, or called before the first step with lines for a user, such as
     * which pictures are left out. context is that of `report`, also below. */
    vitcl_log note;
    /* NULL, or called after each picture that is decoded for that, and later
     * after each micro-batch of held-out pictures; a value other than 0 ends it
     * with VITCL_ESTOPPED. A training run that is stopped this way has been
     * saved, and scores these pictures again when it is resumed. Also called
     * once before the first step, with 0 of 0: then a value other than 0 ends
     * the training as one of `report` does. */
    vitcl_progress checking;
    /* NULL, or called with the first batch before its step: the pictures as
     * augmentation made them. */
    vitcl_train_show show;
    /* NULL, or called before the first step with one picture: as it is, then
     * after each of RandAugment's operations, alone, at the training's
     * magnitude. label[i], of as many classes as pictures, names them. */
    vitcl_train_show preview;
    /* NULL, or with masked patches called at the end, with a micro-batch of
     * held-out pictures, else of others, that are not augmented. */
    vitcl_train_show predicted;
    /* Slices of a batch, a power of two up to 65536; 0: 1, or one for each
     * rank. The gradients of each are computed alone and added up by one
     * balanced binary tree, so that the result does not depend on how many
     * ranks compute them. To resume, it must be the same. */
    uint32_t slices;
    /* 1: under mpirun (Open MPI or MPICH), share the training between its
     * ranks, a power of two and at most as many as slices. Each calls
     * vitcl_train() with the same options and sees the same output folder; only
     * rank 0 writes, and calls report, note, checking and show. If a rank
     * returns an error, its process must end, or the others wait for it. The
     * result has the same bits as without MPI, on the same kind of device. */
    int ranks;
    /* Fine-tuning: "pillow" or "torchvision", whose resize of 8-bit tensors
     * transformers 5 uses: the pictures get it bit for bit; NULL: as in the
     * checkpoint. The trained model keeps it. */
    const char *pixels;
    const char *columns; /* of a table, and whether links are read: as in */
    int follow;          /* vitcl_dataset_options */
    /* Each layer's learning rate is that of the next one times this; the head
     * has `lr`, the embedding of the patches the smallest (timm's and BEiT's
     * layer-wise decay). 0: 1. To resume, another may be given. */
    double layer_decay;
    /* Fine-tuning: the rank, up to 1024, of LoRA (arXiv 2106.09685) on qkv,
     * proj, fc1 and fc2 of all blocks, as in peft; 0: none. The head trains in
     * full, nothing else does. The model is saved with the sum, which any
     * program loads, and the weights of the first step are kept in the output's
     * subfolder base. `settings`: lora_alpha, whose quotient by the rank is the
     * product's factor (default: the rank). */
    uint32_t lora;
} vitcl_train_options;

typedef struct {
    size_t size;
    uint64_t step, steps;   /* completed, total */
    uint32_t epoch, epochs; /* of this step, from 1 */
    uint32_t pictures;      /* of this step */
    double loss, accuracy;  /* of this step, on the augmented pictures */
    double lr;
    int scored; /* the held-out pictures were scored (end of an epoch): */
    double held_out_loss, held_out_accuracy;
    int saved; /* a checkpoint was written */
    /* Bytes on the device: all activations; those of them that the backward
     * pass reads; gradients with the optimiser's state. */
    uint64_t activation_bytes, kept_bytes, state_bytes;
    double epoch_loss, epoch_accuracy; /* means of this epoch's steps so far */
    /* With `scored`: the label is among the best five answers; NAN if there are
     * no more than five classes. */
    double held_out_top5;
    double best_accuracy, best_loss; /* held-out, of the best epoch */
    uint32_t best_epoch;             /* 0: none was scored */
    int best;  /* this epoch is the best so far: best/ was written */
    int early; /* the training ends here, because patience has run out */
    /* At the end: files to train with and to score that cannot be decoded. */
    uint32_t left_out;
    /* Of all gradients together, before they are clipped: what PyTorch's
     * clip_grad_norm_() returns. NAN: not known, of a step before a resume. */
    double grad_norm;
} vitcl_train_event;
/* Called after every step; its size is the library's. A return value other than
 * 0 saves a checkpoint and ends the training. */
typedef int (*vitcl_train_report)(void *context,
                                  const vitcl_train_event *event);

/* Trains a model and writes it to options->output. *out: the last step's event.
 * If out->step < out->steps, `report` or patience (out->early) ended the
 * training. A resumed training run gives the same bits as one that was never
 * interrupted. */
VITCL_STATUS vitcl_train(vitcl_train_event *out, vitcl_device *device,
                         const vitcl_train_options *options,
                         vitcl_train_report report, void *context);

#ifdef __cplusplus
}
#endif
#endif
