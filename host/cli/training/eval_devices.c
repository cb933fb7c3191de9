/*
 * eval_devices.c - scores by several devices.
 *
 * The pictures are many parts, and a device that is free takes the next one.
 * Counts add up, so their order does not matter. A part whose device failed is
 * scored by another one.
 */
#include "eval_devices.h"

#include "scoring.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { EACH = 1024, PARTS = 4096 };

typedef struct worker worker;
typedef struct pool {
    scoring *on;
    const vitcl_dataset *dataset;
    vt_shard shard;
    vt_tally *sum;
    vitcl_scores *scores;
    pthread_mutex_t lock; /* of what follows, and of `sum` and `scores` */
    pthread_cond_t news;
    uint32_t parts, taken, finished;
    uint32_t back[PARTS], backs; /* parts whose device has failed */
    uint64_t done;               /* pictures of finished parts */
    worker *worker;
    size_t workers, left;
    vitcl_status status; /* not a device's fault: all end */
    char why[512];
} pool;
struct worker {
    pool *pool;
    machine *on;
    uint32_t *answers; /* of one part; NULL: not asked for */
    uint64_t now;      /* pictures of this part */
    pthread_t thread;
    bool started, ran;
};

/* Under the lock: the device has run, or has failed. */
static void has_run(worker *own)
{
    own->pool->on->starting -= !own->ran;
    own->ran = true;
}

/* Under the lock: the sum of all. */
static int progressed(void *context, uint64_t done, uint64_t total)
{
    worker *own = context;
    pool *p = own->pool;
    uint64_t all;
    int stop;

    (void)total;
    pthread_mutex_lock(&p->lock);
    own->now = done;
    has_run(own);
    all = p->done;
    for (size_t i = 0; i < p->workers; i++)
        all += p->worker[i].now;
    stop =
        scoring_progress(p->on, all, p->on->bar.total) || p->status != VITCL_OK;
    pthread_mutex_unlock(&p->lock);
    return stop;
}

static size_t cells(const pool *p)
{
    return (size_t)p->sum->rows * p->sum->columns;
}

static void add(pool *p, worker *own, const vitcl_scores *s)
{
    vitcl_scores *all = p->scores;

    all->pictures += s->pictures, all->failed += s->failed;
    all->right1 += s->right1, all->right5 += s->right5;
    all->real_pictures += s->real_pictures;
    all->real_right += s->real_right;
    all->real_by_number |= s->real_by_number;
    for (size_t i = 0; own->answers && i < cells(p); i++)
        p->sum->answers[i] += own->answers[i];
    p->done += s->pictures + s->failed;
    p->finished++;
}

/* Under the lock: the next part, from 1; 0: there is none now. */
static uint32_t take(pool *p)
{
    if (p->backs)
        return p->back[--p->backs];
    return p->taken < p->parts ? ++p->taken : 0;
}

static bool is_the_devices(vitcl_status st)
{
    return st == VITCL_EDEVICE || st == VITCL_ENODEVICE || st == VITCL_ENOMEM;
}

static void *run(void *context)
{
    worker *own = context;
    pool *p = own->pool;

    pthread_mutex_lock(&p->lock);
    while (p->finished < p->parts && p->status == VITCL_OK && !own->on->lost) {
        const uint32_t part = take(p);
        vitcl_scores s = {.size = sizeof s};
        vitcl_status st;

        if (!part) {
            pthread_cond_wait(&p->news, &p->lock);
            continue;
        }
        pthread_mutex_unlock(&p->lock);
        if (own->answers)
            memset(own->answers, 0, cells(p) * sizeof *own->answers);
        st = scoring_part(&s, own->answers, p->on, own->on->session, p->dataset,
                          p->shard.k + p->shard.n * (part - 1),
                          p->shard.n * p->parts, progressed, own);
        pthread_mutex_lock(&p->lock);
        own->now = 0;
        if (st == VITCL_OK) {
            add(p, own, &s);
        } else if (is_the_devices(st)) {
            machine_lose(own->on);
            has_run(own);
            p->back[p->backs++] = part;
            p->left--;
            scoring_clear(p->on);
            machine_say(own->on, p->left);
            if (p->left == 0 && p->status == VITCL_OK)
                p->status = st;
        } else if (p->status == VITCL_OK) {
            p->status = st;
            snprintf(p->why, sizeof p->why, "%s", vitcl_last_error());
        }
        pthread_cond_broadcast(&p->news);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static int run_all(pool *p)
{
    int code = EXIT_OK;

    for (size_t i = 0; i < p->workers && code == EXIT_OK; i++) {
        worker *w = &p->worker[i];

        w->started = machine_thread(&w->thread, run, w);
        if (!w->started) {
            code = fail("a thread cannot be started");
            pthread_mutex_lock(&p->lock);
            p->status = VITCL_ENOMEM; /* ends the others */
            pthread_cond_broadcast(&p->news);
            pthread_mutex_unlock(&p->lock);
        }
    }
    for (size_t i = 0; i < p->workers; i++)
        if (p->worker[i].started)
            pthread_join(p->worker[i].thread, NULL);
    progress_clear(&p->on->bar);
    if (code != EXIT_OK || p->status == VITCL_OK)
        return code;
    if (p->status == VITCL_ESTOPPED)
        return EXIT_STOPPED;
    return p->why[0] ? fail("%s", p->why) : EXIT_FAILED;
}

static uint32_t parts_of(uint64_t pictures, size_t devices)
{
    const uint64_t least = 2 * devices, wanted = pictures / EACH;

    return (uint32_t)(wanted > PARTS ? PARTS : wanted < least ? least : wanted);
}

int eval_devices(vitcl_scores *out, vt_tally *sum, scoring *on,
                 const machines *m, const vitcl_dataset *dataset,
                 vt_shard shard)
{
    const uint64_t share =
        vt_shard_share(shard, vitcl_dataset_pictures(dataset));
    pool *p = calloc(1, sizeof *p);
    int code = EXIT_OK;

    if (!p)
        return fail("out of memory");
    p->worker = calloc(m->count, sizeof *p->worker);
    if (!p->worker) {
        free(p);
        return fail("out of memory");
    }
    p->on = on, p->dataset = dataset;
    p->shard = shard.n ? shard : (vt_shard){1, 1};
    p->sum = sum, p->scores = out;
    p->workers = p->left = on->starting = m->count;
    p->parts = parts_of(share, m->count);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->news, NULL);
    on->bar.total = share;
    for (size_t i = 0; i < m->count && code == EXIT_OK; i++) {
        worker *w = &p->worker[i];

        *w = (worker){.pool = p, .on = &m->item[i]};
        if (sum->answers &&
            !(w->answers = calloc(cells(p) + 1, sizeof *w->answers)))
            code = fail("out of memory for %u x %u answers", sum->rows,
                        sum->columns);
    }
    if (code == EXIT_OK)
        code = run_all(p);
    pthread_cond_destroy(&p->news);
    pthread_mutex_destroy(&p->lock);
    for (size_t i = 0; i < m->count; i++)
        free(p->worker[i].answers);
    free(p->worker);
    free(p);
    return code;
}
