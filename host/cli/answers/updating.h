/*
 * updating.h - the pictures that embed --update names, and the index that it
 * holds.
 */
#ifndef VT_CLI_UPDATING_H
#define VT_CLI_UPDATING_H
#include "base/file.h"
#include "cli/pictures/pictures.h"
#include "index/update.h"

typedef struct updating {
    vt_newfile held; /* one run at a time updates an index */
    vt_update rows;
    words todo;   /* the paths to embed */
    vt_left left; /* out of folders */
    bool cut;     /* the list on standard input was */
} updating;

/* Waits until no other run updates the index, and reads it; there need be
 * none. */
int updating_open(updating *u, const char *index);
/* Lists the pictures, those to embed, and the rows that stay. */
int updating_list(updating *u, const words *operands,
                  const picture_options *how, bool prune);
/* vt_update_take_over() */
int updating_take_over(updating *u);
void updating_close(updating *u);

#endif
