/*
 * pool.h - the decoder processes of a pool and its waiting pictures: shared by
 * pool.c, which sends and takes, and workers.c, which receives.
 */
#ifndef VT_IMAGE_POOL_H
#define VT_IMAGE_POOL_H
#include "image/sandbox.h"

#include <stdatomic.h>

enum { VT_NO_WORKER = -1 };

typedef enum {
    VT_DECODE_WAITING,
    VT_DECODE_SENT,
    VT_DECODE_DONE
} vt_decode_job_state;

typedef struct vt_decode_job {
    char *path;
    int file; /* the open file, `path` is its name; -1: none */
    vt_opened opened;
    uint64_t id; /* number of the order */
    vt_decode_job_state state;
    bool large; /* needs more than a share of the memory */
    int worker; /* that has its pixels, or VT_NO_WORKER */
    uint32_t slot, width, height, thumb_width, thumb_height;
    vitcl_status status;
    char *message; /* of a failure */
} vt_decode_job;

typedef struct vt_worker {
    vt_decode_process process;
    bool all;    /* vitcl-decode-all, because a picture asked for it */
    int slots;   /* the shared memory */
    bool *taken; /* per slot: used by a job that is sent or done */
    unsigned unfinished;
    unsigned silent; /* seconds without an answer */
} vt_worker;

struct vt_decoder_pool {
    vt_preprocess how;
    bool whole; /* pictures as they are decoded */
    bool small; /* too large a picture goes to another pool */
    vt_decode_limits limits;
    uint64_t picture_bytes; /* of a slot; a thumbnail is at its end */
    uint64_t thumb_at;      /* and begins here */
    uint32_t side;          /* of thumbnails; 0: none */
    vt_picture thumb;       /* the last one */
    vt_opened opened;       /* the last one */
    uint32_t depth;         /* slots of a worker */
    unsigned count;         /* of workers, including the large one */
    vt_worker *workers;
    vt_decode_job *jobs; /* a ring: `pending` of them from `head` on */
    size_t capacity, head;
    atomic_uint pending; /* other threads may ask */
    uint64_t sends;
};

/* For a very long path, its end: it names the file and leaves room for the
 * message. */
const char *vt_pool_name(const vt_decode_job *j);
vitcl_status vt_pool_start(vt_decoder_pool *p, unsigned index);
/* Is this the worker for large pictures? */
bool vt_pool_is_large(const vt_decoder_pool *p, unsigned index);
/* The i-th job that waits to be taken. */
vt_decode_job *vt_pool_job(const vt_decoder_pool *p, unsigned i);
/* How many of the first jobs may be sent: as many as there are slots, so that a
 * million waiting paths cost nothing. */
unsigned vt_pool_window(const vt_decoder_pool *p);
/* Marks a job as done, with the current message. */
void vt_pool_fail(vt_decoder_pool *p, vt_decode_job *j, vitcl_status status);
/* Waits at most `ms` for answers and reads one from each ready worker. */
void vt_pool_listen(vt_decoder_pool *p, int ms);

#endif
