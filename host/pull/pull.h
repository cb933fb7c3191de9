/*
 * pull.h - downloads a model from a hub of Hugging Face into its local cache.
 *
 *   CACHE/models--OWNER--NAME/blobs/HASH             the files
 *   CACHE/models--OWNER--NAME/blobs/HASH.incomplete  the part that has come
 *   CACHE/models--OWNER--NAME/snapshots/COMMIT/FILE  links into blobs/
 *   CACHE/models--OWNER--NAME/refs/REVISION          the commit
 *   CACHE/.locks/models--OWNER--NAME/HASH.lock       who writes a blob
 *
 * These are huggingface_hub's names, links and locks, so that both programs may
 * use one cache. A blob gets its name when its size and hash are right, a
 * snapshot its links when all blobs are there, a ref its commit last. Whatever
 * ends the program before leaves the older revision as it was, and parts with
 * which the next download goes on.
 *
 * The module vitcl-pull.so has what is linked with libcurl and Nettle. It is
 * loaded for a download only.
 */
#ifndef VT_PULL_PULL_H
#define VT_PULL_PULL_H
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum {
    VT_PULL_FETCHED, /* a file is complete */
    VT_PULL_PRESENT, /* it was there before */
    VT_PULL_DAMAGED, /* it was there, with other contents: it comes again */
    VT_PULL_WAITING, /* another program is downloading it */
    VT_PULL_AGAIN    /* vt_message() says what failed; it is tried again */
} vt_pull_news;

/* Names have been checked: they become parts of paths and of URLs. */
typedef struct vt_pull {
    const char *cache, *owner, *name;
    const char *revision; /* a branch, a tag or a commit */
    const char *endpoint; /* "https://huggingface.co" */
    const char *token;    /* NULL: none; sent to the endpoint only */
    bool (*stopped)(void);
    void (*say)(void *context, vt_pull_news news, const char *file,
                uint64_t bytes);
    /* Bytes of all files, of which the present ones count as done. */
    void (*moved)(void *context, const char *file, uint64_t done,
                  uint64_t total);
    void *context;
} vt_pull;

enum { VT_PULL_PATH = 4096 };

/* Loads the module. VITCL_EUNSUPPORTED: this build has none. */
vitcl_status vt_pull_ready(void);
/* path: of the snapshot. VITCL_ESTOPPED: stopped() was true. */
vitcl_status vt_pull_model(char path[VT_PULL_PATH], const vt_pull *p);

#endif
