/*
 * cmd_step.c - like forward, for training: writes gradients and the results of
 * optimiser steps on one batch.
 */
#include "api/program.h"
#include "cli/setup/setup.h"

typedef struct step {
    model_options common;
    const char *input, *settings, *output, *kernels;
    uint32_t steps;
} step;

static const opt options[] = {
    OPT_ROW(step, 'm', "model", OPT_TEXT, "DIR",
            "checkpoint: a folder, a file or a name (vitcl models); else "
            "VITCL_MODEL",
            common.model),
    OPT_RULED(step, 'i', "input", OPT_TEXT, "FILE",
              "safetensors file with pixel_values [B,3,H,W] and labels [B]",
              input, .unless = ""),
    OPT_RULED(
        step, 0, "settings", OPT_TEXT, "FILE",
        "JSON: optimizer, lr, betas, momentum, weight_decay, clip_grad_norm ..",
        settings, .unless = ""),
    OPT_RULED(step, 'o', "output", OPT_FILE, "FILE.safetensors",
              "file to write", output, .unless = ""),
    OPT_ROW(step, 0, "steps", OPT_COUNT, "N", "steps on this batch (default 1)",
            steps),
    OPT_ROW(step, 0, "dump-kernels", OPT_TEXT, "DIR",
            "also write each kernel's source and options", kernels),
    OPT_DEVICE(step),
    OPT_RUN(step),
    OPT_DONE};

static int run(void *into, const words *operands)
{
    const step *o = into;
    vitcl_device *device = NULL;
    const vitcl_precision precision = precision_of(o->common.precision);
    const char *model = model_word(&o->common);
    int code;

    (void)operands;
    if (o->kernels && place_folder(o->kernels) != EXIT_OK)
        return EXIT_FAILED;
    if (o->steps > VT_STEPS_MOST)
        return usage("--steps must be at most %d, not %u", (int)VT_STEPS_MOST,
                     o->steps);
    if (!model)
        return usage("no model given; name one with -m DIR");
    TRY(find_model(&model, model));
    TRY(open_device(&device, o->common.device));
    try_first(device, precision);
    if (vt_train_steps(o->output, device, model, o->input, o->settings,
                       o->steps ? o->steps : 1, o->common.gemm,
                       precision) != VITCL_OK)
        code = failed();
    tell_refused(device);
    if (code == EXIT_OK && o->kernels)
        TRY(vt_device_save_kernels(device, o->kernels));
done:
    vitcl_device_free(device);
    return code;
}

const command cmd_step = {
    "step",
    "",
    "Take optimiser steps on one batch and write gradients",
    "Writes loss and grad.<tensor> of the first step, the losses of all, and "
    "after.<tensor>: for comparing vitcl's training with another library.",
    options,
    sizeof(step),
    run};
