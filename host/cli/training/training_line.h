/*
 * training_line.h - what a training shows while it runs: a line that changes,
 * if stderr is a terminal, and a line for each epoch.
 */
#ifndef VT_CLI_TRAINING_LINE_H
#define VT_CLI_TRAINING_LINE_H
#include <stdbool.h>
#include <vitcl_train.h>

typedef struct training_line {
    bool on, drawn;
    double start, shown; /* start: the end of the first step */
    uint64_t first;      /* that step; 0: none yet */
    uint64_t pictures;   /* since then */
    double rate;         /* pictures a second; 0: unknown */
} training_line;

void training_line_start(training_line *t);
/* After each step. */
void training_line_show(training_line *t, const vitcl_train_event *e);
/* Before other lines, and at the end. */
void training_line_clear(training_line *t);
/* At the end of an epoch. */
void training_line_epoch(training_line *t, const vitcl_train_event *e);

#endif
