/*
 * run_dir.h - lock and clean the run folder that a training writes into. One
 * training at a time; a killed or failed one leaves no partial files.
 */
#ifndef VT_TRAIN_RUN_DIR_H
#define VT_TRAIN_RUN_DIR_H
#include "base/status.h"

#include <stdbool.h>

typedef struct vt_run_dir {
    const char *path; /* borrowed from the caller */
    int lock;         /* descriptor that holds the lock */
    bool made;        /* the folder was created here */
} vt_run_dir;

/* Locks the folder, creating it first if `make`. It is an error if another
 * training holds the lock. Removes partial files of a killed one. */
vitcl_status vt_run_dir_claim(vt_run_dir *out, const char *path, bool make);
/* Removes a training's files, and the folder if it was created here. */
void vt_run_dir_empty(const vt_run_dir *f);
/* Releases the lock; a zeroed struct is fine. */
void vt_run_dir_leave(vt_run_dir *f);

#endif
