/*
 * updating.h - the rows of an earlier index that stay, for embed --update.
 *
 * A row stays as it is while its picture has not changed, or is not named in
 * this run but still there. Where pictures could not be listed, or none were, a
 * disk may be missing: all rows stay. So does a row that is not found and whose
 * folder is not known. A picture has one row, under the name that it had first.
 * The rows of the new index are in the order of the input; those that are not
 * named keep their places between them.
 */
#ifndef VT_CLI_UPDATING_H
#define VT_CLI_UPDATING_H
#include "cli/pictures/pictures.h"
#include "index/index.h"
#include "parts/partition.h"

#include <sys/types.h>

typedef struct updating_entry {
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
} updating_entry;
typedef struct updating {
    vt_newfile held; /* one run at a time updates an index */
    vt_index *old;
    updating_entry *entry; /* in the order of the new index */
    size_t count, room, at;
    size_t named;        /* of them, in this run */
    uint64_t stay;       /* other rows */
    uint64_t gone, drop; /* rows that do not: without a file; pruned */
    uint64_t renamed;    /* rows that pictures of other names took over */
    words todo;          /* the paths to embed */
    vt_left left;        /* out of folders */
    float *row;
    uint16_t *narrow;
    vt_places places; /* relative paths of the new index start from its base */
    char path[VT_PLACE];
    const char *name; /* in the new index, of the answer's picture */
    bool broken;      /* not all pictures could be listed */
    bool cut;         /* because the list on standard input was cut */
    bool spared;      /* rows stay that would not if all were listed */
    bool lost;        /* an entry is; so the new index says no more than the old
                       * one, and the paths of the others are absolute */
} updating;

/* Reads the earlier index; there need be none. */
int updating_open(updating *u, const char *index);
/* Lists the pictures, those to embed, and the rows that stay. prune: only those
 * that are named. */
int updating_list(updating *u, const words *operands,
                  const picture_options *how, bool prune);
/* Of pictures that seem to be files that are gone, under other names: one whose
 * vector tells whether they are. NULL: there are not two. */
const updating_entry *updating_probe(const updating *u);
/* Its vector is that of row `from`: they all take over their rows. */
int updating_take_over(updating *u);
/* Writes the rows that stay before the answer of this path, and sets u->name;
 * to NULL if this row stays, too, as its picture is missing. path NULL: writes
 * all that are left. */
int updating_keep(updating *u, vt_vectors *to, const char *path);
void updating_close(updating *u);

/* Finds these, given the rows whose files are gone: a row and a picture without
 * a row that alone have their size and time, or of several that alone have
 * their name in its folder (renamed.c). */
int updating_match(updating *u, const uint64_t *gone, size_t n);

#endif
