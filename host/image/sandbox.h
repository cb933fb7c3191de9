/*
 * sandbox.h - the messages between a decoder process (sandbox.c, the programs
 * vitcl-decode and vitcl-decode-all) and the process that sends it work
 * (pool.c, workers.c, spawn.c).
 *
 * The decoder's descriptor 0 is a packet socket; 1 is the shared memory that it
 * writes finished pixels to. Its arguments are numbers: bytes of memory in
 * addition to what it has at its start, bytes that it may write, seconds of
 * processor time per picture, pixels per picture.
 */
#ifndef VT_IMAGE_SANDBOX_H
#define VT_IMAGE_SANDBOX_H
#include "base/helper.h"
#include "image/image.h"

#include <sys/types.h>

enum { VT_NAME_ROOM = 400, VT_MESSAGE_ROOM = 512 };

/* To the decoder, together with the open picture file (SCM_RIGHTS). */
typedef struct vt_decode_order {
    uint64_t id, size; /* of the file */
    uint64_t offset;   /* offset of the pixels in the shared memory */
    uint64_t thumb_offset;
    uint32_t side;     /* of the thumbnail; 0: none */
    vt_preprocess how; /* of no width: only the thumbnail */
    bool whole;        /* as decoded; of `how`, only on_white counts */
    char name[VT_NAME_ROOM];
} vt_decode_order;

/* From the decoder; the parent trusts none of its values. */
typedef struct vt_decode_reply {
    uint64_t id;
    int32_t status;
    uint32_t width, height, locked; /* locked: 0 without seccomp */
    uint32_t thumb_width, thumb_height;
    uint32_t notes; /* VT_NOTE_* of decoders.h */
    char message[VT_MESSAGE_ROOM];
} vt_decode_reply;

/* ---- the parent's side: spawn.c ---- */

enum { VT_WORKERS_MAX = 256 };
typedef struct vt_decode_limits {
    uint64_t each, large; /* bytes per decoder, and of the one for large
                           * pictures; 0: there is none */
    uint64_t pixels;
    unsigned seconds, workers;
} vt_decode_limits;
/* The limits from the machine and the environment for this many workers. */
vitcl_status vt_decode_limits_get(vt_decode_limits *out, unsigned workers);

typedef struct vt_decode_process {
    vt_process os;
    int socket; /* -1: none */
} vt_decode_process;
#define VT_DECODE_PROCESS_NONE                                                 \
    ((vt_decode_process){.os = VT_PROCESS_NONE, .socket = -1})
/* all: the program vitcl-decode-all, else vitcl-decode. memory: shared, at most
 * `bytes` long. room: its memory limit. */
vitcl_status vt_decode_start(vt_decode_process *out, bool all, int memory,
                             uint64_t bytes, uint64_t room,
                             const vt_decode_limits *limits);
/* Ends it. True: it had already ended, by its own time limit. */
bool vt_decode_end(vt_decode_process *p);
/* Sends an order without blocking; 0, or the errno of the failure. */
int vt_decode_send(const vt_decode_process *p, const vt_decode_order *order,
                   int file);
/* Creates an anonymous memory file; -1 and errno on failure. */
int vt_memory_file(const char *name);

#endif
