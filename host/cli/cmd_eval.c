/*
 * cmd_eval.c - the accuracy of a model on labelled pictures.
 */
#include "api/program.h"
#include "cli/answers/sharding.h"
#include "cli/texts/label_set.h"
#include "cli/training/eval_devices.h"
#include "cli/training/scores.h"
#include "cli/training/scoring.h"

#include <stdlib.h>
#include <string.h>
#include <vitcl_train.h>

typedef struct eval {
    model_options common;
    const char *data, *split, *labels, *by, *output;
    score_options how;
    picture_options pictures; /* of which only shard is used */
    bool strict, follow;
    table_options table;
    text_options texts;
} eval;

static const opt options[] = {
    OPT_MODEL(eval),
    OPT_RULED(
        eval, 0, "data", OPT_TEXT, "PATH",
        "class folders, also in test/ or val/, a table FILE.csv, or CIFAR's or "
        "MNIST's files",
        data, .unless = ""),
    OPT_ROW(eval, 0, "split", OPT_TEXT, "NAME",
            "part of the data (default: test or val, where there is one)",
            split),
    OPT_FOLLOW(eval, follow),
    OPT_TABLE(eval),
    OPT_ROW(
        eval, 0, "labels", OPT_TEXT, "FILE",
        "JSON: several right classes per picture, such as ImageNet's real.json",
        labels),
    OPT_CLASSES_BY(eval),
    OPT_PROMPT(eval, NULL),
    OPT_LOWER(eval, NULL),
    OPT_SCORES(eval, how),
    OPT_STRICT(eval),
    OPT_SHARD(eval),
    OPT_ROW(
        eval, 'o', "output", OPT_FILE, "FILE.json",
        "with --shard: the counts, which merge adds up; {shard} in the name is "
        "00002-of-00007",
        output),
    OPT_DEVICE(eval),
    OPT_DEVICES(eval),
    OPT_BATCH(eval, "pictures at a time (default 8)"),
    OPT_SIDES(eval),
    OPT_PATCHES(eval),
    OPT_PIXELS(eval),
    OPT_RUN(eval),
    OPT_ANY_BATCH(eval),
    OPT_DONE};

typedef struct work {
    const eval *o;
    scoring on;
    vitcl_dataset *dataset;
    sharding part;
    vt_tally tally;
    vitcl_scores scores;
    label_set set; /* the classes' names, of a model without a classifier */
} work;

/* ---- classes by their names ---- */

/* Folders are often named for shells: "red_car". */
static int name_labels(label_set *s, const vitcl_dataset *dataset,
                       const char *data)
{
    for (uint32_t i = 0; i < vitcl_dataset_classes(dataset); i++) {
        const char *name = vitcl_dataset_class(dataset, i);

        if (!name || !lines_add(&s->labels, name, strlen(name)))
            return name ? fail("out of memory")
                        : fail("%s: its classes have no names", data);
        for (char *c = s->labels.item[i]; *c; c++)
            *c = *c == '_' ? ' ' : *c;
    }
    return label_set_check(s, data, " (_ is read as a space)", EXIT_FAILED);
}

/* Where the model has no classifier, but a text tower. */
static int open_labels(work *w)
{
    const eval *o = w->o;
    vitcl_model_info info = {.size = sizeof info};
    int code;

    TRY(vitcl_model_describe(&info, w->on.model, 0, 0, 1));
    if (info.classes && (o->texts.prompts.count || o->texts.lower))
        return usage("this model has a classifier; leave %s out",
                     o->texts.lower ? "--lower-case" : "--prompt");
    if (info.classes)
        return EXIT_OK;
    TRY(name_labels(&w->set, w->dataset, o->data));
    TRY(label_set_open(&w->set, w->on.device, w->on.model, &o->common,
                       &o->texts, vitcl_session_features(w->on.session),
                       "this model has no classifier"));
done:
    w->on.vectors = w->set.vector;
    return code;
}

/* ---- counts ---- */

static bool copy_name(char **out, const char *name)
{
    *out = name ? strdup(name) : NULL;
    return *out || !name;
}

