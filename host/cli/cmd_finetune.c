/*
 * cmd_finetune.c - trains a pretrained model on other classes.
 */
#include "cli/training/training.h"

#include <stdlib.h>

static const opt options[] = {
    OPT_ROW(training, 'm', "model", OPT_TEXT, "DIR",
            "checkpoint to begin with; else VITCL_MODEL", o.model),
    TRAINING_OPTIONS,
    OPT_ROW(training, 0, "freeze", OPT_LIST, "PATTERN",
            "parameters that stay as they are, such as 'blocks.[0-5].*'",
            freeze),
    OPT_ROW(training, 0, "lora", OPT_COUNT, "RANK",
            "train the head and a product of this rank beside each layer of "
            "blocks, which is added to it in the model",
            o.lora),
    OPT_ROW(training, 0, "pixels", OPT_CHOICE, "pillow|torchvision",
            PIXELS_HELP, o.pixels),
    OPT_DONE};

static int run(void *into, const words *operands)
{
    training *t = into;
    const char *path = getenv("VITCL_MODEL");

    (void)operands;
    if (!t->o.model && !t->resume && path && path[0])
        t->o.model = path;
    if (!t->resume && !t->o.model)
        return usage("no model given; name a checkpoint with -m DIR");
    return train(t, "finetune");
}

const command cmd_finetune = {
    "finetune",
    "",
    "Train a checkpoint further, for other classes",
    "Its head is replaced by zeros; positions are interpolated for another "
    "--size. The defaults are the paper's: SGD with momentum, cosine, clipped "
    "at 1.",
    options,
    sizeof(training),
    run};
