/*
 * later.h - a thread that does one kind of work part by part, in order, while
 * its owner goes on.
 */
#ifndef VT_TRAIN_LATER_H
#define VT_TRAIN_LATER_H
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef vitcl_status (*vt_later_work)(void *context, size_t part);

typedef struct vt_later vt_later;
/* thread: false does the work where it is given. */
vitcl_status vt_later_new(vt_later **out, bool thread, vt_later_work work,
                          void *context);
/* Waits until the parts that were given are done. */
void vt_later_free(vt_later *l);
/* The work's next part, from 0. */
vitcl_status vt_later_give(vt_later *l);
/* Until the work has done `parts` parts, all of which were given. Returns the
 * first error, after which nothing more is done. */
vitcl_status vt_later_wait(vt_later *l, size_t parts);
/* After all that was given is done: the next part is 0 again. */
void vt_later_again(vt_later *l);

#endif
