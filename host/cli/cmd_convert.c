/*
 * cmd_convert.c - converts a checkpoint to a folder in timm's or HF's format.
 */
#include "cli/setup/setup.h"

typedef struct convert {
    model_options common;
    const char *out, *to, *dtype;
} convert;

static const opt options[] = {
    OPT_ROW(convert, 'm', "model", OPT_TEXT, "DIR",
            "checkpoint: a folder, a file or a name (vitcl models); else "
            "VITCL_MODEL",
            common.model),
    {'o', "out", OPT_TEXT, "DIR", "the folder to write; created if missing",
     offsetof(convert, out)},
    {0, "to", OPT_CHOICE, "timm|hf", "whose names (default timm)",
     offsetof(convert, to)},
    {0, "dtype", OPT_CHOICE, "f32|f16|bf16", "default: as stored",
     offsetof(convert, dtype)},
    OPT_DONE};

static int run(void *into, const words *operands)
{
    const convert *o = into;
    const char *from = model_word(&o->common), *to = o->to ? o->to : "timm";
    int code;

    (void)operands;
    if (!from)
        return usage("no model given; name one with -m DIR");
    if (!o->out)
        return usage("no output folder given; name one with -o DIR");
    code = find_model(&from, from);
    if (code != EXIT_OK)
        return code;
    if (vitcl_convert(o->out, from, to, o->dtype) != VITCL_OK)
        return failed();
    note("%s/model.safetensors and its config are written", o->out);
    return EXIT_OK;
}

const command cmd_convert = {
    "convert",
    "",
    "Write a checkpoint in timm's or Hugging Face's format",
    "Reads what the other commands read: safetensors, Google's .npz, PyTorch "
    "files. A checkpoint that is already in the requested format keeps its "
    "names and configs. The same checkpoint always gives the same bytes.",
    options,
    sizeof(convert),
    run};
