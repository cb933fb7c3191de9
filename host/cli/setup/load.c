/*
 * load.c - opens a model and a session from the options that commands share.
 */
#include "api/program.h"
#include "base/status.h"
#include "base/words.h"
#include "setup.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A small model with a thousand classes. */
#define PHOTOGRAPHS "vit_tiny_patch16_224"

const char *model_word(const model_options *o)
{
    const char *path = o->model ? o->model : getenv("VITCL_MODEL");

    return path && path[0] ? path : NULL;
}

bool uses_builtin(const model_options *o)
{
    return !o->preset && !model_word(o);
}

static const char *model_or_builtin(const model_options *o)
{
    const char *word = model_word(o);

    return word ? word : VITCL_MODEL_BUILTIN;
}

int open_device(vitcl_device **device, const char *select)
{
    vitcl_device_info info = {.size = sizeof info};

    guard_begin();
    RET(vitcl_device_open(device, select));
    guard_begin(); /* LLVM in a driver has set its own handlers */
    if (vitcl_device_describe(&info, *device) != VITCL_OK) {
        vitcl_device_free(*device);
        return failed();
    }
    if (info.warning[0])
        note("%s", info.warning);
    wait_watch(*device);
    return EXIT_OK;
}

/* Its name in PRECISIONS. */
static const char *precision_word(char out[8], vitcl_precision precision)
{
    const char *at = PRECISIONS;

    for (int i = 0; i < (int)precision; i++)
        at += strcspn(at, "|") + 1;
    snprintf(out, 8, "%.*s", (int)strcspn(at, "|"), at);
    return out;
}

void try_first(vitcl_device *device, vitcl_precision precision)
{
    const vitcl_precision named =
        precision == VITCL_HALF ? VITCL_BF16 : precision;
    char form[96], word[8];
    vitcl_status st;

    if (!vt_device_untried(device, precision))
        return;
    wait_begin("trying instructions (once for this device)", true);
    st = vt_device_try(device, precision);
    wait_end();
    if (st != VITCL_OK ||
        vt_device_form(form, sizeof form, device, named) != VITCL_OK)
        return;
    if (strchr(form, ';'))
        note("%s by %s", precision_word(word, named), form);
}

void tell_refused(vitcl_device *device)
{
    char text[352];

    while (vt_device_refused(text, sizeof text, device))
        note("%s", text);
}

vitcl_precision precision_of(const char *word)
{
    const int i = word ? vt_word_place(PRECISIONS, word) : -1;

    return i < 0 ? VITCL_F32 : (vitcl_precision)i;
}

vitcl_session_options session_options(const model_options *o)
{
    return (vitcl_session_options){.size = sizeof(vitcl_session_options),
                                   .batch = o->batch,
                                   .height = o->size.height,
                                   .width = o->size.width,
                                   .gemm = o->gemm,
                                   .precision = precision_of(o->precision),
                                   .once = o->once,
                                   .any_batch = o->any_batch};
}

static vitcl_status load(vitcl_model **model, vitcl_device *device,
                         const model_options *o, const char *path)
{
    const uint32_t side = o->size.height == o->size.width ? o->size.height : 0;
    vitcl_status st = o->preset
                          ? vitcl_model_new(model, device, o->preset, side)
                          : vitcl_model_load(model, device, path);

    if (st == VITCL_OK && o->pixels)
        st = vt_model_set_resize(*model, o->pixels);
    /* of another model than the index's: vt_index_agrees() says so */
    if (st == VITCL_OK && o->patches &&
        (!o->patches_of_index || vt_model_most_patches(*model)))
        st = vt_model_set_most_patches(*model, o->patches);
    if (st != VITCL_OK) {
        vitcl_model_free(*model);
        *model = NULL;
    }
    return st;
}

/* The fastest device for this model, timed once, where there are several and
 * nobody named one. NULL: the usual one; its own errors are then reported. */
