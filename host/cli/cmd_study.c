/*
 * cmd_study.c - the options of `vitcl study`. The program vitcl-study does it,
 * and is linked with this table, too.
 */
#include "cmd_study.h"

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
    NULL};
