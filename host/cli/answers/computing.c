/*
 * computing.c - the main thread reads batches into a ring, whose pieces are the
 * pool's, and gives the oldest as soon as it is done. A GPU takes the next one
 * while it computes.
 */
#include "computing.h"

#include "answering.h"
#include "api/program.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PAUSE = 20 }; /* ms */

typedef struct slot {
    picture_batch batch;
    uint32_t rows; /* of the batch, that are computed */
    float *numbers;
    char **wrong; /* [most] why a row is no answer; NULL: it is one */
} slot;
struct computing {
    answering *w;
    device_pool *pool;
    bool more;  /* pictures to read */
    bool given; /* the oldest, to the caller */
    slot *slot;
    size_t slots;
    uint32_t most; /* pictures of a batch */
};

/* ---- a device's thread ---- */

/* Why n numbers, row `row` of `tensor`, are no answer; NULL: they are all
 * finite. Valid until the library's next failure in this thread. */
static const char *numbers_wrong(const float *numbers, size_t n,
                                 vitcl_session *session, const char *tensor,
                                 uint32_t row)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(numbers[i]))
            return vt_session_check(session, tensor, row) == VITCL_OK
                       ? "its numbers are not finite"
                       : vitcl_last_error();
    return NULL;
}

static vitcl_status next_batch(void *device, vitcl_batch *out, int wait)
{
    pool_device *d = device;
    const computing *c = d->pool->context;
    size_t piece;

    if (pool_take(&piece, d, wait)) {
        slot *s = &c->slot[piece % c->slots];

        *out = (vitcl_batch){s->batch.rgb, s->rows, s->numbers, s};
    }
    return VITCL_OK;
}

static vitcl_status take_batch(void *device, const vitcl_batch *given)
{
    pool_device *d = device;
    const computing *c = d->pool->context;
    const answering *w = c->w;
    slot *s = given->own;

    for (uint32_t i = 0; i < given->n; i++) {
        const char *why = numbers_wrong(s->numbers + i * w->share + w->skip,
                                        w->used, d->session, w->tensor, i);

        s->wrong[i] = why ? strdup(why) : NULL;
        if (why && !s->wrong[i]) /* as if the device had failed */
            return vt_fail(VITCL_ENOMEM, "out of memory");
    }
    pool_done(d->pool, (size_t)(s - c->slot));
    return VITCL_OK;
}

static void *run(void *device)
{
    pool_device *d = device;
    const answering *w = ((computing *)d->pool->context)->w;

    if (vitcl_session_run_batches(d->session, w->tensor, w->share, next_batch,
                                  take_batch, d) != VITCL_OK)
        pool_lose(d);
    return NULL;
}

/* ---- the main thread ---- */

static void forget_wrong(const computing *c, const slot *s)
{
    for (uint32_t i = 0; s->wrong && i < c->most; i++) {
        free(s->wrong[i]);
        s->wrong[i] = NULL;
    }
}

/* Reads a batch into the ring. */
static int fill(computing *c)
{
    const answer *found;
    const uint8_t *rgb;
    slot *s = &c->slot[c->pool->end % c->slots];

    c->more = batches_next(&found, &rgb, &s->rows, c->w->batches) > 0;
    if (!c->more)
        return EXIT_OK;
    if (!batches_keep(&s->batch, c->w->batches))
        return EXIT_FAILED;
    pool_add(c->pool, 1);
    return EXIT_OK;
}

/* The oldest batch, which is done. */
static computed give(computing *c)
{
    const slot *s = &c->slot[c->pool->first % c->slots];

    c->given = true;
    return (computed){s->batch.answers, s->batch.count, s->batch.rgb,
                      s->numbers, s->wrong};
}

static void take_back(computing *c)
{
    c->given = false;
    forget_wrong(c, &c->slot[c->pool->first % c->slots]);
    pool_drop(c->pool);
}

int computing_next(computed *out, computing *c)
{
    device_pool *p = c->pool;
    int code = EXIT_OK;

    if (c->given)
        take_back(c);
    while (code == EXIT_OK && (c->more || p->first < p->end)) {
        const bool used = p->first < p->end,
                   room = c->more && p->end - p->first < c->slots,
                   reads = room && (!used || batches_ready(c->w->batches));
        /* not long while a list may go on */
        const pool_state state = used ? pool_await(p, reads  ? 0
                                                      : room ? PAUSE
                                                             : -1)
                                      : POOL_WAITS;

        if (state == POOL_DONE)
            *out = give(c);
        if (state == POOL_DONE)
            return EXIT_OK;
        if (state == POOL_NONE)
            return EXIT_FAILED;
        if (state == POOL_LOST) {
            progress_clear(&c->w->bar);
            pool_tell(p);
        } else if (reads) {
            code = fill(c);
        }
    }
    return code;
}

void computing_close(computing *c)
{
    if (!c)
        return;
    pool_end(c->pool);
    for (size_t i = 0; c->slot && i < c->slots; i++) {
        slot *s = &c->slot[i];

        forget_wrong(c, s);
        batches_free(&s->batch);
        free(s->numbers);
        free(s->wrong);
    }
    free(c->slot);
    free(c);
}

/* On CPUs nothing overlaps, and what a watcher has seen is of the batch that is
 * given: only one is read. A GPU has two, one is given, one is read. */
static size_t slots_of(const device_pool *p)
{
    return pool_overlaps(p) ? 3 * p->count + 1 : 1;
}

computing *computing_open(answering *w)
{
    computing *c = calloc(1, sizeof *c);
    bool good;

    if (!c) {
        fail("out of memory");
        return NULL;
    }
    *c = (computing){.w = w, .pool = &w->devices, .more = true};
    c->most = vt_session_batch(w->session);
    c->slots = slots_of(c->pool);
    c->slot = calloc(c->slots, sizeof *c->slot);
    good = c->slot;
    for (size_t i = 0; good && i < c->slots; i++) {
        c->slot[i].numbers = malloc(c->most * w->share * sizeof(float));
        c->slot[i].wrong = calloc(c->most, sizeof *c->slot[i].wrong);
        good = c->slot[i].numbers && c->slot[i].wrong;
    }
    if (!good)
        fail("out of memory");
    else if (pool_begin(c->pool, c->slots, run, c) == EXIT_OK)
        return c;
    computing_close(c);
    return NULL;
}
