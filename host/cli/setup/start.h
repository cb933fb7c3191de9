/*
 * start.h - how vitcl begins, and how it becomes the package vitcl.study.
 */
#ifndef VT_CLI_START_H
#define VT_CLI_START_H
#include <stddef.h>

/* What is done first. */
int begin_program(char *const *argv);
/* Replaces vitcl by python3 with the script vitcl-study and these arguments.
 * Returns if that fails. */
int become_study(char *const *argument, size_t count);

#endif
