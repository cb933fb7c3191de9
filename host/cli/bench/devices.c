/*
 * devices.c - how fast several devices are at once.
 *
 * All begin together and run for the same time, so that what they share, such
 * as memory, slows them as it would in use.
 */
#include "cli/bench/devices.h"

#include "cli/devices/device_pool.h"

#include <stdlib.h>

typedef struct share {
    float *out;
    double took;
    uint64_t runs;
} share;
typedef struct timing {
    double seconds;
    uint32_t batch;
    float *pixels;
    size_t room;  /* numbers of a run */
    share *share; /* of each device */
} timing;

static bool once(pool_device *d)
{
    const timing *t = d->pool->context;
    const char *tensor =
        vitcl_session_classes(d->session) ? "logits" : "features";

    if (vitcl_session_run_values(d->session, t->pixels, t->batch) == VITCL_OK &&
        vitcl_session_read(t->share[d - d->pool->item].out, t->room, d->session,
                           tensor, t->batch) == VITCL_OK)
        return true;
    pool_lose(d);
    return false;
}

static void *warm(void *device)
{
    for (int runs = 0; runs < 2 && once(device); runs++)
        continue;
    return NULL;
}

static void *run(void *device)
{
    pool_device *d = device;
    const timing *t = d->pool->context;
    share *own = &t->share[d - d->pool->item];
    const double from = now();

    while (now() < from + t->seconds && once(d))
        own->runs++;
    own->took = now() - from;
    return NULL;
}

static void print(const device_pool *p, const timing *t, bool json)
{
    double sum = 0;

    if (json)
        json_put("{batch:%u devices:[", t->batch);
    else
        printf("%-8s %11s  %s\n", "device", "pictures/s", "name");
    for (size_t i = 0; i < p->count; i++) {
        const vitcl_device_info *info = &p->item[i].info;
        const share *s = &t->share[i];
        const double rate = p->item[i].lost || s->took <= 0
                                ? 0
                                : (double)(s->runs * t->batch) / s->took;

        sum += rate;
        if (json) {
            json_put("{index:%s name:%s images_per_s:%.3f}", info->id,
                     info->name, rate);
        } else {
            printf("%-8s %11.2f  ", info->id, rate);
            put_text(info->name, SIZE_MAX);
            putchar('\n');
        }
    }
    if (json)
        json_put("] images_per_s:%.3f}\n", sum);
    else
        printf("%-8s %11.2f\n", "together", sum);
}

/* All begin together, each after it has compiled. */
static int measure(device_pool *p, timing *t)
{
    RET(pool_begin(p, 0, warm, t));
    pool_end(p);
    RET(pool_begin(p, 0, run, t));
    pool_end(p);
    guard_end();
    pool_tell(p);
    return p->left ? EXIT_OK : EXIT_FAILED;
}

/* Pixels, which are arbitrary, and room for each device's numbers. */
static int make_room(timing *t, const device_pool *p)
{
    const vitcl_session *s = p->item[0].session;
    uint32_t height, width;
    size_t n;
    bool good;

    vitcl_session_size(&height, &width, s);
    n = (size_t)t->batch * 3 * height * width;
    t->room = t->batch *
              (size_t)(vitcl_session_classes(s) + vitcl_session_features(s));
    t->pixels = malloc(n * sizeof *t->pixels);
    t->share = calloc(p->count, sizeof *t->share);
    good = t->pixels && t->share;
    for (size_t i = 0; good && i < n; i++)
        t->pixels[i] = (float)((i * 2654435761u >> 8) % 4096) / 2048.0f - 1.0f;
    for (size_t i = 0; good && i < p->count; i++)
        good = (t->share[i].out = malloc((t->room + 1) * sizeof(float)));
    return good ? EXIT_OK : fail("out of memory");
}

int bench_devices(const model_options *o, double seconds, bool json)
{
    vitcl_session_options options = session_options(o);
    timing t = {.seconds = seconds, .batch = o->batch};
    device_pool p = {.count = 0};
    int code;

    TRY(pool_open(&p, o));
    TRY(one_size(&options, p.item[0].model));
    TRY(pool_sessions(&p, &options));
    TRY(make_room(&t, &p));
    TRY(measure(&p, &t));
    print(&p, &t, json);
done:
    for (size_t i = 0; t.share && i < p.count; i++)
        free(t.share[i].out);
    pool_close(&p);
    free(t.share);
    free(t.pixels);
    return code;
}
