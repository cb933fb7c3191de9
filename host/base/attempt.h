/*
 * attempt.h - lets the program vitcl-try do what may crash or hang: a driver's
 * compiler is given instructions that nobody has tried here, or a candidate of
 * a tuner. Its side is api/try.c.
 *
 * Its descriptor 0 is the pipe for its one line: "ok ANSWER" or "no STATUS
 * MESSAGE". Its arguments are seconds after which it ends itself, 1 if somebody
 * listens to what it logs (on 2), and what it is to do.
 */
#ifndef VT_BASE_ATTEMPT_H
#define VT_BASE_ATTEMPT_H
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

#define VT_ATTEMPT_ROOM 600 /* of its line */

typedef struct vt_attempt {
    const char *words[8]; /* what to do; ended by NULL */
    double seconds;       /* at most; 0: VITCL_TRY_SECONDS, or else a minute */
    vitcl_progress stop;  /* or NULL: asked now and then, ends it */
    void *stop_context;
} vt_attempt;
/* The answer. VITCL_EDEVICE: it crashed, or took too long, and would again.
 * VITCL_EIO, VITCL_ENOMEM, VITCL_ESTOPPED: it was not found, could not be
 * started, or somebody ended it, so that nothing is known. Others: its own. */
vitcl_status vt_attempt_run(char *answer, size_t size, const vt_attempt *a);
/* An answer that is a number. */
double vt_attempt_number(const char *answer);
/* Whether there is a program to be started; the message says why not. */
vitcl_status vt_attempt_possible(void);

#endif
