/*
 * seen.h - the files that a walk has found.
 */
#ifndef VT_WALK_SEEN_H
#define VT_WALK_SEEN_H
#include <vitcl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

typedef struct vt_seen_file {
    uint64_t inode;
    uint64_t tag; /* of the device, the size and the time of change; 0: free */
    uint32_t mark;
} vt_seen_file;
typedef struct vt_seen { /* begins as zeros */
    vt_seen_file *slot;
    size_t slots, count; /* slots: a power of two */
} vt_seen;

/* Adds a file. *again: it was there, with the mark *first. */
vitcl_status vt_seen_add(bool *again, uint32_t *first, vt_seen *s,
                         const struct stat *file, uint32_t mark);
void vt_seen_free(vt_seen *s);

#endif
