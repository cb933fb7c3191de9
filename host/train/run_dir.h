/*
 * run_dir.h - the folder that a training writes into: one training at a time,
 * nothing left of one that was killed or never got anywhere.
 */
#ifndef VT_TRAIN_RUN_DIR_H
#define VT_TRAIN_RUN_DIR_H
#include "base/status.h"

#include <stdbool.h>

typedef struct vt_run_dir {
    const char *path; /* the caller's */
    int lock;         /* open while it is ours */
    bool made;        /* it was not there before */
} vt_run_dir;

/* Make it ours (the folder too, if `make`); another training that is writing
 * there is an error. What a killed one left half written is removed. */
vitcl_status vt_run_dir_claim(vt_run_dir *out, const char *path, bool make);
/* Remove what a training writes, and the folder if it was made here. */
void vt_run_dir_empty(const vt_run_dir *f);
/* A zeroed one is fine. */
void vt_run_dir_leave(vt_run_dir *f);

#endif
