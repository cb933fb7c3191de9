/*
 * cmd_eval.c - the accuracy of a model on labelled pictures.
 */
#include "cmd.h"
#include "confusion.h"

#include <stdlib.h>
#include <vitcl_train.h>

typedef struct eval {
    model_options common;
    const char *data, *split, *labels, *by, *confusion;
    bool json, classes, strict;
} eval;

static const opt options[] = {
    OPT_MODEL(eval),
    {0, "data", OPT_TEXT, "PATH",
     "class folders, also in test/ or val/, or CIFAR's or MNIST's files",
     offsetof(eval, data)},
    {0, "split", OPT_TEXT, "NAME",
     "part of the data (default: test or val, where there is one)",
     offsetof(eval, split)},
    {0, "labels", OPT_TEXT, "FILE",
     "JSON: several right classes a picture, such as ImageNet's real.json",
     offsetof(eval, labels)},
    OPT_CLASSES_BY(eval),
    {0, "classes", OPT_FLAG, NULL,
     "also precision, recall, F1 of each class, and what is confused",
     offsetof(eval, classes)},
    {0, "confusion", OPT_FILE, "FILE.csv|FILE.png|FILE.svg",
     "write the confusion matrix", offsetof(eval, confusion)},
    OPT_STRICT(eval),
    {0, "json", OPT_FLAG, NULL, "one JSON object", offsetof(eval, json)},
    OPT_DEVICE(eval),
    OPT_BATCH(eval, "pictures at a time (default 8)"),
    OPT_SIDES(eval),
    OPT_RUN(eval),
    OPT_DONE};

typedef struct work {
    scoring on;
    vitcl_dataset *dataset;
    uint32_t *answers; /* [rows][columns]; NULL: not asked for */
    uint32_t rows, columns;
    confusion confusion;
    vitcl_scores scores;
    bool real;
} work;

static void print_json(const work *w, bool classes)
{
    printf("{\"pictures\":%u,\"failed\":%u,\"classes\":%u,\"top1\":",
           w->scores.pictures, w->scores.failed, w->rows);
    json_number(w->scores.top1);
    printf(",\"top5\":");
    json_number(w->scores.top5);
    if (w->real) {
        printf(",\"real_pictures\":%u,\"real\":", w->scores.real_pictures);
        json_number(w->scores.real);
    }
    if (classes && w->answers)
        confusion_json(&w->confusion, w->answers, w->columns);
    printf("}\n");
}

static void print_text(const work *w, bool classes)
{
    printf("pictures\t%u\ntop1\t%.4f\ntop5\t%.4f\n", w->scores.pictures,
           w->scores.top1, w->scores.top5);
    if (w->real)
        printf("real_pictures\t%u\nreal\t%.4f\n", w->scores.real_pictures,
               w->scores.real);
    if (w->scores.failed)
        printf("failed\t%u\n", w->scores.failed);
    if (classes && w->answers)
        confusion_print(&w->confusion);
}

/* Prints and writes what was asked for. */
static int tell(work *w, const eval *o)
{
    int code = EXIT_OK;

    if (w->answers)
        code =
            confusion_make(&w->confusion, w->answers, w->dataset, w->on.model);
    if (code != EXIT_OK)
        return code;
    if (w->scores.real_by_number)
        note("%s gives classes by number: the model's numbers are taken",
             o->labels);
    (o->json ? print_json : print_text)(w, o->classes);
    if (o->confusion && w->answers)
        code = confusion_write(&w->confusion, o->confusion);
    return code == EXIT_OK ? scoring_failed(w->scores.failed) : code;
}

static int score(work *w, const eval *o)
{
    vitcl_model_info info = {.size = sizeof info};
    int code;

    if (vitcl_model_describe(&info, w->on.model, 0, 0, 1) != VITCL_OK)
        return failed();
    w->rows = vitcl_dataset_classes(w->dataset);
    w->columns = info.classes;
    if ((o->classes || o->confusion) && w->columns) {
        w->answers = calloc((size_t)w->rows * w->columns, sizeof *w->answers);
        if (!w->answers)
            return fail("out of memory for %u x %u answers", w->rows,
                        w->columns);
    }
    scoring_begin(&w->on);
    code = scoring_end(&w->on,
                       vitcl_evaluate(&w->scores, w->answers, w->on.session,
                                      w->dataset, scoring_progress, &w->on));
    return code == EXIT_OK ? tell(w, o) : code;
}

static int run(void *into, const words *operands)
{
    const eval *o = into;
    work w = {.scores = {.size = sizeof w.scores}};
    bool by_number;
    int code;

    if (operands->count)
        return usage("unexpected argument '%s'; see vitcl eval --help",
                     operands->item[0]);
    if (!o->data)
        return usage("--data PATH is required");
    if (o->confusion && confusion_ready(o->confusion) != EXIT_OK)
        return EXIT_FAILED;
    by_number = classes_by_number(o->by);
    if (vitcl_dataset_open(&w.dataset, o->data, o->split) != VITCL_OK)
        return failed();
    w.real = o->labels != NULL;
    if ((o->labels && vitcl_dataset_labels(w.dataset, o->labels) != VITCL_OK) ||
        (by_number && vitcl_dataset_by_number(w.dataset) != VITCL_OK)) {
        vitcl_dataset_free(w.dataset);
        return failed();
    }
    code = scoring_broken(&w.on, w.dataset, o->strict);
    if (code == EXIT_OK)
        code = scoring_open(&w.on, &o->common);
    if (code == EXIT_OK)
        code = score(&w, o);
    confusion_free(&w.confusion);
    free(w.answers);
    scoring_close(&w.on);
    vitcl_dataset_free(w.dataset);
    return code;
}

const command cmd_eval = {
    "eval",
    "",
    "Score a model on labelled pictures",
    "Prints the share of pictures whose label is the model's first answer "
    "(top1)\nor among its first five (top5). Classes are matched by label or "
    "name.\nWith --labels also the share whose first answer is one of the "
    "picture's\nclasses (real), over pictures that have any. Pictures that "
    "cannot be decoded are\nnamed and left out.",
    options,
    sizeof(eval),
    run};
