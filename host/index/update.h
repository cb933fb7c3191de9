/*
 * update.h - the rows of an earlier index that stay when it is written anew.
 *
 * A row stays as it is while its picture has not changed, or is not named in
 * this run but still there. Where pictures could not be listed, or none were, a
 * disk may be missing: all rows stay. So does a row that is not found and whose
 * folder is not known. A picture has one row, under the name that it had first.
 * The rows of the new index are in the order of the input; those that are not
 * named keep their places between them.
 */
#ifndef VT_INDEX_UPDATE_H
#define VT_INDEX_UPDATE_H
#include "index/index.h"

#include <sys/types.h>

typedef struct vt_update_entry {
    char *path;   /* as this run names it; NULL: it does not */
    char *name;   /* in the new index; NULL: that of the row, else the path */
    uint64_t row; /* of the earlier index; its count: none */
    bool matched; /* it may be the file of row `from`, which is gone, */
    bool by_name; /* of several that only their names tell apart */
    uint64_t from;
    bool todo;  /* to embed; until that is done, the row stays as it is */
    bool again; /* another entry is the same picture */
    bool lost;  /* its row has a relative path, and from where is not known */
    vt_stamp stamp;
    dev_t device; /* which file it is */
    ino_t inode;
    char *place; /* the path without links, of a file that has several names;
                  * as named, of one that is missing; else NULL */
} vt_update_entry;
typedef struct vt_update { /* begins as zeros */
    vt_index *old;
    vt_update_entry *entry; /* in the order of the new index */
    size_t count, room, at;
    size_t named;        /* of them, in this run */
    uint64_t stay;       /* other rows */
    uint64_t gone, drop; /* rows that do not: without a file; pruned */
    uint64_t renamed;    /* rows that pictures of other names took over */
    const char **todo;   /* [todos]: the paths to embed */
    size_t todos;
    float *row;
    uint16_t *narrow;
    vt_places places; /* relative paths of the new index start from its base */
    char path[VT_PLACE];
    const char *name; /* in the new index, of the answer's picture */
    bool broken;      /* not all pictures could be listed */
    bool spared;      /* rows stay that would not if all were listed */
    bool lost;        /* an entry is; so the new index says no more than the old
                       * one, and the paths of the others are absolute */
} vt_update;

/* Reads the earlier index; there need be none. */
vitcl_status vt_update_open(vt_update *u, const char *index);
/* Names a picture of this run, in order; error: NULL, or why it is none. */
vitcl_status vt_update_name(vt_update *u, const char *path, const char *error);
/* After the last: which to embed, and the rows that stay. prune: only those
 * that are named. */
vitcl_status vt_update_list(vt_update *u, bool prune);
/* Of pictures that seem to be files that are gone, under other names: one whose
 * vector tells whether they are. NULL: there are not two. */
const vt_update_entry *vt_update_probe(const vt_update *u);
/* Its vector is that of row `from`: they all take over their rows. */
vitcl_status vt_update_take_over(vt_update *u);
/* Writes the rows that stay before the answer of this path, and sets u->name;
 * to NULL if this row stays, too, as its picture is missing. path NULL: writes
 * all that are left. */
vitcl_status vt_update_keep(vt_update *u, vt_vectors *to, const char *path);
void vt_update_close(vt_update *u);

/* As near as a vector and itself, stored in f16. One of another precision is
 * embedded again. */
bool vt_update_same(const float *a, const float *b, size_t n);
/* ns since 1970 */
int64_t vt_update_clock(void);
/* The stamp of a file that was decoded in a run that began then: one that
 * changed meanwhile may have changed after it was read; a later time is not one
 * of this run. */
vt_stamp vt_update_stamp(int64_t size, int64_t changed, int64_t began);

/* Finds these, given the rows whose files are gone: a row and a picture without
 * a row that alone have their size and time, or of several that alone have
 * their name in its folder (renamed.c). */
vitcl_status vt_update_match(vt_update *u, const uint64_t *gone, size_t n);

#endif
