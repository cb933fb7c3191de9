/*
 * cmd_study.c - vitcl study: the options are checked here, and the package
 * vitcl.study does the rest, as a process that replaces this one.
 *
 * What only this program knows it asks by words that no user needs: @pictures,
 * @device and @model. The answer's fields end with NUL, since a path may have
 * any other character.
 */
#include "api/program.h"
#include "cli/setup/setup.h"
#include "cli/setup/start.h"
#include "plot/figure.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

typedef struct study_options {
    const char *data, *output, *device, *model, *precision;
    double minutes;
    uint32_t tries, jobs, threads, epochs, pictures, tests;
    bool dry_run, follow;
    table_options table;
} study_options;

static const opt options[] = {
    OPT_ROW(study_options, 'm', "model", OPT_TEXT, "DIR",
            "for transfer: checkpoint to begin with; without: pre-trains on "
            "some of the classes",
            model),
    OPT_ROW(study_options, 0, "data", OPT_TEXT, "PATH",
            "class folders, a table FILE.csv, or CIFAR's or MNIST's own files",
            data),
    OPT_FOLLOW(study_options, follow),
    OPT_TABLE(study_options),
    OPT_ROW(study_options, 'o', "output", OPT_TEXT, "DIR",
            "output folder (default: study-NAME); an interrupted study is "
            "resumed there",
            output),
    OPT_ROW(study_options, 0, "minutes", OPT_REAL, "M",
            "about how long it may take; decides pictures and epochs "
            "(default 12)",
            minutes),
    OPT_ROW(study_options, 0, "tries", OPT_COUNT, "N",
            "training runs of each arm, to average (default 3)", tries),
    OPT_ROW(study_options, 0, "jobs", OPT_COUNT, "N",
            "training runs at a time (default 1)", jobs),
    OPT_ROW(study_options, 0, "dry-run", OPT_FLAG, NULL,
            "only print the runs, their work and time, from a measured step; "
            "writes nothing",
            dry_run),
    OPT_ROW(study_options, 0, "pictures", OPT_COUNT, "N",
            "training pictures, instead of what fits into the minutes",
            pictures),
    OPT_ROW(study_options, 0, "epochs", OPT_COUNT, "N",
            "passes over them, instead of what fits", epochs),
    OPT_ROW(study_options, 0, "test-pictures", OPT_COUNT, "N",
            "test pictures (default 2000)", tests),
    OPT_ROW(study_options, 'd', "device", OPT_TEXT, "DEV",
            "0:1, part of a name, cpu, gpu or any; else VITCL_DEVICE", device),
    OPT_THREADS(study_options, threads),
    OPT_ROW(study_options, 0, "precision", OPT_CHOICE, "f32|bf16|f16",
            "number format of the multiplications (default f32)", precision),
    OPT_DONE};

/* ---- questions of the package ---- */

static int put_pictures(const study_options *o, const char *columns)
{
    vitcl_status st = VITCL_OK;

    for (int test = 0; st == VITCL_OK && test < 2; test++)
        st = vt_dataset_list(stdout, o->data, !test, o->follow,
                             columns[0] ? columns : NULL);
    return st == VITCL_OK ? EXIT_OK : failed();
}

static int put_device(const study_options *o)
{
    vitcl_device *device = NULL;
    vitcl_device_info info = {.size = sizeof info};
    vitcl_status st = vitcl_device_open(&device, o->device);

    if (st == VITCL_OK)
        st = vitcl_device_describe(&info, device);
    vitcl_device_free(device);
    if (st != VITCL_OK)
        return failed();
    printf("%s%c%llu%c%llu%c", info.name, 0,
           (unsigned long long)info.memory_bytes, 0,
           (unsigned long long)info.max_alloc_bytes, 0);
    return EXIT_OK;
}

static int put_model(const study_options *o)
{
    const char *path;
    char real[PATH_MAX];
    int code = find_model(&path, o->model);

    if (code == EXIT_OK)
        printf("%s%c", realpath(path, real) ? real : path, 0);
    return code;
}

/* ---- the package ---- */

enum { WORDS = 64, WORD = 32 };
typedef struct word_list {
    char *word[WORDS];
    size_t count;
    char number[WORDS][WORD];
} word_list;

static void put(word_list *w, const char *word)
{
    if (w->count + 1 < WORDS)
        memcpy(&w->word[w->count++], &word, sizeof word); /* exec's char * */
}

static void put_text_option(word_list *w, const char *name, const char *value)
{
    if (value)
        put(w, name), put(w, value);
}

static void put_number(word_list *w, const char *name, double value)
{
    char *text = w->number[w->count];

    snprintf(text, WORD, "%.17g", value);
    put_text_option(w, name, value > 0 ? text : NULL);
}

static void put_flag(word_list *w, const char *name, bool given)
{
    if (given)
        put(w, name);
}

static int run(void *into, const words *operands)
{
    const study_options *o = into;
    const char *const first = operands->count ? operands->item[0] : "";
    char columns[TABLE_COLUMNS];
    word_list w = {.count = 0};

    if (table_columns(columns, &o->table) != EXIT_OK)
        return EXIT_USAGE;
    if (strcmp(first, "@pictures") == 0 && o->data)
        return put_pictures(o, columns);
    if (strcmp(first, "@device") == 0)
        return put_device(o);
    if (strcmp(first, "@model") == 0 && o->model)
        return put_model(o);
    put_text_option(&w, "--model", o->model);
    put_text_option(&w, "--data", o->data);
    put_flag(&w, "--follow", o->follow);
    put_text_option(&w, "--columns", columns[0] ? columns : NULL);
    put_text_option(&w, "--output", o->output);
    put_number(&w, "--minutes", o->minutes);
    put_number(&w, "--tries", o->tries);
    put_number(&w, "--jobs", o->jobs);
    put_number(&w, "--pictures", o->pictures);
    put_number(&w, "--epochs", o->epochs);
    put_number(&w, "--test-pictures", o->tests);
    put_text_option(&w, "--device", o->device);
    put_text_option(&w, "--precision", o->precision);
    put_flag(&w, "--dry-run", o->dry_run);
    put_flag(&w, "--quiet", is_quiet());
    put_flag(&w, "--draws", vt_figure_ready() == VITCL_OK);
    put(&w, "--");
    for (size_t i = 0; i < operands->count; i++)
        put(&w, operands->item[i]);
    return become_study(w.word, w.count);
}

const command cmd_study = {
    "study",
    "[NAME]",
    "Repeat the paper's experiments at a small scale",
    "Without a name, or with list: lists the studies. Each trains small models "
    "and writes results.tsv, verdict.txt, a figure and report.html to the "
    "output folder. Learning rates are chosen on held-out training pictures. A "
    "study that was interrupted continues with the same command and gives the "
    "same bits.",
    options,
    sizeof(study_options),
    run};
