/*
 * work.c - the threads of the devices, and the pieces of work between them.
 */
#include "device_pool.h"

#include "api/program.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct pool_piece {
    enum { WAITING, RUNNING, DONE } state;
    const pool_device *by; /* if RUNNING */
};

static pool_piece *at(const device_pool *p, size_t piece)
{
    return &p->piece[piece % p->room];
}

static bool start_thread(pthread_t *thread, void *(*run)(void *), void *context)
{
    sigset_t all, before;
    bool begun;

    sigfillset(&all);
    sigdelset(&all, SIGSEGV); /* of a driver: guard.c */
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGABRT);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    begun = pthread_create(thread, NULL, run, context) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return begun;
}

bool pool_overlaps(const device_pool *p)
{
    return p->count > 1 || vt_session_describe(p->item[0].session).overlaps;
}

int pool_begin(device_pool *p, size_t room, void *(*run)(void *), void *context)
{
    p->piece = calloc(room + 1, sizeof *p->piece);
    if (!p->piece)
        return fail("out of memory");
    p->context = context;
    p->room = room, p->first = p->end = 0;
    p->over = false;
    p->run = run;
    p->here = room && !pool_overlaps(p);
    for (size_t i = 0; i < p->count && !p->here; i++) {
        pool_device *d = &p->item[i];

        d->started = !d->lost && start_thread(&d->thread, run, d);
        if (!d->started && !d->lost) {
            pool_end(p);
            return fail("a thread cannot be started");
        }
    }
    return EXIT_OK;
}

void pool_end(device_pool *p)
{
    if (!p->piece)
        return;
    pthread_mutex_lock(&p->lock);
    p->over = true;
    pthread_cond_broadcast(&p->news);
    pthread_mutex_unlock(&p->lock);
    for (size_t i = 0; i < p->count; i++)
        if (p->item[i].started)
            pthread_join(p->item[i].thread, NULL);
    free(p->piece);
    p->piece = NULL;
}

void pool_add(device_pool *p, size_t pieces)
{
    pthread_mutex_lock(&p->lock);
    for (; pieces; pieces--)
        at(p, p->end++)->state = WAITING;
    pthread_cond_broadcast(&p->news);
    pthread_mutex_unlock(&p->lock);
}

/* The oldest that waits, or `end`. */
static size_t waiting(const device_pool *p)
{
    size_t i = p->first;

    while (i < p->end && at(p, i)->state != WAITING)
        i++;
    return i;
}

bool pool_take(size_t *piece, pool_device *d, bool wait)
{
    device_pool *p = d->pool;
    bool found;

    pthread_mutex_lock(&p->lock);
    while ((*piece = waiting(p)) == p->end && !p->over && wait && !p->here)
        pthread_cond_wait(&p->news, &p->lock);
    found = *piece < p->end && !p->over;
    if (found)
        *at(p, *piece) = (pool_piece){RUNNING, d};
    pthread_mutex_unlock(&p->lock);
    return found;
}

void pool_done(device_pool *p, size_t piece)
{
    pthread_mutex_lock(&p->lock);
    at(p, piece)->state = DONE;
    pthread_cond_broadcast(&p->news);
    pthread_mutex_unlock(&p->lock);
}

void pool_lose(pool_device *d)
{
    device_pool *p = d->pool;

    snprintf(d->why, sizeof d->why, "%s", vitcl_last_error());
    pthread_mutex_lock(&p->lock);
    d->lost = true;
    p->left--;
    for (size_t i = p->first; i < p->end; i++)
        if (at(p, i)->state == RUNNING && at(p, i)->by == d)
            at(p, i)->state = WAITING;
    pthread_cond_broadcast(&p->news);
    pthread_mutex_unlock(&p->lock);
}

/* Under the lock. */
static pool_state state(const device_pool *p)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->item[i].lost && !p->item[i].told)
            return POOL_LOST;
    if (p->first == p->end || p->over)
        return POOL_NONE;
    if (at(p, p->first)->state == DONE)
        return POOL_DONE;
    return p->left ? POOL_WAITS : POOL_NONE;
}

pool_state pool_await(device_pool *p, int ms)
{
    struct timespec until;
    pool_state now;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += ms * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&p->lock);
    now = state(p);
    if (now == POOL_WAITS && p->here) {
        pthread_mutex_unlock(&p->lock);
        p->run(&p->item[0]);
        pthread_mutex_lock(&p->lock);
    } else if (now == POOL_WAITS && ms < 0) {
        pthread_cond_wait(&p->news, &p->lock);
    } else if (now == POOL_WAITS && ms > 0) {
        pthread_cond_timedwait(&p->news, &p->lock, &until);
    }
    now = state(p);
    pthread_mutex_unlock(&p->lock);
    return now;
}

void pool_drop(device_pool *p)
{
    pthread_mutex_lock(&p->lock);
    p->first++;
    pthread_mutex_unlock(&p->lock);
}

void pool_tell(device_pool *p)
{
    pthread_mutex_lock(&p->lock);
    for (size_t i = 0; i < p->count; i++) {
        pool_device *d = &p->item[i];

        if (!d->lost || d->told)
            continue;
        d->told = true;
        if (p->left)
            fail("device %s (%.80s) failed and is left out; its pictures go to "
                 "the other%s: %.300s",
                 d->info.id, d->info.name, p->left == 1 ? "" : "s", d->why);
        else
            fail("%s", d->why);
    }
    pthread_mutex_unlock(&p->lock);
}
