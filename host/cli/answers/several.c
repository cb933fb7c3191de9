/*
 * several.c - batches by several devices, in the order of the pictures.
 *
 * The main thread reads batches into a ring and gives the oldest as soon as it
 * is done. Each device has a thread that takes the oldest batch that nobody
 * has; a GPU takes the next one while it computes. A device that fails puts its
 * batches back and ends: the others take them.
 */
#include "answering.h"
#include "api/program.h"
#include "cli/setup/machines.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PAUSE_NS = 20000000 };

typedef enum { FREE, WAITING, RUNNING, DONE } state;
typedef struct slot {
    kept_batch batch;
    uint32_t rows; /* of the batch, that are computed */
    state state;
    const machine *by; /* if RUNNING */
    float *numbers;
    char **wrong; /* [batch] why a row is no answer; NULL: it is one */
} slot;

typedef struct worker worker;
typedef struct pool {
    done_source source;
    answering *w;
    worker *worker;
    bool more;            /* pictures to read */
    bool given;           /* the oldest, to the caller */
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t work, news;
    slot *slot; /* a ring; the oldest is at `first` */
    size_t slots, first, used, left;
    bool over;
    uint32_t most; /* pictures of a batch */
} pool;
struct worker {
    pool *pool;
    machine *on;
    pthread_t thread;
    bool started, told;
};

/* ---- a device's thread ---- */

static slot *next_waiting(pool *p)
{
    for (size_t i = 0; i < p->used; i++) {
        slot *s = &p->slot[(p->first + i) % p->slots];

        if (s->state == WAITING)
            return s;
    }
    return NULL;
}

/* The oldest batch that nobody has, while there is work. */
static vitcl_status next_batch(void *context, vitcl_batch *out, int wait)
{
    const worker *own = context;
    pool *p = own->pool;
    slot *s = NULL;

    pthread_mutex_lock(&p->lock);
    while (!p->over && !(s = next_waiting(p)) && wait)
        pthread_cond_wait(&p->work, &p->lock);
    if (s) {
        s->state = RUNNING;
        s->by = own->on;
        *out = (vitcl_batch){s->batch.rgb, s->rows, s->numbers, s};
    }
    pthread_mutex_unlock(&p->lock);
    return VITCL_OK;
}

static vitcl_status take_batch(void *context, const vitcl_batch *given)
{
    const worker *own = context;
    pool *p = own->pool;
    slot *s = given->own;

    if (!done_judge(s->wrong, s->numbers, given->n, own->on->session, p->w))
        return VITCL_ENOMEM; /* as if the device had failed */
    pthread_mutex_lock(&p->lock);
    s->state = DONE;
    pthread_cond_signal(&p->news);
    pthread_mutex_unlock(&p->lock);
    return VITCL_OK;
}

