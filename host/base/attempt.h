/*
 * attempt.h - lets the program vitcl-try do work that may crash or hang:
 * compiling instructions that have not been tested on this driver, or a
 * candidate of the tuner. The program itself is trials/try.c.
 *
 * Its descriptor 0 is the pipe for its one line: "ok ANSWER" or "no STATUS
 * MESSAGE". Its arguments are: the number of seconds after which it ends
 * itself, 1 if its log (descriptor 2) is read, and the work to do.
 */
#ifndef VT_BASE_ATTEMPT_H
#define VT_BASE_ATTEMPT_H
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

#define VT_ATTEMPT_ROOM 600 /* bytes of its line */

typedef struct vt_attempt {
    const char *words[8]; /* the work; ends with NULL */
    double seconds;       /* at most; 0: VITCL_TRY_SECONDS, or else a minute */
    vitcl_progress stop;  /* polled; may be NULL */
    void *stop_context;
} vt_attempt;
/* Runs it and returns the answer. VITCL_EDEVICE: it crashed or took too long,
 * and would do so again. VITCL_EIO, VITCL_ENOMEM, VITCL_ESTOPPED: it was not
 * found, could not be started, or was killed, so nothing is known. Other codes
 * are its own. */
vitcl_status vt_attempt_run(char *answer, size_t size, const vt_attempt *a);
/* Parses an answer that is a number. */
double vt_attempt_number(const char *answer);
/* Is the program installed? If not, the message says why. */
vitcl_status vt_attempt_possible(void);
/* Is VITCL_TRY_SECONDS a number, or not set? */
vitcl_status vt_attempt_setting(void);

#endif
