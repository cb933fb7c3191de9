/*
 * http.h - requests to a hub, and where their redirections lead.
 */
#ifndef VT_PULL_HTTP_H
#define VT_PULL_HTTP_H
#include "pull/module.h"
#include "pull/pull.h"

#include <stdint.h>

enum { VT_ETAG = 160, VT_COMMIT = 65 };

/* The head of the last answer. */
typedef struct vt_answer {
    long status;
    char etag[VT_ETAG];        /* as it was sent, with its quotes */
    char linked_etag[VT_ETAG]; /* X-Linked-Etag */
    char commit[VT_COMMIT];    /* X-Repo-Commit */
    char code[64];             /* X-Error-Code */
    uint64_t length, linked_size;
    bool has_length, has_linked_size;
    uint64_t from; /* Content-Range: where the body begins */
    bool has_from;
    char why[VT_WHY]; /* why it is not whole; "": it is */
    bool unreachable;
} vt_answer;

typedef struct vt_request {
    const char *url;
    bool head;
    bool brisk;       /* GET: an answer that is sent slowly is broken off */
    uint64_t from;    /* GET: from this byte on */
    const char *etag; /* only if the endpoint still has this one; NULL: any */
    /* GET: see vt_transfer */
    bool (*body)(void *context, const vt_answer *head, const void *data,
                 size_t size);
    void *context;
} vt_request;

/* The module's functions; vt_pull_ready() has loaded it. */
const vt_pull_calls *vt_pull_module_calls(void);

/* Follows redirections, but a HEAD not from an answer that names the file's
 * hash. The token goes to the endpoint's scheme, host and port only. An answer
 * of any status, or one that was cut (out->why), is no failure.
 * VITCL_ESTOPPED: p->stopped(). */
vitcl_status vt_http(vt_answer *out, const vt_pull *p, const vt_request *r);
/* Could the same request succeed later? */
bool vt_http_transient(const vt_answer *a);
/* Waits before trial `trial` (from 1), for half a second and then twice as long
 * each time. */
vitcl_status vt_http_pause(const vt_pull *p, int trial);

#endif
