/*
 * shared.h - pictures that two datasets have in common: scores of pictures that
 * were trained are too good.
 */
#ifndef VT_DATA_SHARED_H
#define VT_DATA_SHARED_H
#include "data/dataset.h"

enum { VT_SHARED_MOST = 20000 }; /* files to read, where that should be quick */
typedef struct vt_shared {
    uint32_t count;   /* pictures of the second one that the first has, too */
    uint32_t first;   /* of them, */
    const char *name; /* and its path; NULL: there is none */
} vt_shared;
/* Equal are the same file and files of the same bytes. So that this takes no
 * longer with many pictures, bytes are compared of files of one size alone, of
 * `most` files at most. */
vitcl_status vt_dataset_shared(vt_shared *out, const vt_dataset *a,
                               const vt_dataset *b, uint32_t most);

#endif