static void *run(void *context)
{
    worker *own = context;
    pool *p = own->pool;

    if (vitcl_session_run_batches(own->on->session, p->w->tensor, p->w->share,
                                  next_batch, take_batch, own) == VITCL_OK)
        return NULL;
    pthread_mutex_lock(&p->lock);
    machine_lose(own->on);
    p->left--;
    for (size_t i = 0; i < p->slots; i++)
        if (p->slot[i].state == RUNNING && p->slot[i].by == own->on)
            p->slot[i].state = WAITING;
    pthread_cond_broadcast(&p->work);
    pthread_cond_signal(&p->news);
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* ---- the main thread ---- */

static int open_pool(pool *p, answering *w)
{
    p->w = w, p->more = true;
    p->most = vt_session_batch(w->session);
    p->left = w->several->count;
    p->slots = 3 * p->left + 1; /* two of a GPU, one that is read */
    p->slot = calloc(p->slots, sizeof *p->slot);
    p->worker = calloc(p->left, sizeof *p->worker);
    for (size_t i = 0; p->slot && i < p->slots; i++) {
        p->slot[i].numbers = malloc(p->most * w->share * sizeof(float));
        p->slot[i].wrong = calloc(p->most, sizeof *p->slot[i].wrong);
        if (!p->slot[i].numbers || !p->slot[i].wrong)
            return fail("out of memory");
    }
    return p->slot && p->worker ? EXIT_OK : fail("out of memory");
}

static void close_pool(pool *p)
{
    for (size_t i = 0; p->slot && i < p->slots; i++) {
        slot *s = &p->slot[i];

        if (s->wrong)
            done_forget(s->wrong, p->most);
        batches_free(&s->batch);
        free(s->numbers);
        free(s->wrong);
    }
    free(p->slot);
    free(p->worker);
    pthread_cond_destroy(&p->news);
    pthread_cond_destroy(&p->work);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

static int start_workers(pool *p)
{
    worker *workers = p->worker;
    int code = EXIT_OK;

    for (size_t i = 0; i < p->w->several->count && code == EXIT_OK; i++) {
        workers[i] = (worker){.pool = p, .on = &p->w->several->item[i]};
        workers[i].started =
            machine_thread(&workers[i].thread, run, &workers[i]);
        if (!workers[i].started)
            code = fail("a thread cannot be started");
    }
    return code;
}

static void end_workers(pool *p)
{
    pthread_mutex_lock(&p->lock);
    p->over = true;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
    for (size_t i = 0; i < p->w->several->count; i++)
        if (p->worker[i].started)
            pthread_join(p->worker[i].thread, NULL);
}

/* Reads a batch into the ring, whose lock is not held. */
static int fill(pool *p)
{
    const answer *found;
    const uint8_t *rgb;
    uint32_t good;
    slot *s = &p->slot[(p->first + p->used) % p->slots];

    p->more = batches_next(&found, &rgb, &good, p->w->batches) > 0;
    if (!p->more)
        return EXIT_OK;
    if (!batches_keep(&s->batch, p->w->batches))
        return EXIT_FAILED;
    s->rows = good;
    pthread_mutex_lock(&p->lock);
    s->state = WAITING;
    p->used++;
    pthread_cond_signal(&p->work);
    pthread_mutex_unlock(&p->lock);
    return EXIT_OK;
}

/* The oldest batch, which is done. */
static done_batch give(pool *p)
{
    const slot *s = &p->slot[p->first];

    p->given = true;
    return (done_batch){s->batch.answers, s->batch.count, s->batch.rgb,
                        s->numbers, s->wrong};
}

static void take_back(pool *p)
{
    slot *s = &p->slot[p->first];

    p->given = false;
    done_forget(s->wrong, p->most);
    pthread_mutex_lock(&p->lock);
    s->state = FREE;
    p->first = (p->first + 1) % p->slots;
    p->used--;
    pthread_mutex_unlock(&p->lock);
}

/* Waits for a device, but not long while a list may go on. */
static void await(pool *p, bool more)
{
    struct timespec until;

    if (!more) {
        pthread_cond_wait(&p->news, &p->lock);
        return;
    }
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += PAUSE_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&p->news, &p->lock, &until);
}

static void say_lost(pool *p)
{
    for (size_t i = 0; i < p->w->several->count; i++) {
        worker *own = &p->worker[i];

        if (!own->on->lost || own->told)
            continue;
        own->told = true;
        progress_clear(&p->w->bar);
        machine_say(own->on, p->left);
    }
}

static int next(done_batch *out, done_source *source)
{
    pool *p = (pool *)source;
    int code = EXIT_OK;

    if (p->given)
        take_back(p);
    while (code == EXIT_OK && (p->more || p->used)) {
        bool done, none;

        pthread_mutex_lock(&p->lock);
        done = p->used && p->slot[p->first].state == DONE;
        if (!done && p->left && p->used &&
            (p->used == p->slots || !p->more || !batches_ready(p->w->batches)))
            await(p, p->more && p->used < p->slots);
        done = p->used && p->slot[p->first].state == DONE;
        say_lost(p);
        none = p->left == 0;
        pthread_mutex_unlock(&p->lock);
        if (done) {
            *out = give(p);
            return EXIT_OK;
        }
        if (none)
            return EXIT_FAILED;
        if (p->more && p->used < p->slots &&
            (!p->used || batches_ready(p->w->batches)))
            code = fill(p);
    }
    return code;
}

static void close_several(done_source *source)
{
    pool *p = (pool *)source;

    end_workers(p);
    close_pool(p);
}

done_source *several_open(answering *w)
{
    pool *p = calloc(1, sizeof *p);

    if (!p) {
        fail("out of memory");
        return NULL;
    }
    p->source = (done_source){next, close_several};
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->work, NULL);
    pthread_cond_init(&p->news, NULL);
    if (open_pool(p, w) != EXIT_OK) {
        close_pool(p);
        return NULL;
    }
    if (start_workers(p) != EXIT_OK) {
        close_several(&p->source);
        return NULL;
    }
    return &p->source;
}
