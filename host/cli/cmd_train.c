/*
 * cmd_train.c - trains a model from scratch.
 */
#include "cli/training/training.h"

static const opt options[] = {
    OPT_RULED(training, 0, "preset", OPT_TEXT, "NAME",
              "an architecture, such as vit-ti/16", o.preset,
              .not_with = "config"),
    OPT_ROW(training, 0, "config", OPT_TEXT, "FILE",
            "a config.json in timm's format, instead of a preset", o.config),
    OPT_ROW(training, 0, "objective", OPT_CHOICE, "classes|masked-patch",
            "classes (default), or the colours of masked patches, without "
            "labels",
            o.objective),
    OPT_ROW(training, 0, "show-predicted", OPT_FILE, "FILE.png|FILE.svg",
            "with masked-patch: draw original, masked and predicted patches",
            show_predicted),
    TRAINING_OPTIONS,
    OPT_ROW(training, 0, "freeze", OPT_LIST, "PATTERN",
            "parameters that stay as they are, such as 'pos_embed'", freeze),
    OPT_DONE};

static int run(void *into, const words *operands)
{
    const training *t = into;

    (void)operands;
    if (!t->resume && !t->o.preset && !t->o.config)
        return usage("--preset NAME or --config FILE is required");
    return train(t, "train");
}

const command cmd_train = {
    "train",
    "",
    "Train a model from scratch",
    "The folder is a model at any time; Ctrl-C writes a checkpoint, and "
    "--resume gives the same bits as an uninterrupted training.",
    options,
    sizeof(training),
    run};
