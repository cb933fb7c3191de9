/*
 * start.h - how vitcl and vitcl-study begin, and how one becomes the other.
 */
#ifndef VT_CLI_START_H
#define VT_CLI_START_H

/* What both do first. */
int begin_program(char *const *argv);
/* Replaces vitcl by vitcl-study with these arguments, argv[0] being the
 * command's name. Returns if that fails. */
int become_study(char **argv);
/* In vitcl-study: a descriptor of the vitcl that became it, which closes on
 * exec; -1: none did. */
int starter(void);

#endif
