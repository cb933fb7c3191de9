/*
 * cmd_eval.c - the accuracy of a model on labelled pictures.
 */
#include "cmd.h"

#include <stdlib.h>
#include <vitcl_train.h>

typedef struct eval {
    model_options common;
    const char *data, *split, *labels, *by;
    bool json, classes;
} eval;

static const opt options[] = {
    OPT_MODEL(eval),
    {0, "data", OPT_TEXT, "PATH",
     "class folders, or CIFAR's or MNIST's own files", offsetof(eval, data)},
    {0, "split", OPT_TEXT, "NAME",
     "train or test (default: test, where there is one)",
     offsetof(eval, split)},
    {0, "labels", OPT_TEXT, "FILE",
     "JSON: several right classes a picture, such as ImageNet's real.json",
     offsetof(eval, labels)},
    OPT_CLASSES_BY(eval),
    {0, "classes", OPT_FLAG, NULL, "also each class and the confusion matrix",
     offsetof(eval, classes)},
    {0, "json", OPT_FLAG, NULL, "one JSON object", offsetof(eval, json)},
    OPT_DEVICE(eval),
    OPT_BATCH(eval, "pictures at a time (default 8)"),
    OPT_SIDES(eval),
    OPT_RUN(eval),
    OPT_DONE};

typedef struct work {
    scoring on;
    vitcl_dataset *dataset;
    uint32_t *confusion;
    uint32_t rows, columns;
    vitcl_scores scores;
    bool real;
} work;

/* The pictures of a class. The library counts the right ones, because the
 * model's column of a class is not known here. */
static uint32_t row_sum(const work *w, uint32_t row)
{
    uint32_t sum = 0;

    for (uint32_t k = 0; k < w->columns; k++)
        sum += w->confusion[(size_t)row * w->columns + k];
    return sum;
}

static void answers_json(const work *w, uint32_t row)
{
    bool first = true;

    printf("{\"class\":");
    json_string(vitcl_dataset_class(w->dataset, row));
    printf(",\"pictures\":%u,\"answers\":{", row_sum(w, row));
    for (uint32_t k = 0; k < w->columns; k++) {
        uint32_t n = w->confusion[(size_t)row * w->columns + k];

        if (n == 0)
            continue;
        printf("%s\"%u\":%u", first ? "" : ",", k, n);
        first = false;
    }
    printf("}}");
}

static void print_json(const work *w)
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
    if (w->confusion) {
        printf(",\"per_class\":[");
        for (uint32_t i = 0; i < w->rows; i++) {
            printf("%s", i ? "," : "");
            answers_json(w, i);
        }
        printf("]");
    }
    printf("}\n");
}

static void print_text(const work *w)
{
    printf("pictures\t%u\ntop1\t%.4f\ntop5\t%.4f\n", w->scores.pictures,
           w->scores.top1, w->scores.top5);
    if (w->real)
        printf("real_pictures\t%u\nreal\t%.4f\n", w->scores.real_pictures,
               w->scores.real);
    if (w->scores.failed)
        printf("failed\t%u\n", w->scores.failed);
    for (uint32_t i = 0; w->confusion && i < w->rows; i++) {
        tsv_text(vitcl_dataset_class(w->dataset, i));
        printf("\t%u", row_sum(w, i));
        for (uint32_t k = 0; k < w->columns; k++) {
            uint32_t n = w->confusion[(size_t)i * w->columns + k];

            if (n)
                printf("\t%u:%u", k, n);
        }
        printf("\n");
    }
}

static int score(work *w, const eval *o)
{
    vitcl_model_info info = {.size = sizeof info};
    int code;

    if (vitcl_model_describe(&info, w->on.model, 0, 0, 1) != VITCL_OK)
        return failed();
    w->rows = vitcl_dataset_classes(w->dataset);
    w->columns = info.classes;
    if (o->classes && w->columns) {
        w->confusion =
            calloc((size_t)w->rows * w->columns, sizeof *w->confusion);
        if (!w->confusion)
            return fail("out of memory for %u x %u answers", w->rows,
                        w->columns);
    }
    scoring_begin(&w->on);
    code = scoring_end(&w->on,
                       vitcl_evaluate(&w->scores, w->confusion, w->on.session,
                                      w->dataset, scoring_progress, &w->on));
    if (code != EXIT_OK)
        return code;
    if (w->scores.real_by_number)
        note("%s gives classes by number: the model's numbers are taken",
             o->labels);
    (o->json ? print_json : print_text)(w);
    return scoring_failed(w->scores.failed);
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
    by_number = classes_by_number(o->by);
    if (vitcl_dataset_open(&w.dataset, o->data, o->split) != VITCL_OK)
        return failed();
    w.real = o->labels != NULL;
    if ((o->labels && vitcl_dataset_labels(w.dataset, o->labels) != VITCL_OK) ||
        (by_number && vitcl_dataset_by_number(w.dataset) != VITCL_OK)) {
        vitcl_dataset_free(w.dataset);
        return failed();
    }
    code = scoring_open(&w.on, &o->common);
    if (code == EXIT_OK)
        code = score(&w, o);
    free(w.confusion);
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
    "picture's\nclasses (real), over pictures that have any.",
    options,
    sizeof(eval),
    run};
