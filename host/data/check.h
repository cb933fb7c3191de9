/*
 * check.h - find the files of a dataset that are no pictures or are broken.
 *
 * Every file is decoded completely, because a header says nothing about what
 * follows it. The user's cache folder keeps which files were good (by name,
 * size and time of change), so that the next check of the same data only looks
 * at what has changed.
 */
#ifndef VT_DATA_CHECK_H
#define VT_DATA_CHECK_H
#include "data/dataset.h"

typedef struct vt_broken {
    uint32_t *picture; /* [count], ascending */
    char **why;        /* names the file */
    size_t count;
} vt_broken;
void vt_broken_free(vt_broken *b);

/* progress: NULL, or called after each picture that is decoded; VITCL_ESTOPPED
 * if it returns another value than 0. */
vitcl_status vt_dataset_check(vt_broken *out, const vt_dataset *d,
                              vitcl_progress progress, void *context);

#endif
