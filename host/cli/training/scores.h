/*
 * scores.h - the scores of a model on labelled pictures, printed: eval, and
 * merge of what its workers counted.
 */
#ifndef VT_CLI_SCORES_H
#define VT_CLI_SCORES_H
#include "cli/setup/options.h"
#include "parts/tally.h"

#include <vitcl_train.h>

typedef struct score_options {
    bool json, classes;
    const char *confusion; /* file; NULL: none */
} score_options;
#define OPT_SCORES(T, member)                                                  \
    OPT_ROW(T, 0, "classes", OPT_FLAG, NULL,                                   \
            "also precision, recall, F1 of each class, and what is confused",  \
            member.classes),                                                   \
        OPT_ROW(T, 0, "confusion", OPT_FILE, "FILE.csv|FILE.png|FILE.svg",     \
                "write the confusion matrix", member.confusion),               \
        OPT_ROW(T, 0, "json", OPT_FLAG, NULL, "one JSON object", member.json)

/* Before the work: can it be written? */
int scores_ready(const score_options *o);
/* Prints and writes what was asked for. */
int scores_tell(const vt_tally *t, const score_options *o);

/* The one score of a model that does not answer with one class: "map" or
 * "mse". */
void scores_number(const vitcl_scores *s, const char *name, double value,
                   bool json);

#endif
