/*
 * module.h - what http.c and blob.c, in the program, find in vitcl-pull.so.
 */
#ifndef VT_PULL_MODULE_H
#define VT_PULL_MODULE_H
#include <stdbool.h>
#include <stddef.h>

enum { VT_URL = 8192, VT_WHY = 512 };

/* One request; a redirection is not followed. */
typedef struct vt_transfer {
    const char *url;
    const char *const *headers; /* "Name: value", NULL-ended */
    bool head;                  /* HEAD, else GET */
    bool brisk; /* broken off below 1 KiB a second, over half a minute */
    /* A line of the answer's head. A line "HTTP/.." begins a new answer. */
    void (*line)(void *context, const char *text, size_t size);
    /* A part of the body, if the status is 200 or 206; false: stop. Of other
     * bodies at most 1 MiB is read, and that in half a minute. */
    bool (*body)(void *context, const void *data, size_t size, long status);
    bool (*wait)(void *context); /* several times a second; false: stop */
    void *context;
    /* set by the call */
    long status;
    char redirect[VT_URL]; /* where a 3xx leads; "": nowhere */
    char why[VT_WHY];      /* after a failure */
    bool unreachable;      /* no host answered: no use in trying again */
} vt_transfer;

#define VT_PULL_SYMBOL "vt_pull_module"
typedef struct vt_pull_calls {
    const char *version; /* of vitcl: the structs are those of one version */
    /* False: t->why says why there is no whole answer. */
    bool (*transfer)(vt_transfer *t);
    void *(*sha1_new)(void); /* NULL: out of memory */
    void (*sha1_add)(void *hash, const void *data, size_t size);
    /* Frees it. Hexadecimal digits, NUL-ended. */
    void (*sha1_end)(void *hash, char out[65]);
} vt_pull_calls;

#endif