static const char *fastest(vt_device_choice *c, const model_options *o,
                           const char *path)
{
    const vitcl_session_options options = session_options(o);
    vitcl_model *model = NULL;
    vitcl_status st;

    guard_begin();
    if (o->device || !vt_device_choosable() ||
        load(&model, NULL, o, path) != VITCL_OK)
        return NULL;
    wait_begin("timing the devices (once for such models)", false);
    st = vt_device_choose(c, model, &options);
    wait_end();
    vitcl_model_free(model);
    if (st != VITCL_OK || !c->id[0])
        return NULL;
    if (c->measured)
        note("timed the devices, once for models of %s: %s; using %s (-d "
             "names another)",
             c->plans, c->times, c->id);
    return c->id;
}

int open_model(vitcl_device **device, vitcl_model **model,
               const model_options *o)
{
    vt_device_choice choice;
    const char *path = NULL;
    vitcl_device *d = NULL;
    vitcl_status st;
    int code;

    if (!o->preset)
        TRY(find_model(&path, model_or_builtin(o)));
    if (device) {
        const char *id = fastest(&choice, o, path);

        TRY(open_device(&d, id ? id : o->device));
    }
    st = load(model, d, o, path);
    TRY(o->preset && st == VITCL_EINVAL ? usage("%s", vitcl_last_error()) : st);
    if (device)
        *device = d, d = NULL;
done:
    vitcl_device_free(d);
    return code;
}

bool classes_by_number(const char *word)
{
    const bool number = word && strcmp(word, "number") == 0;

    if (number)
        note("classes are matched by number, whatever their names are");
    return number;
}

static uint32_t timed(const vitcl_device *device)
{
    vitcl_device_info info = {.size = sizeof info};

    return vitcl_device_describe(&info, device) == VITCL_OK ? info.timed : 0;
}

vitcl_status try_session(vitcl_session **out, vitcl_device *device,
                         vitcl_model *model,
                         const vitcl_session_options *options)
{
    const uint32_t before = timed(device);
    uint32_t n;
    vitcl_status st;

    try_first(device, options->precision);
    wait_begin("preparing weights", false);
    st = vitcl_session_new(out, model, options);
    guard_begin();
    wait_end();
    tell_refused(device);
    n = timed(device) - before;
    if (n)
        note("timed %u product%s with every multiplication, once for this "
             "device (--gemm NAME avoids it)",
             n, vt_plural(n));
    return st;
}

int start_session(vitcl_session **out, vitcl_device *device, vitcl_model *model,
                  const vitcl_session_options *options)
{
    return code_of(try_session(out, device, model, options));
}

int one_size(vitcl_session_options *options, const vitcl_model *model)
{
    vitcl_model_info info = {.size = sizeof info};

    if (options->height || !vt_model_most_patches(model))
        return EXIT_OK;
    RET(vitcl_model_describe(&info, model, 0, 0, 1));
    options->height = info.input_height;
    options->width = info.input_width;
    return EXIT_OK;
}

int open_session(vitcl_session **out, vitcl_device *device, vitcl_model *model,
                 const model_options *o, const char *const *keep, int profile)
{
    vitcl_session_options options = session_options(o);

    options.keep = keep;
    options.profile = profile;
    RET(one_size(&options, model));
    return start_session(out, device, model, &options);
}

const char *model_name(const model_options *o)
{
    static char name[256]; /* the limit of a file name */
    const char *path = o->preset ? NULL : model_or_builtin(o);
    char full[VT_HUB_NAME];
    size_t n;

    if (!path)
        return o->preset;
    if (access(path, F_OK) != 0 && vt_hub_full_name(full, path))
        path = full;
    n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    for (const char *s = path + n; s > path; s--)
        if (s[-1] == '/' && s < path + n) {
            n -= (size_t)(s - path), path = s;
            break;
        }
    snprintf(name, sizeof name, "%.*s", (int)(n < 255 ? n : 255), path);
    return name;
}

void say_model(const model_options *o)
{
    static const char built_in[] =
        "built-in model; photographs: vitcl pull " PHOTOGRAPHS;

    if (is_quiet())
        return;
    flush_results(); /* close_results() says why not */
    say_full_name();
    if (o->preset)
        note("%s has random weights: its answers mean nothing", o->preset);
    else if (uses_builtin(o) && is_terminal(stderr))
        summary(built_in); /* fits into 60 columns */
    else if (uses_builtin(o))
        note("%s", built_in);
}
