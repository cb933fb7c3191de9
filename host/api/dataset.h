/*
 * dataset.h - the handle of a public dataset: for dataset.c, which opens it,
 * and evaluate.c.
 */
#ifndef VT_API_DATASET_H
#define VT_API_DATASET_H
#include "data/labels.h"

#include <stdatomic.h>
#include <vitcl_train.h>

struct vitcl_dataset {
    vt_dataset *d;
    vt_labels *labels;    /* NULL: none */
    char labels_hash[65]; /* of their file */
    atomic_int calls;     /* that read it; -1: one changes it */
    bool by_number, strict;
    vitcl_log broken; /* NULL: none */
    void *broken_context;
};

/* Evaluations share a dataset, but it must not change meanwhile. */
vitcl_status vt_dataset_enter(const vitcl_dataset *dataset, bool change);
void vt_dataset_leave(const vitcl_dataset *dataset, bool change);

#endif
