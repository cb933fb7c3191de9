/*
 * updating.h - the rows of an earlier index that are still true, for embed
 * --update.
 */
#ifndef VT_CLI_UPDATING_H
#define VT_CLI_UPDATING_H
#include "cmd.h"
#include "index/index.h"

typedef struct updating_entry {
    char *path;
    vt_stamp stamp;
    uint64_t row; /* of the earlier index; its count: embed the picture */
} updating_entry;
typedef struct updating {
    vt_index *old;
    updating_entry *entry; /* all pictures, in input order */
    size_t count, room, at;
    words todo;   /* those to embed */
    vt_left left; /* out of folders */
    float *row;
    uint16_t *narrow;
    bool broken; /* the list of pictures could not be read to its end */
} updating;

/* Reads the earlier index; there need be none. */
int updating_open(updating *u, const char *index);
/* Lists the pictures, and those to embed. */
int updating_list(updating *u, const words *operands,
                  const picture_options *how);
/* Writes the rows that are kept, up to the next picture to embed. `all`: up to
 * the end, leaving out pictures that were not embedded. */
int updating_keep(updating *u, vt_vectors *to, bool all);
/* The stamp of the next picture to embed, as it was before it was read. */
vt_stamp updating_take(updating *u);
void updating_close(updating *u);

/* -1, -1: the file is not there. */
vt_stamp stamp_of(const char *path);

#endif