/* Room for the counts, with the names of classes. */
static int make_tally(work *w)
{
    const score_options *how = &w->o->how;
    const bool counted = how->classes || how->confusion || w->part.shard.n;
    vitcl_model_info info = {.size = sizeof info};
    vt_tally *t = &w->tally;
    bool good = true;

    if (vitcl_model_describe(&info, w->on.model, 0, 0, 1) != VITCL_OK)
        return failed();
    if (w->on.vectors)
        info.classes = vitcl_dataset_classes(w->dataset);
    if (vt_tally_new(t, vitcl_dataset_classes(w->dataset), info.classes,
                     counted && info.classes) != VITCL_OK)
        return failed();
    t->real = w->o->labels != NULL;
    for (uint32_t i = 0; good && i < t->rows; i++)
        good = copy_name(&t->name[i], vitcl_dataset_class(w->dataset, i));
    for (uint32_t k = 0; good && t->answers && k < t->columns; k++)
        good = copy_name(&t->label[k], w->on.vectors
                                           ? vitcl_dataset_class(w->dataset, k)
                                           : vitcl_class_label(w->on.model, k));
    return good ? EXIT_OK : fail("out of memory for names of classes");
}

static int count(work *w)
{
    vitcl_scores *got = &w->scores;
    vt_tally *t = &w->tally;

    scoring_begin(&w->on);
    RET(eval_devices(got, t, &w->on, w->dataset, w->part.shard));
    t->pictures = got->pictures, t->failed = got->failed;
    t->right1 = got->right1, t->right5 = got->right5;
    t->real_pictures = got->real_pictures, t->real_right = got->real_right;
    for (uint32_t i = 0; t->answers && w->on.vectors && i < t->rows; i++)
        t->match[i] = i;
    if (t->answers && !w->on.vectors)
        RET(vt_dataset_match(t->match, w->dataset, w->on.model));
    if (got->real_by_number)
        note("%s gives classes by number: the model's numbers are taken",
             w->o->labels);
    return EXIT_OK;
}

/* ---- a worker's part ---- */

static int open_part(work *w)
{
    const eval *o = w->o;
    row_settings rows = {.command = "eval"};
    char common[SHARDING_COMMON], labels[65] = "none", set[LABEL_SET_ID] = "";

    if (o->output && o->labels &&
        vt_manifest_identify(labels, o->labels) != VITCL_OK)
        return failed();
    sharding_common(common, sizeof common, &o->common);
    if (o->texts.prompts.count)
        label_set_identity(set, &w->set);
    snprintf(rows.text, sizeof rows.text,
             "classes-by=%s labels=%.16s%s%s%.16s%s", o->by ? o->by : "name",
             labels, common, set[0] ? " prompts=" : "", set,
             o->texts.lower ? " lower-case" : "");
    return sharding_open(&w->part, &o->pictures, o->output, NULL, &o->common,
                         &rows);
}

/* How many pictures all workers have, and a hash of them. */
static int identify(uint64_t *count, uint64_t *names, const work *w)
{
    char id[65], *end;

    if (vt_dataset_identity(id, w->dataset) != VITCL_OK)
        return failed();
    id[16] = '\0';
    *names = strtoull(id, &end, 16);
    *count = vitcl_dataset_pictures(w->dataset);
    return EXIT_OK;
}

static int write_part(work *w)
{
    vt_manifest *about = &w->part.about;

    RET(identify(&about->input, &about->names, w));
    about->rows = w->tally.pictures + w->tally.failed;
    about->failed = w->tally.failed;
    sharding_computed(&w->part, &w->on.devices);
    RET(sharding_redirect(&w->part));
    vt_tally_write(stdout, &w->tally);
    return sharding_commit(&w->part, EXIT_OK);
}

/* ---- the command ---- */

static int check(const eval *o)
{
    if (!o->pictures.shard != !o->output)
        return usage("--shard and -o FILE.json belong together: a worker "
                     "writes counts, which vitcl merge adds up");
    if (o->output && (o->how.classes || o->how.confusion || o->how.json))
        return usage("with --shard, vitcl merge takes --classes, --confusion "
                     "and --json");
    return EXIT_OK;
}

