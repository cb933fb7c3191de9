/*
 * cmd_fewshot.c - rates frozen features: ridge regression on a few pictures per
 * class.
 */
#include "api/program.h"
#include "base/status.h"
#include "cli/training/scoring.h"

#include <stdlib.h>
#include <vitcl_train.h>

typedef struct fewshot {
    model_options common;
    const char *data, *by;
    words shots;
    uint32_t tries;
    natural random_state;
    bool json, strict, follow;
    table_options table;
} fewshot;

static const opt options[] = {
    OPT_MODEL(fewshot),
    OPT_RULED(
        fewshot, 0, "data", OPT_TEXT, "PATH",
        "class folders in train/ and in test/ or val/, a table FILE.csv with "
        "both, or CIFAR's or MNIST's own files",
        data, .unless = ""),
    OPT_FOLLOW(fewshot, follow),
    OPT_TABLE(fewshot),
    OPT_ROW(fewshot, 0, "shots", OPT_LIST, "N",
            "training pictures per class; may be given again (default 10)",
            shots),
    OPT_ROW(fewshot, 0, "tries", OPT_COUNT, "N",
            "choices of them to average (default 3)", tries),
    OPT_ROW(fewshot, 0, "random-state", OPT_NATURAL, "N",
            "seed of the choices (default 0)", random_state),
    OPT_CLASSES_BY(fewshot),
    OPT_STRICT(fewshot),
    OPT_ROW(fewshot, 0, "json", OPT_FLAG, NULL,
            "one JSON object per line, one for each --shots", json),
    OPT_DEVICE(fewshot),
    OPT_BATCH(fewshot, "pictures at a time (default 8)"),
    OPT_SIDES(fewshot),
    OPT_PATCHES(fewshot),
    OPT_PIXELS(fewshot),
    OPT_RUN(fewshot),
    OPT_ANY_BATCH(fewshot),
    OPT_DONE};

enum { SHOTS_MAX = 16 };

typedef struct work {
    scoring on;
    vitcl_dataset *train, *test;
    vt_fewshot_score scores[SHOTS_MAX];
    uint32_t count;
} work;

static int read_shots(work *w, const words *given)
{
    static const char *const usual[] = {"10"};
    const char *const *item =
        given->count ? (const char *const *)given->item : usual;
    const size_t n = given->count ? given->count : 1;

    if (n > SHOTS_MAX)
        return usage("--shots can be given at most %d times", SHOTS_MAX);
    for (size_t i = 0; i < n; i++) {
        char *end;
        const unsigned long v = strtoul(item[i], &end, 10);

        if (item[i][0] < '0' || item[i][0] > '9' || *end || v < 1 || v > 100000)
            return usage("--shots must be a number from 1 to 100000, not '%s'",
                         item[i]);
        w->scores[w->count++].shots = (uint32_t)v;
    }
    return EXIT_OK;
}

/* On stderr, so that stdout has one line a score. */
static void say_few(const work *w)
{
    for (uint32_t i = 0; i < w->count; i++) {
        const vt_fewshot_score *s = &w->scores[i];

        if (s->few && s->shots == 1)
            note("%u class%s no training pictures", s->few,
                 s->few == 1 ? " has" : "es have");
        else if (s->few)
            note("%u class%s fewer than %u training pictures; all of them are "
                 "used",
                 s->few, s->few == 1 ? " has" : "es have", s->shots);
    }
}

static int score(work *w, const fewshot *o)
{
    uint32_t broken = 0;

    scoring_begin(&w->on);
    RET(scoring_end(
        &w->on, vt_fewshot_run(w->scores, w->count, o->tries ? o->tries : 3,
                               o->random_state.value, w->on.session, w->train,
                               w->test, scoring_progress, &w->on)));
    say_few(w);
    for (uint32_t i = 0; i < w->count; i++) {
        const vt_fewshot_score *s = &w->scores[i];

        if (o->json)
            json_put("{shots:%u mean:%.6f sd:%.6f}\n", s->shots, s->mean,
                     s->sd);
        else
            printf("%u shot%s\t%.4f\t+- %.4f\n", s->shots, vt_plural(s->shots),
                   s->mean, s->sd);
        broken = s->failed > broken ? s->failed : broken;
    }
    say_model(&o->common);
    return scoring_failed(broken);
}

static int run(void *into, const words *operands)
{
    const fewshot *o = into;
    work w = {.on.lock = PTHREAD_MUTEX_INITIALIZER};
    char columns[TABLE_COLUMNS];
    int code;

    (void)operands;
    TRY(read_shots(&w, &o->shots));
    TRY(table_columns(columns, &o->table));
    if (o->tries > 1000)
        return usage("--tries must be a whole number from 1 to 1000, not '%u'",
                     o->tries);
    TRY(scoring_data(&w.train, o->data, "train", o->follow, columns));
    TRY(scoring_data(&w.test, o->data, NULL, o->follow, columns));
    TRY(scoring_shared(w.test, w.train, NULL, false, columns));
    if (classes_by_number(o->by))
        TRY(vt_dataset_use_numbers(w.test));
    TRY(scoring_broken(&w.on, w.train, o->strict));
    TRY(scoring_broken(&w.on, w.test, o->strict));
    TRY(scoring_open(&w.on, &o->common));
    TRY(score(&w, o));
done:
    scoring_close(&w.on);
    vitcl_dataset_free(w.train);
    vitcl_dataset_free(w.test);
    return code;
}

const command cmd_fewshot = {
    "fewshot",
    "",
    "Test frozen features with a few pictures per class",
    "Ridge regression in closed form from the features of a few training "
    "pictures per class; prints the accuracy on the test pictures, mean and "
    "deviation over several choices.",
    options,
    sizeof(fewshot),
    run};
