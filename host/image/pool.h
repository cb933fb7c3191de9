/*
 * pool.h - the decoder processes of a pool and the pictures that wait: for
 * pool.c, which hands out and takes, and workers.c, which listens.
 */
#ifndef VT_IMAGE_POOL_H
#define VT_IMAGE_POOL_H
#include "image/sandbox.h"

enum { VT_NO_WORKER = -1 };

typedef enum { VT_JOB_WAITING, VT_JOB_SENT, VT_JOB_DONE } vt_job_state;

typedef struct vt_job {
    char *path;
    int file;    /* what `path` is only the name of; -1: nothing */
    uint64_t id; /* counts what was sent */
    vt_job_state state;
    bool large; /* too much for a share of the memory */
    int worker; /* VT_NO_WORKER: nothing holds its pixels */
    uint32_t slot, width, height;
    vitcl_status status;
    char *message; /* of a failure */
} vt_job;

typedef struct vt_worker {
    vt_decode_process process;
    int slots;   /* the shared memory */
    bool *taken; /* a slot of a job that is sent or done */
    unsigned unfinished;
    unsigned silent; /* seconds that we have waited for it */
} vt_worker;

struct vt_decoder_pool {
    vt_preprocess how;
    bool whole; /* pictures as they are decoded */
    bool small; /* what is too much for it goes to another pool */
    vt_decode_limits limits;
    uint64_t picture_bytes;
    uint32_t depth; /* slots of a worker */
    unsigned count; /* of workers, the one for large pictures among them */
    vt_worker *workers;
    vt_job *jobs; /* a ring: `pending` of them from `head` on */
    size_t capacity, head;
    unsigned pending;
    uint64_t sends;
};

/* Of a very long path, the end: it names the file and leaves a message room. */
const char *vt_pool_name(const vt_job *j);
vitcl_status vt_pool_start(vt_decoder_pool *p, unsigned index);
/* Is it the one for what is too much for the others? */
bool vt_pool_is_large(const vt_decoder_pool *p, unsigned index);
/* The i-th that waits to be taken. */
vt_job *vt_pool_job(const vt_decoder_pool *p, unsigned i);
/* How many jobs from the head on may have left: as many as there are slots,
 * so that a million waiting paths cost nothing. */
unsigned vt_pool_window(const vt_decoder_pool *p);
/* The job is answered: with pixels in its slot, or with a message. */
void vt_pool_finish(vt_decoder_pool *p, vt_job *j, vitcl_status status,
                    const char *message);
/* ... with the message that is set. */
void vt_pool_fail(vt_decoder_pool *p, vt_job *j, vitcl_status status);
/* Wait at most `ms` for answers and take one of each worker that has any. */
void vt_pool_listen(vt_decoder_pool *p, int ms);

#endif