static int open_data(work *w)
{
    const eval *o = w->o;
    const bool by_number = classes_by_number(o->by);
    char columns[TABLE_COLUMNS];

    RET(table_columns(columns, &o->table));
    RET(scoring_data(&w->dataset, o->data, o->split, o->follow, columns));
    if (!o->split || strcmp(o->split, "train") != 0)
        RET(scoring_shared(w->dataset, NULL, o->data, o->follow, columns));
    if (o->labels)
        RET(vt_dataset_add_labels(w->dataset, o->labels));
    if (by_number)
        RET(vt_dataset_use_numbers(w->dataset));
    return scoring_broken(&w->on, w->dataset, o->strict);
}

/* The part is finished: of these pictures? */
static int compare_part(work *w)
{
    vt_manifest asked = {.input = 0};

    RET(open_data(w));
    RET(identify(&asked.input, &asked.names, w));
    return sharding_same(&w->part, &asked);
}

/* A model that does not answer with one class a picture. What is counted by
 * class, or added up from parts, it does not have. */
static int score_map_mse(work *w, vitcl_answer kind)
{
    const eval *o = w->o;
    const vitcl_scores *got = &w->scores;
    const bool numbers = kind == VITCL_NUMBERS;
    const char *other = o->how.classes      ? "--classes"
                        : o->how.confusion  ? "--confusion"
                        : o->output         ? "--shard"
                        : o->common.devices ? "--devices"
                                            : NULL;

    if (other)
        return usage("this model answers with %s; leave %s out",
                     numbers ? "numbers (regression)"
                             : "any number of classes per picture",
                     other);
    scoring_begin(&w->on);
    RET(scoring_end(&w->on,
                    vitcl_evaluate(&w->scores, NULL, w->on.session, w->dataset,
                                   scoring_progress, &w->on)));
    if (!numbers && got->pictures && !got->ranked_classes)
        return fail("no picture has a class of the model: there is no "
                    "precision");
    scores_number(got, numbers ? "mse" : "map",
                  numbers ? got->squared_error : got->average_precision,
                  o->how.json);
    return scoring_failed(got->failed);
}

static int score(work *w)
{
    vitcl_answer kind;

    RET(open_data(w));
    RET(scoring_open(&w->on, &w->o->common));
    RET(open_labels(w));
    kind = w->on.vectors ? VITCL_ONE_CLASS : vitcl_model_answer(w->on.model);
    if (kind != VITCL_ONE_CLASS)
        return score_map_mse(w, kind);
    RET(make_tally(w));
    RET(count(w));
    RET(w->o->output ? write_part(w) : scores_tell(&w->tally, &w->o->how));
    say_model(&w->o->common);
    /* a part counts them */
    return w->o->output ? EXIT_OK : scoring_failed(w->scores.failed);
}

static int run(void *into, const words *operands)
{
    const eval *o = into;
    work w = {.o = o,
              .on.lock = PTHREAD_MUTEX_INITIALIZER,
              .part.stdout_fd = -1,
              .scores = {.size = sizeof w.scores}};
    int code;

    (void)operands;
    TRY(check(o));
    TRY(scores_ready(&o->how));
    TRY(label_set_read(&w.set, NULL, &o->texts.prompts));
    TRY(open_part(&w));
    TRY(w.part.finished ? compare_part(&w) : score(&w));
done:
    vt_tally_free(&w.tally);
    label_set_close(&w.set);
    sharding_close(&w.part);
    scoring_close(&w.on);
    vitcl_dataset_free(w.dataset);
    return code;
}

const command cmd_eval = {
    "eval",
    "",
    "Score a model on labelled pictures",
    "Prints the share of pictures whose label is the model's first answer "
    "(top1) or among its first five (top5), and the expected calibration "
    "error of the first answers (calibration_error; 15 bins). Classes are "
    "matched by label or "
    "name. With --labels also the share whose first answer is one of the "
    "picture's classes (real), over pictures that have any. A model of "
    "pictures and texts, such as CLIP, tells the classes apart by their names, "
    "in which _ is read as a space. For a model with several classes per "
    "picture it prints the mean average precision (map), for a regression the "
    "mean squared error (mse). Pictures that cannot be decoded are named and "
    "left out.",
    options,
    sizeof(eval),
    run};
