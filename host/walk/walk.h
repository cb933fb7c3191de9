/*
 * walk.h - the pictures in folders, by one rule for all that reads folders.
 *
 * A folder is walked depth first, in byte order. A picture is a regular file
 * whose suffix or, without one of a picture, whose first bytes say so, or a
 * link to one. Left out, and counted, are
 *
 *   others   files of other kinds, such as text, and links to nothing
 *   hidden   names that begin with a dot, as macOS's ._x.jpg (AppleDouble)
 *   again    pictures that had been found before under another name
 *   links    links to folders; with `follow` only those to a folder that was
 *            walked before, or that lies above the walked ones
 *   loose    pictures beside class folders
 */
#ifndef VT_WALK_WALK_H
#define VT_WALK_WALK_H
#include <vitcl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stat;

typedef struct vt_left {
    uint64_t others, hidden, again, links, loose;
    bool follow; /* links were to be followed */
} vt_left;
enum { VT_LEFT_TEXT = 256 };
/* ", 2 skipped, 1 hidden"; "" if nothing was left out. */
void vt_left_text(char out[VT_LEFT_TEXT], const vt_left *left);

typedef struct vt_walk vt_walk;
typedef struct vt_walk_found {
    const char *path;  /* until the next call; NULL: the end */
    const char *error; /* NULL, or why it cannot be read */
    bool folder;       /* it is a folder that cannot be read */
    bool again;        /* it was found before: below the folder with the */
    uint32_t mark;     /* mark */
} vt_walk_found;

/* flat: folders in folders are passed over. */
vitcl_status vt_walk_new(vt_walk **out, bool flat, bool follow);
void vt_walk_free(vt_walk *w);
/* Begins a folder, which may be a link. */
vitcl_status vt_walk_begin(vt_walk *w, const char *path, uint32_t mark);
vitcl_status vt_walk_next(vt_walk_found *out, vt_walk *w);
/* This file was read, but not found in a folder. */
vitcl_status vt_walk_read(vt_walk *w, const struct stat *file);
/* The sorted names of the folders in a folder; the caller frees them. */
vitcl_status vt_walk_folders(char ***names, size_t *count, vt_walk *w,
                             const char *path);
void vt_walk_left(vt_left *out, const vt_walk *w);

#endif
