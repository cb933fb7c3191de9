/*
 * cmd_convert.c - converts a checkpoint to a folder in timm's or HF's format.
 */
#include "cli/setup/setup.h"

#include "base/file.h"
#include "base/json.h"

#include <stdlib.h>

typedef struct convert {
    model_options common;
    const char *out, *to, *dtype;
} convert;

static const opt options[] = {
    OPT_ROW(convert, 'm', "model", OPT_TEXT, "DIR",
            "checkpoint: a folder, a file or a name (vitcl models); else "
            "VITCL_MODEL",
            common.model),
    OPT_RULED(convert, 'o', "out", OPT_TEXT, "DIR",
              "the folder to write; created if missing", out, .unless = ""),
    OPT_ROW(convert, 0, "to", OPT_CHOICE, "timm|hf",
            "whose names (default timm)", to),
    OPT_ROW(convert, 0, "dtype", OPT_CHOICE, "f32|f16|bf16",
            "default: as stored", dtype),
    OPT_DONE};

/* Has a checkpoint's folder the configs of a text tower? */
static bool has_texts(const char *path)
{
    char *open_clip = NULL, *file = NULL;
    vt_json *config = NULL;
    const bool found =
        vt_path_beside(&open_clip, path, "open_clip_config.json") == VITCL_OK &&
        vt_path_beside(&file, path, "config.json") == VITCL_OK &&
        (vt_path_exists(open_clip) ||
         (vt_path_exists(file) &&
          vt_json_load(&config, file, 16U << 20, 32) == VITCL_OK &&
          (vt_json_get(config, "text_config") ||
           vt_json_get(config, "text_config_dict"))));

    vt_json_free(config);
    free(open_clip);
    free(file);
    return found;
}

/* A model that is there, perhaps the one that is read, is kept. */
static int is_new(const char *folder)
{
    char *file = NULL;
    int code = EXIT_OK;

    if (!vt_path_is_folder(folder))
        return EXIT_OK;
    TRY(vt_path_beside(&file, folder, "model.safetensors"));
    if (vt_path_exists(file))
        code = fail("%s: a model exists already; name another folder", folder);
done:
    free(file);
    return code;
}

static int run(void *into, const words *operands)
{
    const convert *o = into;
    const char *from = model_word(&o->common), *to = o->to ? o->to : "timm";

    (void)operands;
    if (!from)
        return usage("no model given; name one with -m DIR");
    RET(find_model(&from, from));
    RET(is_new(o->out));
    RET(vitcl_convert(o->out, from, to, o->dtype));
    note("%s/model.safetensors and its config are written%s", o->out,
         has_texts(from) && !has_texts(o->out) ? "; the text tower is left out"
                                               : "");
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
