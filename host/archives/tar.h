/*
 * tar.h - the pictures of a tar archive, one after the other, as the
 * sandboxed program vitcl-unpack tells them.
 */
#ifndef VT_ARCHIVES_TAR_H
#define VT_ARCHIVES_TAR_H
#include "parts/shard.h"
#include "walk/walk.h"

#include <stddef.h>

typedef struct vt_tar vt_tar;
typedef struct vt_member {
    const char *name; /* until the next call; "": an error of the archive */
    const char
        *error;  /* until the next call; NULL: it has bytes, or is other */
    bool other;  /* another worker's */
    void *bytes; /* the caller frees them */
    size_t size;
} vt_member;

/* path NULL: standard input. first: the position of its first picture. */
vitcl_status vt_tar_open(vt_tar **out, const char *path, vt_shard s,
                         uint64_t first);
/* Is there something to read at once, or within `ms`? */
bool vt_tar_ready(const vt_tar *a, int ms);
/* False at the end. */
bool vt_tar_next(vt_member *out, vt_tar *a);
/* Adds what was left out of it, at its end. */
void vt_tar_left(vt_left *sum, const vt_tar *a);
void vt_tar_close(vt_tar *a);
/* Was any archive read without the filter of system calls? */
bool vt_tar_unlocked(void);

#endif
