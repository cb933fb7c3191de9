/*
 * cmd_convert.c - a checkpoint of any kind as a folder of timm's or HF's.
 */
#include "cmd.h"

#include <string.h>

typedef struct convert {
    model_options common;
    const char *out, *to, *dtype;
} convert;

static const opt options[] = {
    OPT_ROW(convert, 'm', "model", OPT_TEXT, "DIR",
            "checkpoint: a folder or a weight file; else VITCL_MODEL",
            common.model),
    {'o', "out", OPT_TEXT, "DIR", "the folder to write; made if missing",
     offsetof(convert, out)},
    {0, "to", OPT_TEXT, "NAME", "whose names: timm (default) or hf",
     offsetof(convert, to)},
    {0, "dtype", OPT_TEXT, "NAME", "f32, f16 or bf16; default: as stored",
     offsetof(convert, dtype)},
    OPT_DONE};

static int run(void *into, const words *operands)
{
    const convert *o = into;
    const char *from = model_path(&o->common), *to = o->to ? o->to : "timm";

    if (operands->count)
        return usage("takes no argument such as '%s'; name the model with -m",
                     operands->item[0]);
    if (!from)
        return usage("no model: name one with -m DIR");
    if (!o->out)
        return usage("no folder to write: name one with -o DIR");
    if (strcmp(to, "timm") != 0 && strcmp(to, "hf") != 0)
        return usage("--to takes timm or hf, not '%s'", to);
    if (o->dtype && strcmp(o->dtype, "f32") != 0 &&
        strcmp(o->dtype, "f16") != 0 && strcmp(o->dtype, "bf16") != 0)
        return usage("--dtype takes f32, f16 or bf16, not '%s'", o->dtype);
    if (vitcl_convert(o->out, from, to, o->dtype) != VITCL_OK)
        return failed();
    note("%s/model.safetensors and its config are written", o->out);
    return EXIT_OK;
}

const command cmd_convert = {
    "convert",
    "",
    "Write a checkpoint in timm's or Hugging Face's form",
    "Reads what the other commands read: safetensors, Google's .npz, PyTorch "
    "files.\nA checkpoint of the wanted kind keeps its names and configs. The "
    "same\ncheckpoint gives the same bytes.",
    options,
    sizeof(convert),
    run};
