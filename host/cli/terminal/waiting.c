/*
 * waiting.c - says on stderr what a first start waits for.
 *
 * Kernels are compiled once for a device. If that takes longer than half a
 * second, a terminal shows a line that disappears; a pipe gets one line then
 * and one every ten seconds. A thread draws, because a single kernel can take
 * seconds; it lives only while there is something to wait for.
 */
#include "terminal.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    bool running, over; /* of the thread */
    bool on, drawn;
    const char *what;           /* wait_begin(); NULL: only for kernels */
    bool once;                  /* also in a pipe */
    double began;               /* then */
    uint32_t done, total, past; /* kernels now, and earlier */
    double from, spent;         /* since when these, and for the earlier ones */
    double next;                /* seconds before the next line in a pipe */
} w = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* What to show, if it is time to; *after: for how long it has taken. */
static bool text(char *out, size_t size, double *after)
{
    const uint32_t all = w.past + w.total;

    if (w.done < w.total) {
        *after = w.spent + now() - w.from;
        snprintf(out, size,
                 "preparing kernels (once for this device): %u of %u%s, %.0f s",
                 (unsigned)(w.past + w.done), (unsigned)all,
                 is_screen(stderr) ? "" /* fits 60 columns */
                 : all == 1        ? " program"
                                   : " programs",
                 *after);
        /* a single one is often followed by the others soon */
        return *after >= (all > 1 ? 0.5 : 1.5);
    }
    if (!w.what)
        return false;
    *after = now() - w.began;
    snprintf(out, size, "%s, %.0f s", w.what, *after);
    return *after >= (w.once ? 0.5 : 2) && (w.once || is_screen(stderr));
}

static void show(void)
{
    char line[128];
    double after;

    if (!text(line, sizeof line, &after))
        return;
    if (is_screen(stderr)) { /* cut at the edge, not wrapped */
        fprintf(stderr, "\r\033[?7l\033[K%s\033[?7h", line);
        fflush(stderr);
        w.drawn = true;
    } else if (after >= w.next) {
        note("%s", line);
        w.next = 10 * (double)(int)(after / 10 + 1);
    }
}

static void *draw(void *context)
{
    struct timespec until;

    (void)context;
    pthread_mutex_lock(&w.lock);
    while (!w.over) {
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 100000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&w.changed, &w.lock, &until);
        if (!w.over)
            show();
    }
    if (w.drawn)
        fprintf(stderr, "\r\033[K");
    w.drawn = false;
    pthread_mutex_unlock(&w.lock);
    return NULL;
}

/* Starts or ends the thread. */
static void drawing(bool wanted)
{
    if (wanted && !w.running) {
        w.over = false;
        w.running = pthread_create(&w.thread, NULL, draw, NULL) == 0;
    } else if (!wanted && w.running) {
        pthread_mutex_lock(&w.lock);
        w.over = true;
        pthread_cond_signal(&w.changed);
        pthread_mutex_unlock(&w.lock);
        pthread_join(w.thread, NULL);
        w.running = false;
    }
}

static void compiling(void *context, uint32_t done, uint32_t total)
{
    (void)context;
    pthread_mutex_lock(&w.lock);
    if (w.done == w.total)
        w.from = now();
    w.done = done;
    w.total = total;
    if (done == total) {
        w.spent += now() - w.from;
        w.past += total;
        w.done = w.total = 0;
    }
    pthread_mutex_unlock(&w.lock);
    drawing(done < total || w.what);
}

void wait_watch(vitcl_device *device)
{
    w.on = !is_verbose() && !is_quiet(); /* the log says more */
    if (w.on && vitcl_device_watch(device, compiling, NULL) != VITCL_OK)
        w.on = false;
}

void wait_begin(const char *what, bool once)
{
    if (!w.on)
        return;
    pthread_mutex_lock(&w.lock);
    w.what = what;
    w.once = once;
    w.began = now();
    pthread_mutex_unlock(&w.lock);
    drawing(once || is_screen(stderr));
}

void wait_end(void)
{
    drawing(false);
    w.what = NULL;
    w.next = 0;
}
