/*
 * hub.h - what a hub says about a repository and its files.
 */
#ifndef VT_PULL_HUB_H
#define VT_PULL_HUB_H
#include "base/json.h"
#include "pull/http.h"

enum { VT_FILE_NAME = 128 };

typedef struct vt_remote {
    char file[VT_FILE_NAME];
    char hash[65]; /* SHA-256, or SHA-1 of the git blob: by its length */
    uint64_t size;
} vt_remote;

typedef struct vt_listed {
    const char *file;
    bool chosen; /* for the caller */
} vt_listed;

typedef struct vt_repository {
    char commit[VT_COMMIT];
    vt_json *json;
    vt_listed *listed; /* by name; those that are no safe names are left out */
    size_t count;
} vt_repository;

/* Asks for the commit of p->revision and its files. */
vitcl_status vt_repository_open(vt_repository *out, const vt_pull *p);
void vt_repository_close(vt_repository *r);
/* NULL: it has no such file. */
vt_listed *vt_repository_find(const vt_repository *r, const char *file);

/* Asks for size and hash of a file. */
vitcl_status vt_remote_ask(vt_remote *out, const vt_pull *p, const char *commit,
                           const char *file);
/* Writes the file's address. */
vitcl_status vt_remote_url(char out[VT_URL], const vt_pull *p,
                           const char *commit, const char *file);
/* Why an answer is of no use. what: "" or a file's name. */
vitcl_status vt_refused(const vt_pull *p, const vt_answer *a, const char *what);

#endif
