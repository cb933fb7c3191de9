/*
 * device_pool.h - the devices of a command, each with the model and a session,
 * and the work that they share: pieces, of which a device that is free takes
 * the oldest that nobody has. What a device that fails had is taken by others.
 */
#ifndef VT_CLI_DEVICE_POOL_H
#define VT_CLI_DEVICE_POOL_H
#include "cli/setup/setup.h"

#include <pthread.h>

struct device_pool;
typedef struct pool_device {
    struct device_pool *pool;
    vitcl_device *device;
    vitcl_model *model;
    vitcl_session *session;
    vitcl_device_info info;
    pthread_t thread;
    bool started, lost, told;
    char why[512]; /* if lost */
} pool_device;
typedef struct pool_piece pool_piece;
typedef struct device_pool {
    pool_device *item;
    size_t count;
    void *context;        /* of the work */
    pthread_mutex_t lock; /* of what follows, and of the work's own */
    pthread_cond_t news;
    pool_piece *piece; /* a ring, the oldest at `first` */
    size_t room, first, end;
    size_t left; /* devices that are not lost */
    bool over;   /* no more pieces are taken */
    void *(*run)(void *);
    bool here; /* pool_await() runs it */
} device_pool;

/* Opens the devices that o->devices names, or o->device, and the model on each.
 * Says if they are of different kinds. Zeros before. */
int pool_open(device_pool *p, const model_options *o);
/* A session on each. A device on which that fails is left out with a warning;
 * without any other it is an error. */
int pool_sessions(device_pool *p, const vitcl_session_options *options);
/* Is one of them a CPU? */
bool pool_cpu(const device_pool *p);
/* The names of their kinds, for a manifest. */
void pool_text(char *out, size_t size, const device_pool *p);
void pool_close(device_pool *p);

/* ---- work ---- */

/* Is there work while a device computes: on another, or for its next batch? */
bool pool_overlaps(const device_pool *p);
/* Starts run(pool_device) in a thread for each device; there are at most `room`
 * pieces at once, or 0. Signals but those of a crash are the main thread's.
 * With pieces, a device alone has no thread if nothing overlaps on it: not
 * every driver takes calls from several. */
int pool_begin(device_pool *p, size_t room, void *(*run)(void *),
               void *context);
void pool_end(device_pool *p); /* waits for the threads */
void pool_add(device_pool *p, size_t pieces);
/* In run(): the oldest piece that nobody has; false: there is none, and with
 * `wait`, will be none before run() ends. */
bool pool_take(size_t *piece, pool_device *d, bool wait);
void pool_done(device_pool *p, size_t piece);
/* The device failed, for the reason of the library's last message. */
void pool_lose(pool_device *d);
typedef enum { POOL_WAITS, POOL_DONE, POOL_LOST, POOL_NONE } pool_state;
/* Waits for news of the oldest piece: for `ms` at most, -1: as long as it
 * takes. LOST: a device was, which pool_tell() has not told yet. NONE: no piece
 * will be done. */
pool_state pool_await(device_pool *p, int ms);
void pool_drop(device_pool *p); /* the oldest */
void pool_tell(device_pool *p);

#endif
