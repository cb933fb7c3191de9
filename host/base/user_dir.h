/*
 * user_dir.h - the user's own folders for what vitcl keeps between runs, and
 * files in them that are written whole or not at all.
 *
 * Only the user may write there: a folder or file is not used if it is a link,
 * belongs to another user, or can be written by others. All paths are opened
 * relative to the folder that was checked. Nothing here is an error: a file
 * that cannot be read counts as absent, a file that cannot be written is not
 * kept.
 */
#ifndef VT_BASE_USER_DIR_H
#define VT_BASE_USER_DIR_H
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* $XDG_CACHE_HOME/vitcl, else ~/.cache/vitcl; $XDG_CONFIG_HOME/vitcl, else
 * ~/.config/vitcl. */
typedef enum vt_user_dir { VT_USER_CACHE, VT_USER_CONFIG } vt_user_dir;
/* Its path; false: neither variable nor home is set. */
bool vt_user_path(char *out, size_t size, vt_user_dir dir);
/* Opens that folder, and creates it if `make`. -1: absent or not safe to use;
 * errno says why, 0 if others can write to it or it has no path. */
int vt_user_folder(vt_user_dir dir, bool make);
/* Opens a file of the folder for reading; whose it is remains to be asked. */
int vt_user_open(int folder, const char *name);
/* Is this a file (or folder) that only the user can have written? */
bool vt_user_file(int fd);
/* Files that were not used for long are removed: this one was. */
void vt_user_used(int fd);

typedef struct vt_user_part {
    const void *data;
    size_t size;
} vt_user_part;
/* Writes the parts one after the other, through a temporary file. False: errno
 * says why. */
bool vt_user_write(int folder, const char *name, const vt_user_part *parts,
                   size_t n);

#endif
