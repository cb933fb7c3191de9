/*
 * training_log.h - a file with a JSON line for each step of a training.
 */
#ifndef VT_CLI_TRAINING_LOG_H
#define VT_CLI_TRAINING_LOG_H
#include "training_line.h"

typedef struct training_log {
    const char *path; /* NULL: no log; borrowed */
    int file;         /* -1: closed */
    bool lost;        /* it could not be written completely */
    bool made;        /* there was no such file before */
} training_log;

/* False: prints why not. anew: empties the file. */
bool training_log_open(training_log *out, const char *path, bool anew);
/* After a failure that is printed, does nothing more. */
void training_log_write(training_log *l, const vitcl_train_event *e,
                        training_line *line);
/* Returns the exit status: was all of it written? A new file of no step is
 * removed. */
int training_log_close(training_log *l);

#endif
