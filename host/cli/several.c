/*
 * several.c - answers of several devices, in the order of the pictures.
 *
 * The main thread reads batches into a ring and prints the oldest as soon as it
 * is done. Each device has a thread that takes the oldest batch that nobody
 * has; a GPU takes the next one while it computes. A device that fails puts its
 * batches back and ends: the others take them.
 */
#include "answering.h"
#include "machines.h"

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

typedef struct pool {
    answering *w;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t work, news;
    slot *slot; /* a ring; the oldest is at `first` */
    size_t slots, first, used, left;
    bool over;
    uint32_t most; /* pictures of a batch */
} pool;
typedef struct worker {
    pool *pool;
    machine *on;
    pthread_t thread;
    bool started, told;
} worker;

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

    for (uint32_t i = 0; i < given->n; i++) {
        const char *why =
            numbers_wrong(s->numbers + i * p->w->share, p->w->used,
                          own->on->session, p->w->tensor, i);

        s->wrong[i] = why ? strdup(why) : NULL;
        if (why && !s->wrong[i])
            return VITCL_ENOMEM; /* as if the device had failed */
    }
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

    if (vitcl_run_batches(own->on->session, p->w->tensor, p->w->share,
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
    *p = (pool){.w = w, .most = vitcl_session_batch(w->session)};
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->work, NULL);
    pthread_cond_init(&p->news, NULL);
    p->left = w->several->count;
    p->slots = 3 * p->left + 1; /* two of a GPU, one that is read */
    p->slot = calloc(p->slots, sizeof *p->slot);
    for (size_t i = 0; p->slot && i < p->slots; i++) {
        p->slot[i].numbers = malloc(p->most * w->share * sizeof(float));
        p->slot[i].wrong = calloc(p->most, sizeof *p->slot[i].wrong);
        if (!p->slot[i].numbers || !p->slot[i].wrong)
            return fail("out of memory");
    }
    return p->slot ? EXIT_OK : fail("out of memory");
}

static void clear_slot(const pool *p, slot *s)
{
    for (uint32_t i = 0; s->wrong && i < p->most; i++) {
        free(s->wrong[i]);
        s->wrong[i] = NULL;
    }
}

static void close_pool(pool *p)
{
    for (size_t i = 0; p->slot && i < p->slots; i++) {
        slot *s = &p->slot[i];

        clear_slot(p, s);
        batches_free(&s->batch);
        free(s->numbers);
        free(s->wrong);
    }
    free(p->slot);
    pthread_cond_destroy(&p->news);
    pthread_cond_destroy(&p->work);
    pthread_mutex_destroy(&p->lock);
}

static int start_workers(pool *p, worker *workers)
{
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

static void end_workers(pool *p, worker *workers)
{
    pthread_mutex_lock(&p->lock);
    p->over = true;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
    for (size_t i = 0; i < p->w->several->count; i++)
        if (workers[i].started)
            pthread_join(workers[i].thread, NULL);
}

/* Reads a batch into the ring, whose lock is not held. *more: there was one. */
static int fill(pool *p, bool *more)
{
    const answer *found;
    const uint8_t *rgb;
    uint32_t good;
    slot *s = &p->slot[(p->first + p->used) % p->slots];

    *more = batches_next(&found, &rgb, &good, p->w->batches) > 0;
    if (!*more)
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

/* Prints the oldest batch, which is done. */
static int give(pool *p, progress *bar)
{
    slot *s = &p->slot[p->first];
    const uint32_t n = s->batch.count;
    int code = EXIT_OK;

    p->w->rgb = s->batch.rgb;
    guard_end(); /* do not restart after printing */
    progress_clear(bar);
    for (uint32_t i = 0; i < n && code == EXIT_OK; i++) {
        const answer *a = &s->batch.answers[i];

        code = answering_give(p->w, a, s->numbers + a->row * p->w->share,
                              a->error ? NULL : s->wrong[a->row]);
    }
    if (answering_gave(p->w, bar) != EXIT_OK)
        code = EXIT_FAILED;
    clear_slot(p, s);
    pthread_mutex_lock(&p->lock);
    s->state = FREE;
    p->first = (p->first + 1) % p->slots;
    p->used--;
    pthread_mutex_unlock(&p->lock);
    return code;
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

static void say_lost(pool *p, worker *workers, progress *bar)
{
    for (size_t i = 0; i < p->w->several->count; i++) {
        if (!workers[i].on->lost || workers[i].told)
            continue;
        workers[i].told = true;
        progress_clear(bar);
        machine_say(workers[i].on, p->left);
    }
}

static int work_through(pool *p, worker *workers, progress *bar)
{
    bool more = true;
    int code = EXIT_OK;

    while (code == EXIT_OK && (more || p->used)) {
        bool done, none;

        pthread_mutex_lock(&p->lock);
        done = p->used && p->slot[p->first].state == DONE;
        if (!done && p->left && p->used &&
            (p->used == p->slots || !more || !batches_ready(p->w->batches)))
            await(p, more && p->used < p->slots);
        done = p->used && p->slot[p->first].state == DONE;
        say_lost(p, workers, bar);
        none = p->left == 0;
        pthread_mutex_unlock(&p->lock);
        if (done)
            code = give(p, bar);
        else if (none)
            return EXIT_FAILED;
        else if (more && p->used < p->slots &&
                 (!p->used || batches_ready(p->w->batches)))
            code = fill(p, &more);
    }
    return code;
}

int answering_share(answering *w, progress *bar)
{
    pool p;
    worker *workers = calloc(w->several->count, sizeof *workers);
    int code = open_pool(&p, w);

    if (code == EXIT_OK && !workers)
        code = fail("out of memory");
    if (code == EXIT_OK) {
        code = start_workers(&p, workers);
        if (code == EXIT_OK)
            code = work_through(&p, workers, bar);
        end_workers(&p, workers);
    }
    close_pool(&p);
    free(workers);
    return answering_over(w, bar, code);
}
