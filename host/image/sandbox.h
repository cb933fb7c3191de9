/*
 * sandbox.h - what goes between a decoder process (sandbox.c, the program
 * vitcl-decode) and the process that hands out the work (pool.c, workers.c,
 * spawn.c).
 *
 * The decoder's descriptor 0 is a socket of packets, 1 the shared memory that
 * it writes finished pixels to. Its arguments are numbers: bytes of memory
 * beside what it has at its start, bytes that it may write, seconds of
 * processor time a picture, pixels of a picture.
 */
#ifndef VT_IMAGE_SANDBOX_H
#define VT_IMAGE_SANDBOX_H
#include "base/helper.h"
#include "image/image.h"

#include <sys/types.h>

enum { VT_NAME_ROOM = 400, VT_MESSAGE_ROOM = 512 };

/* To the decoder, with the open picture file beside it (SCM_RIGHTS). */
typedef struct vt_job_order {
    uint64_t id, size; /* of the file */
    uint64_t place;    /* where in the shared memory the pixels go */
    vt_preprocess how;
    bool whole; /* as decoded; `how` is not looked at */
    char name[VT_NAME_ROOM];
} vt_job_order;

/* From the decoder; the parent trusts none of it. */
typedef struct vt_job_reply {
    uint64_t id;
    int32_t status;
    uint32_t width, height, locked; /* locked: 0 without a filter */
    char message[VT_MESSAGE_ROOM];
} vt_job_reply;

/* ---- the parent's side: spawn.c ---- */

enum { VT_WORKERS_MAX = 256 };
typedef struct vt_decode_limits {
    uint64_t each, large; /* bytes of a decoder, and of the one that gets what
                           * was too much for it; 0: there is none */
    uint64_t pixels;
    unsigned seconds, workers;
} vt_decode_limits;
/* What the machine and the environment allow for so many workers. */
vitcl_status vt_decode_limits_get(vt_decode_limits *out, unsigned workers);

typedef struct vt_decode_process {
    vt_process os;
    int socket; /* -1: none */
} vt_decode_process;
#define VT_DECODE_PROCESS_NONE                                                 \
    ((vt_decode_process){.os = VT_PROCESS_NONE, .socket = -1})
/* memory: the shared one, of at most `bytes`. room: its ceiling. */
vitcl_status vt_decode_start(vt_decode_process *out, int memory, uint64_t bytes,
                             uint64_t room, const vt_decode_limits *limits);
/* Ends it. True: it had ended by its own limit of time. */
bool vt_decode_end(vt_decode_process *p);
/* Send an order without waiting; 0, or the errno of the failure. */
int vt_decode_send(const vt_decode_process *p, const vt_job_order *order,
                   int file);
/* Memory without a name in the file system; -1 and errno. */
int vt_memory_file(const char *name);

#endif
