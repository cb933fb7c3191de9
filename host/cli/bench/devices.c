/*
 * devices.c - how fast several devices are at once.
 *
 * All begin together and run for the same time, so that what they share, such
 * as memory, slows them as it would in use.
 */
#include "cli/bench/devices.h"

#include "cli/setup/machines.h"

#include <stdlib.h>

typedef struct worker {
    machine *on;
    pthread_barrier_t *start;
    const float *pixels;
    float *out;
    size_t room;
    double seconds, took;
    uint32_t batch;
    uint64_t runs;
    pthread_t thread;
} worker;

static bool once(worker *w)
{
    const char *tensor =
        vitcl_session_classes(w->on->session) ? "logits" : "features";

    if (vitcl_session_run_values(w->on->session, w->pixels, w->batch) ==
            VITCL_OK &&
        vitcl_session_read(w->out, w->room, w->on->session, tensor, w->batch) ==
            VITCL_OK)
        return true;
    machine_lose(w->on);
    return false;
}

static void *run(void *context)
{
    worker *w = context;
    bool good = true;
    double from;

    for (int warm = 0; warm < 2 && good; warm++)
        good = once(w);
    pthread_barrier_wait(w->start);
    from = now();
    while (good && now() < from + w->seconds) {
        good = once(w);
        w->runs += good;
    }
    w->took = now() - from;
    return NULL;
}

static double rate(const worker *w)
{
    return w->on->lost || w->took <= 0 ? 0
                                       : (double)(w->runs * w->batch) / w->took;
}

static void print(const worker *w, size_t n, const model_options *o, bool json)
{
    double sum = 0;

    if (json)
        json_put("{batch:%u devices:[", o->batch);
    else
        printf("%-8s %11s  %s\n", "device", "pictures/s", "name");
    for (size_t i = 0; i < n; i++) {
        const vitcl_device_info *info = &w[i].on->info;

        sum += rate(&w[i]);
        if (json) {
            json_put("{index:%s name:%s images_per_s:%.3f}", info->id,
                     info->name, rate(&w[i]));
        } else {
            printf("%-8s %11.2f  ", info->id, rate(&w[i]));
            put_text(info->name, SIZE_MAX);
            putchar('\n');
        }
    }
    if (json)
        json_put("] images_per_s:%.3f}\n", sum);
    else
        printf("%-8s %11.2f\n", "together", sum);
}

static int measure(const machines *m, const model_options *o, double seconds,
                   bool json)
{
    worker *w = calloc(m->count, sizeof *w);
    pthread_barrier_t start;
    uint32_t height, width;
    size_t n, room, begun = 0, lost = 0;
    float *pixels;
    int code = EXIT_OK;

    if (!w)
        return fail("out of memory");
    pthread_barrier_init(&start, NULL, (unsigned)m->count + 1);
    vitcl_session_size(&height, &width, m->item[0].session);
    n = (size_t)o->batch * 3 * height * width;
    room = (size_t)o->batch * (vitcl_session_classes(m->item[0].session) +
                               vitcl_session_features(m->item[0].session));
    pixels = malloc(n * sizeof *pixels);
    for (size_t i = 0; pixels && i < n; i++) /* arbitrary pixels */
        pixels[i] = (float)((i * 2654435761u >> 8) % 4096) / 2048.0f - 1.0f;
    for (size_t i = 0; i < m->count; i++) {
        w[i] = (worker){.on = &m->item[i],
                        .start = &start,
                        .pixels = pixels,
                        .out = malloc((room + 1) * sizeof(float)),
                        .room = room,
                        .seconds = seconds,
                        .batch = o->batch};
        if (!w[i].out)
            code = EXIT_FAILED;
    }
    if (!pixels || code != EXIT_OK)
        code = fail("out of memory");
    while (code == EXIT_OK && begun < m->count &&
           machine_thread(&w[begun].thread, run, &w[begun]))
        begun++;
    if (code == EXIT_OK && begun < m->count) {
        fail("a thread cannot be started");
        exit(EXIT_FAILED); /* those begun wait for ever */
    }
    if (code == EXIT_OK)
        pthread_barrier_wait(&start);
    for (size_t i = 0; i < begun; i++) {
        pthread_join(w[i].thread, NULL);
        lost += w[i].on->lost;
    }
    guard_end();
    for (size_t i = 0; i < begun; i++)
        if (w[i].on->lost)
            machine_say(w[i].on, begun - lost);
    if (code == EXIT_OK && lost == begun)
        code = EXIT_FAILED;
    if (code == EXIT_OK)
        print(w, m->count, o, json);
    pthread_barrier_destroy(&start);
    for (size_t i = 0; i < m->count; i++)
        free(w[i].out);
    free(pixels);
    free(w);
    return code;
}

int bench_devices(const model_options *o, double seconds, bool json)
{
    vitcl_session_options options = session_options(o);
    machines m = {.count = 0};
    int code;

    TRY(machines_open(&m, o));
    TRY(one_size(&options, m.item[0].model));
    TRY(machines_start(&m, &options));
    TRY(measure(&m, o, seconds, json));
done:
    machines_close(&m);
    return code;
}
