/*
 * tower.c - opens the text tower of a model.
 */
#include "texts.h"

#include <string.h>

enum { MOST_CPU = 16, MOST_GPU = 64 }; /* texts a run */

int tower_named(const model_options *o, const char *what)
{
    if (o->preset)
        return usage("%s needs a checkpoint (-m): random weights of a preset "
                     "have no text tower",
                     what);
    if (model_word(o) && strcmp(model_word(o), VITCL_MODEL_BUILTIN) == 0)
        return fail("%s needs a model of pictures and texts, such as CLIP or "
                    "SigLIP; the built-in one reads no texts",
                    what);
    if (!model_word(o))
        return usage("%s needs a model of pictures and texts, such as CLIP or "
                     "SigLIP; name one with -m",
                     what);
    return EXIT_OK;
}

static vitcl_status try_tower(vitcl_text **out, vitcl_device *device,
                              const char *path, const model_options *o,
                              const text_options *how, size_t texts)
{
    vitcl_device_info info = {.size = sizeof info};
    vitcl_text_options options = {.size = sizeof options,
                                  .gemm = o->gemm,
                                  .precision = precision_of(o->precision),
                                  .lower_case = how->lower,
                                  .any_batch = o->any_batch};
    vitcl_status st = vitcl_device_describe(&info, device);
    const bool cpu = strcmp(info.type, "cpu") == 0;
    const uint32_t most = cpu ? MOST_CPU : MOST_GPU;

    if (st != VITCL_OK)
        return st;
    options.batch = texts && texts < most ? (uint32_t)texts : most;
    try_first(device, options.precision);
    wait_begin("preparing the text tower", false);
    st = vitcl_text_new(out, device, path, &options);
    guard_begin();
    wait_end();
    tell_refused(device);
    return st;
}

int tower_open(vitcl_text **out, vitcl_device *device, const model_options *o,
               const text_options *how, const char *what, size_t texts)
{
    const char *path;
    vitcl_status st;

    RET(tower_named(o, what));
    RET(find_model(&path, model_word(o)));
    st = try_tower(out, device, path, o, how, texts);
    RET(st == VITCL_EUNSUPPORTED ? fail("%s: a model of pictures and texts "
                                        "is needed, such as CLIP or SigLIP; %s",
                                        what, vitcl_last_error())
                                 : st);
    return EXIT_OK;
}

bool tower_say_cut(const vitcl_text *text)
{
    vitcl_text_info info = {.size = sizeof info};

    if (vitcl_text_describe(&info, text) != VITCL_OK || !info.cut)
        return false;
    note("%llu text%s more than %u tokens, as many as the model reads; the "
         "rest is cut off",
         (unsigned long long)info.cut, info.cut == 1 ? " has" : "s have",
         info.context);
    return true;
}

bool tower_is_there(vitcl_device *device, const model_options *o)
{
    const text_options usual = {.lower = false};
    vitcl_text *text = NULL;
    const char *path;
    bool there;

    if (o->preset || !model_word(o) ||
        strcmp(model_word(o), VITCL_MODEL_BUILTIN) == 0 ||
        find_model(&path, model_word(o)) != EXIT_OK)
        return false;
    there = try_tower(&text, device, path, o, &usual, 1) == VITCL_OK;
    vitcl_text_free(text);
    return there;
}
