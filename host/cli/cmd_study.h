/*
 * cmd_study.h - the command study, for vitcl and for vitcl-study.
 */
#ifndef VT_CLI_CMD_STUDY_H
#define VT_CLI_CMD_STUDY_H
#include "cli/setup/options.h"

typedef struct study_options {
    const char *data, *output, *device, *model, *precision;
    double minutes;
    uint32_t tries, jobs, threads, epochs, pictures, tests;
    bool dry_run, follow;
    table_options table;
} study_options;

extern const command cmd_study;

#endif
