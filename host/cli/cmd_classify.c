/*
 * cmd_classify.c - classifies pictures.
 *
 * Results are in input order, including failures. In a pipe there is one line
 * per class: picture, rank, label, name, probability, separated by tabs.
 */
#include "cmd.h"

#include <stdlib.h>
#include <string.h>

typedef struct classify {
    model_options common;
    uint32_t k;
    picture_options pictures;
    bool json;
    const char *logits;
} classify;

static const opt options[] = {
    OPT_MODEL(classify),
    {'k', "top", OPT_COUNT, "N", "classes a picture (default 5)",
     offsetof(classify, k)},
    OPT_DEVICE(classify),
    OPT_BATCH(classify, "pictures at a time (default: 8 on a CPU, 32 on a GPU, "
                        "fewer for few)"),
    OPT_SIDES(classify),
    OPT_RUN(classify),
    {0, "json", OPT_FLAG, NULL, "one JSON object a line",
     offsetof(classify, json)},
    {0, "logits", OPT_FILE, "FILE.npy|FILE.safetensors",
     "also write logits [pictures, classes]", offsetof(classify, logits)},
    OPT_PICTURES(classify),
    OPT_DONE};

typedef struct work {
    answering on;
    const classify *o;
    uint32_t classes, k;
    vitcl_class *top;
    bool pretty;
} work;

/* ---- printing ---- */

static void print_json(const work *w, const answer *a)
{
    printf("{\"picture\":");
    json_string(a->path);
    if (a->error) {
        printf(",\"error\":");
        json_string(a->error);
        printf("}\n");
        return;
    }
    printf(",\"top\":[");
    for (uint32_t i = 0; i < w->k; i++) {
        printf("%s{\"index\":%u,\"label\":", i ? "," : "", w->top[i].label);
        json_string(vitcl_model_label(w->on.model, w->top[i].label));
        printf(",\"name\":");
        json_string(vitcl_model_name(w->on.model, w->top[i].label));
        printf(",\"probability\":");
        json_number((double)w->top[i].probability);
        printf("}");
    }
    printf("]}\n");
}

static void print_tsv(const work *w, const answer *a)
{
    for (uint32_t i = 0; i < w->k; i++) {
        const char *label = vitcl_model_label(w->on.model, w->top[i].label);

        tsv_text(a->path);
        printf("\t%u\t", i + 1);
        if (label)
            tsv_text(label);
        else
            printf("%u", w->top[i].label);
        printf("\t");
        tsv_text(vitcl_model_name(w->on.model, w->top[i].label));
        printf("\t%.6f\n", (double)w->top[i].probability);
    }
}

static void print_class(const work *w, const vitcl_class *c, bool brief)
{
    const char *name = vitcl_model_name(w->on.model, c->label);

    if (!name)
        name = vitcl_model_label(w->on.model, c->label);
    if (name)
        put_text(name, brief ? strcspn(name, ",") : SIZE_MAX);
    else
        printf("class %u", c->label);
    printf(c->probability < 0.0095f ? " %.1f %%" : " %.0f %%",
           100 * (double)c->probability);
}

/* The best class on one line, the other relevant ones on the next. */
static void print_pretty(const work *w, const answer *a)
{
    printf("\033[1m");
    tsv_text(a->path);
    printf("\033[0m  ");
    print_class(w, &w->top[0], false);
    for (uint32_t i = 1; i < w->k && w->top[i].probability >= 0.001f; i++) {
        printf("%s", i == 1 ? "\n    or " : ", ");
        print_class(w, &w->top[i], true);
    }
    printf("\n");
}

static void print(void *context, const answer *a, float *logits)
{
    work *w = context;

    if (!a->error)
        vitcl_top(w->top, w->k, logits, w->classes);
    if (w->o->json)
        print_json(w, a);
    else if (!a->error)
        (w->pretty ? print_pretty : print_tsv)(w, a);
}

/* ---- running ---- */

static int prepare(work *w)
{
    vitcl_shape row = {.name = "logits", .rank = 1};
    int code = answering_open(&w->on, NULL);

    if (code != EXIT_OK)
        return code;
    w->classes = vitcl_session_classes(w->on.session);
    if (!w->classes)
        return fail("this model has no classifier; `vitcl embed` writes its "
                    "features");
    w->k = w->o->k ? w->o->k : 5;
    w->k = w->k < w->classes ? w->k : w->classes;
    w->top = calloc(w->k, sizeof *w->top);
    if (!w->top)
        return fail("out of memory");
    row.shape[0] = w->on.share = w->on.used = w->classes;
    return answering_start(&w->on, w->o->logits, &row);
}

static int run(void *into, const words *operands)
{
    const classify *o = into;
    work w = {.o = o, .pretty = is_terminal(stdout)};
    int code;

    if (!operands->count)
        return usage("no pictures given; name files or folders, or - for a "
                     "list on standard input");
    w.on = (answering){.common = &o->common,
                       .operands = operands,
                       .pictures = &o->pictures,
                       .done = "named",
                       .tensor = "logits",
                       .print = print,
                       .context = &w};
    code = prepare(&w);
    if (code == EXIT_OK)
        code = answering_run(&w.on);
    answering_close(&w.on);
    free(w.top);
    return code;
}

const command cmd_classify = {
    "classify",
    "PICTURE|FOLDER|-...",
    "Name what pictures show",
    "Folders are read in sorted order; - reads a list of paths from standard "
    "input.\nIn a pipe each class is a line: picture, rank, label, name, "
    "probability, separated\nby tabs. A picture that cannot be read is "
    "reported on stderr (its row of\n--logits is NaN), the others are "
    "answered, and the exit status is 1.",
    options,
    sizeof(classify),
    run};
