/*
 * eval_devices.c - scores by the devices.
 *
 * For several devices the pictures are many parts. Counts add up, so their
 * order does not matter.
 */
#include "eval_devices.h"

#include <stdlib.h>
#include <string.h>

enum { EACH = 1024, PARTS = 4096 };

typedef struct share {
    uint32_t *answers; /* of one part; NULL: not asked for */
    uint64_t now;      /* pictures of this part */
    bool ran;
} share;
typedef struct counting {
    scoring *on;
    const vitcl_dataset *dataset;
    vt_shard shard;
    uint32_t parts;
    size_t cells;  /* of the answers */
    share *share;  /* of each device */
    vt_tally *sum; /* this and what follows under the pool's lock */
    vitcl_scores *scores;
    uint64_t done;       /* pictures of finished parts */
    vitcl_status status; /* not a device's fault: all end */
    char why[512];
} counting;

static share *share_of(const pool_device *d)
{
    const counting *c = d->pool->context;

    return &c->share[d - d->pool->item];
}

/* Under the lock: the device has run, or has failed. */
static void has_run(const pool_device *d)
{
    counting *c = d->pool->context;

    c->on->starting -= !share_of(d)->ran;
    share_of(d)->ran = true;
}

/* Under the lock: the sum of all. */
static int progressed(void *device, uint64_t done, uint64_t total)
{
    const pool_device *d = device;
    device_pool *p = d->pool;
    counting *c = p->context;
    uint64_t all;
    int stop;

    (void)total;
    pthread_mutex_lock(&p->lock);
    share_of(d)->now = done;
    has_run(d);
    all = c->done;
    for (size_t i = 0; i < p->count; i++)
        all += c->share[i].now;
    stop = scoring_progress(c->on, all, c->on->bar.total) || p->over;
    pthread_mutex_unlock(&p->lock);
    return stop;
}

static void add(counting *c, const uint32_t *answers, const vitcl_scores *s)
{
    vitcl_scores *all = c->scores;

    all->pictures += s->pictures, all->failed += s->failed;
    all->right1 += s->right1, all->right5 += s->right5;
    all->real_pictures += s->real_pictures;
    all->real_right += s->real_right;
    for (int i = 0; i < VT_BIN_COUNTS; i++)
        c->sum->bins[i] += s->bins[i];
    all->real_by_number |= s->real_by_number;
    for (size_t i = 0; answers && i < c->cells; i++)
        c->sum->answers[i] += answers[i];
    c->done += s->pictures + s->failed;
}

static bool is_the_devices(vitcl_status st)
{
    return st == VITCL_EDEVICE || st == VITCL_ENODEVICE || st == VITCL_ENOMEM;
}

static void *run(void *device)
{
    pool_device *d = device;
    device_pool *p = d->pool;
    counting *c = p->context;
    share *own = share_of(d);
    size_t part;

    while (!d->lost && pool_take(&part, d, true)) {
        vitcl_scores s = {.size = sizeof s};
        vitcl_status st;

        if (own->answers)
            memset(own->answers, 0, c->cells * sizeof *own->answers);
        st = scoring_part(&s, own->answers, c->on, d->session, c->dataset,
                          c->shard.k + c->shard.n * (uint32_t)part,
                          c->shard.n * c->parts, progressed, d);
        pthread_mutex_lock(&p->lock);
        own->now = 0;
        if (st == VITCL_OK) {
            add(c, own->answers, &s);
        } else if (is_the_devices(st)) {
            has_run(d);
        } else if (!p->over) {
            p->over = true;
            c->status = st;
            snprintf(c->why, sizeof c->why, "%s", vitcl_last_error());
        }
        pthread_mutex_unlock(&p->lock);
        if (is_the_devices(st))
            pool_lose(d);
        else
            pool_done(p, part);
    }
    return NULL;
}

static int run_all(counting *c, device_pool *p)
{
    pool_state state = POOL_WAITS;

    RET(pool_begin(p, c->parts, run, c));
    pool_add(p, c->parts);
    while (state != POOL_NONE) {
        state = pool_await(p, -1);
        if (state == POOL_DONE)
            pool_drop(p);
        if (state == POOL_LOST)
            scoring_clear(c->on), pool_tell(p);
    }
    pool_end(p);
    progress_clear(&c->on->bar);
    if (c->status == VITCL_ESTOPPED)
        return EXIT_STOPPED;
    if (c->status != VITCL_OK)
        return fail("%s", c->why);
    return p->left ? EXIT_OK : EXIT_FAILED;
}

static uint32_t parts_of(uint64_t pictures, size_t devices)
{
    const uint64_t least = 2 * devices, wanted = pictures / EACH;

    if (devices == 1)
        return 1;
    return (uint32_t)(wanted > PARTS ? PARTS : wanted < least ? least : wanted);
}

int eval_devices(vitcl_scores *out, vt_tally *sum, scoring *on,
                 const vitcl_dataset *dataset, vt_shard shard)
{
    device_pool *p = &on->devices;
    counting c = {.on = on,
                  .dataset = dataset,
                  .shard = shard.n ? shard : (vt_shard){1, 1},
                  .cells = (size_t)sum->rows * sum->columns,
                  .share = calloc(p->count, sizeof *c.share),
                  .sum = sum,
                  .scores = out};
    int code = EXIT_OK;

    if (!c.share)
        return fail("out of memory");
    on->starting = p->count;
    on->bar.total = vt_shard_share(shard, vitcl_dataset_pictures(dataset));
    c.parts = parts_of(on->bar.total, p->count);
    for (size_t i = 0; sum->answers && i < p->count && code == EXIT_OK; i++) {
        c.share[i].answers = calloc(c.cells + 1, sizeof *c.share->answers);
        if (!c.share[i].answers)
            code = fail("out of memory for %u x %u answers", sum->rows,
                        sum->columns);
    }
    if (code == EXIT_OK)
        code = run_all(&c, p);
    for (size_t i = 0; i < p->count; i++)
        free(c.share[i].answers);
    free(c.share);
    return code;
}
