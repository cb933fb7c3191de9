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

/* Can a new training begin in the folder, if there is one? VITCL_EINVAL: it has
 * a model, or a file that would be overwritten. What a training left that was
 * killed before it had a state may be. */
vitcl_status vt_run_dir_check(const char *path);
/* Locks the folder, creating it first if `make`. It is an error if another
 * training holds the lock. Removes partial files of a killed one. */
vitcl_status vt_run_dir_claim(vt_run_dir *out, const char *path, bool make);
/* The subfolder with the model of the first step, where LoRA trains. */
#define VT_RUN_DIR_BASE "base"
/* The file that marks it: */
#define VT_RUN_DIR_MARK "training.begins"
/* Marks the folder as one of a training that has no state yet, whose files may
 * be overwritten. */
vitcl_status vt_run_dir_begin(const char *path);
/* Takes the mark away. */
vitcl_status vt_run_dir_begun(const char *path);
/* Removes a training's files, and the folder if it was created here. */
void vt_run_dir_empty(const vt_run_dir *f);
/* Releases the lock; a zeroed struct is fine. */
void vt_run_dir_leave(vt_run_dir *f);

#endif
