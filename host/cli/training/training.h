/*
 * training.h - shared by `vitcl train` and `vitcl finetune`.
 */
#ifndef VT_CLI_TRAINING_H
#define VT_CLI_TRAINING_H
#include "cli/setup/setup.h"

#include <vitcl_train.h>

typedef struct training {
    vitcl_train_options o; /* but for those that have another form here: */
    const char *precision;
    natural random_state;
    frame_size size;
    words freeze;
    bool resume, strict, follow;
    table_options table;
    const char *log, *curve, *show_batch, *preview, *show_predicted, *device;
    uint32_t threads;
} training;

#define TRAINING_OPTIONS                                                       \
    OPT_RULED(                                                                 \
        training, 0, "data", OPT_TEXT, "PATH",                                 \
        "class folders, a table FILE.csv, or CIFAR's or MNIST's own files",    \
        o.data, .unless = "resume"),                                           \
        OPT_ROW(training, 0, "split", OPT_TEXT, "NAME",                        \
                "part of the data (default: train, where there is one)",       \
                o.split),                                                      \
        OPT_FOLLOW(training, follow), OPT_TABLE(training),                     \
        OPT_RULED(training, 'o', "output", OPT_TEXT, "DIR",                    \
                  "output folder: the model, and the state to resume from",    \
                  o.output, .unless = ""),                                     \
        OPT_ROW(                                                               \
            training, 0, "resume", OPT_FLAG, NULL,                             \
            "resume; epochs, lr, layer-decay, augment and micro may differ",   \
            resume),                                                           \
        OPT_ROW(training, 0, "strict", OPT_FLAG, NULL,                         \
                "a picture that cannot be decoded ends it; without: left out", \
                strict),                                                       \
        OPT_RULED(training, 0, "epochs", OPT_COUNT, "N",                       \
                  "passes over the pictures", o.epochs, .unless = "resume"),   \
        OPT_ROW(training, 0, "batch", OPT_COUNT, "N",                          \
                "pictures per step (default 64)", o.batch),                    \
        OPT_ROW(training, 0, "micro", OPT_COUNT, "N",                          \
                "pictures at a time, when a batch does not fit (default: "     \
                "all)",                                                        \
                o.micro),                                                      \
        OPT_ROW(training, 0, "slices", OPT_COUNT, "N",                         \
                "parts of a batch, a power of two, whose gradients are added " \
                "by a fixed tree (default 1, or one for each rank of mpirun)", \
                o.slices),                                                     \
        OPT_ROW(training, 0, "lr", OPT_REAL, "X", "peak learning rate", o.lr), \
        OPT_ROW(training, 0, "layer-decay", OPT_REAL, "X",                     \
                "learning rate of each layer by that of the next (default 1)", \
                o.layer_decay),                                                \
        OPT_ROW(training, 0, "augment", OPT_CHOICE, "none|crop|light|full",    \
                "changes of the pictures (default: crop, and also flip "       \
                "(light) where pictures and mirror images are alike)",         \
                o.augment),                                                    \
        OPT_ROW(training, 0, "random-state", OPT_NATURAL, "N",                 \
                "seed of all random numbers (default 0)", random_state),       \
        OPT_ROW(training, 0, "hold-out", OPT_COUNT, "N",                       \
                "training pictures held out and scored after each epoch",      \
                o.hold_out),                                                   \
        OPT_RULED(                                                             \
            training, 0, "val", OPT_TEXT, "PATH",                              \
            "pictures to score instead, with the same classes, as for --data", \
            o.val, .not_with = "hold-out"),                                    \
        OPT_RULED(training, 0, "patience", OPT_COUNT, "N",                     \
                  "end after N epochs without a better model", o.patience,     \
                  .needs = "val|hold-out|resume"),                             \
        OPT_ROW(training, 0, "settings", OPT_TEXT, "FILE",                     \
                "JSON: optimizer, schedule, dropout, mixup, ...; vitcl(1)",    \
                o.settings),                                                   \
        OPT_ROW(training, 0, "size", OPT_SIZE, "N|HxW",                        \
                "pixels, if not the model's own", size),                       \
        OPT_ROW(training, 0, "log", OPT_TEXT, "FILE",                          \
                "append a JSON line for each step", log),                      \
        OPT_ROW(training, 0, "curve", OPT_FILE, "FILE.png|FILE.svg",           \
                "draw losses, accuracies and learning rate over the epochs",   \
                curve),                                                        \
        OPT_ROW(training, 0, "show-batch", OPT_FILE, "FILE.png|FILE.svg",      \
                "draw the first batch as training sees it, with labels",       \
                show_batch),                                                   \
        OPT_ROW(training, 0, "preview", OPT_FILE, "FILE.png|FILE.svg",         \
                "draw RandAugment's operations, each alone, on one picture",   \
                preview),                                                      \
        OPT_ROW(training, 0, "save-every", OPT_COUNT, "N",                     \
                "also write a checkpoint every N steps", o.checkpoint_steps),  \
        OPT_ROW(training, 0, "workers", OPT_COUNT, "N",                        \
                "threads that prepare pictures (default: one per core)",       \
                o.workers),                                                    \
        OPT_ROW(training, 'd', "device", OPT_TEXT, "DEV",                      \
                "0:1, part of a name, cpu, gpu or any; else VITCL_DEVICE",     \
                device),                                                       \
        OPT_THREADS(training, threads),                                        \
        OPT_ROW(training, 0, "gemm", OPT_CHOICE, "clblast|native|plain",       \
                "matrix multiplication (default: the fastest here)", o.gemm),  \
        OPT_ROW(training, 0, "precision", OPT_CHOICE, "f32|bf16|f16",          \
                "number format of the multiplications (default f32)",          \
                precision)

/* Trains; prints its progress on stderr. */
/* name: the command. */
int train(const training *t, const char *name);

#endif
