/*
 * cmd_info.c - describes a model and its cost; needs no device.
 */
#include "api/program.h"
#include "base/status.h"
#include "cli/setup/setup.h"

#include <string.h>
#include <vitcl_text.h>

typedef struct info {
    model_options common;
    bool json;
} info;

static const opt options[] = {
    OPT_MODEL(info),
    OPT_SIDES(info),
    OPT_PATCHES(info),
    OPT_BATCH(info, "pictures at a time, for the memory (default 1)"),
    OPT_ROW(info, 0, "json", OPT_FLAG, NULL, "one JSON object", json),
    OPT_DONE};

typedef struct about {
    frame_size size;
    const char *name, *pixels;
    uint32_t batch, patches;
    uint32_t context; /* tokens of a text; 0: it reads none */
} about;

/* Of the text tower, if there is one. */
static uint32_t context_of(const model_options *o)
{
    vitcl_text_info t = {.size = sizeof t};
    vitcl_text *text = NULL;
    const char *path;

    if (!o->preset && model_word(o) &&
        find_model(&path, model_word(o)) == EXIT_OK &&
        vitcl_text_new(&text, NULL, path, NULL) == VITCL_OK &&
        vitcl_text_describe(&t, text) != VITCL_OK)
        t.context = 0;
    vitcl_text_free(text);
    return t.context;
}

static void print_json(const vitcl_model_info *m, const about *a)
{
    json_put("{model:%s family:%s architecture:%s layers:%u width:%u heads:%u "
             "mlp:%u classes:%u trained_height:%u trained_width:%u height:%u "
             "picture_width:%u pixels:%s patch:%u tokens:%u",
             a->name, m->family, m->name, m->layers, m->width, m->heads, m->mlp,
             m->classes, m->trained_height, m->trained_width, a->size.height,
             a->size.width, a->pixels, m->patch, m->tokens);
    if (a->patches)
        json_put("max_num_patches:%u", a->patches);
    if (a->context)
        json_put("text_tokens:%u", a->context);
    json_put("parameters:%llu gmac:%.6f batch:%u weights_bytes:%llu "
             "activation_bytes:%llu tensor_bytes:%llu}\n",
             (unsigned long long)m->parameters, m->gmac, a->batch,
             (unsigned long long)m->weights_bytes,
             (unsigned long long)m->activation_bytes,
             (unsigned long long)m->tensor_bytes);
}

enum { VALUE = 13, LINE = 256 }; /* the column of values */

/* Wrapped in a terminal. */
static void line(const char *key, const char *text)
{
    printf("%-12s ", key);
    put_wrapped(text, VALUE, VALUE, terminal_columns());
}

static void print_layers(const vitcl_model_info *m)
{
    char text[LINE];
    int n = snprintf(text, sizeof text, "%u of width %u", m->layers, m->width);

    if (m->heads) /* a ResNet has none */
        snprintf(text + n, sizeof text - (size_t)n, ", %u head%s, MLP %u",
                 m->heads, vt_plural(m->heads), m->mlp);
    line("layers", text);
}

static void print_picture(const vitcl_model_info *m, frame_size size,
                          const char *pixels)
{
    const bool pillow = strcmp(pixels, "pillow") == 0;
    char trained[LINE / 2] = "", text[LINE];

    if (size.height != m->trained_height || size.width != m->trained_width)
        snprintf(trained, sizeof trained, " (trained at %ux%u)",
                 m->trained_height, m->trained_width);
    snprintf(text, sizeof text, "%ux%u%s, patches of %u, %u token%s%s%s",
             size.height, size.width, trained, m->patch, m->tokens,
             vt_plural(m->tokens), pillow ? "" : ", resized as by ",
             pillow ? "" : pixels);
    line("picture", text);
}

static void print_memory(const vitcl_model_info *m, uint32_t batch)
{
    char weights[BYTES_TEXT], activations[BYTES_TEXT], text[LINE];

    bytes_text(weights, (double)m->weights_bytes);
    bytes_text(activations, (double)m->activation_bytes);
    snprintf(text, sizeof text,
             "%s weights, %s activations for a batch of %u (f32)", weights,
             activations, batch);
    line("memory", text);
}

/* NaFlex: what pictures get unless --size is given. */
static void print_patches(uint32_t patches)
{
    char text[LINE];

    snprintf(
        text, sizeof text,
        "any, of at most %u patch%s; the numbers are of the largest square",
        patches, patches == 1 ? "" : "es");
    line("aspect ratio", text);
}

static void print_text(const vitcl_model_info *m, const about *a)
{
    printf("%-12s ", "model");
    put_text(a->name, SIZE_MAX);
    printf("\n%-12s %s%s", "family", m->family, m->name[0] ? " (" : "");
    put_text(m->name, SIZE_MAX);
    printf("%s\n", m->name[0] ? ")" : "");
    print_layers(m);
    if (m->classes)
        printf("%-12s %u\n", "classes", m->classes);
    else
        printf("%-12s none: features only\n", "classes");
    print_picture(m, a->size, a->pixels);
    if (a->patches)
        print_patches(a->patches);
    if (a->context)
        printf("%-12s at most %u tokens\n", "texts", a->context);
    printf("%-12s %llu\n", "parameters", (unsigned long long)m->parameters);
    printf("%-12s %.3f GMAC a picture\n", "work", m->gmac);
    print_memory(m, a->batch);
}

static int run(void *into, const words *operands)
{
    const info *o = into;
    vitcl_model *model = NULL;
    vitcl_model_info m = {.size = sizeof m};
    about a = {.size = o->common.size,
               .batch = o->common.batch ? o->common.batch : 1};
    int code;

    (void)operands;
    TRY(open_model(NULL, &model, &o->common));
    TRY(vitcl_model_describe(&m, model, a.size.height, a.size.width, a.batch));
    a.patches = a.size.height ? 0 : vt_model_most_patches(model);
    a.size.height = a.size.height ? a.size.height : m.input_height;
    a.size.width = a.size.width ? a.size.width : m.input_width;
    a.name = model_name(&o->common);
    a.pixels = vt_model_resize(model);
    a.context = context_of(&o->common);
    (o->json ? print_json : print_text)(&m, &a);
done:
    vitcl_model_free(model);
    return code;
}

const command cmd_info = {
    "info",
    "",
    "Print a model's size and cost",
    "Parameters, multiply-accumulates (GMAC) a picture, tokens, and the device "
    "memory that a batch takes. No device is needed.",
    options,
    sizeof(info),
    run};
