/*
 * blob.h - one file of a repository, downloaded into blobs/.
 */
#ifndef VT_PULL_BLOB_H
#define VT_PULL_BLOB_H
#include "pull/hub.h"

/* Where the files of all downloads of a pull stand, for p->moved(). */
typedef struct vt_pull_progress {
    uint64_t done, total;
} vt_pull_progress;

/* printf into a path; a failure names it. */
vitcl_status vt_path(char out[VT_PULL_PATH], const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* mkdir -p */
vitcl_status vt_folders(const char *path);

/* How many bytes of the blob lie there. */
uint64_t vt_blob_present(const char *folder, const vt_remote *r);
/* Downloads it, or the rest of it, unless it is there with its hash.
 * folder: CACHE/models--OWNER--NAME, locks: where its lock lies. */
vitcl_status vt_blob_fetch(const vt_pull *p, vt_pull_progress *tally,
                           const char *folder, const char *locks,
                           const char *commit, const vt_remote *r);

#endif
