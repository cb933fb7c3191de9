/*
 * feed.c - batches of prepared pictures, decoded while the device computes.
 *
 * Paths go to the loader well ahead of need; answers come back in input order,
 * failures among them.
 */
#include "cmd.h"

#include <stdlib.h>
#include <string.h>

enum { PEEK = 64 };

struct feed {
    source *source;
    vitcl_loader *loader;
    uint32_t batch, ahead;
    bool ended, cut; /* cut: stopped before the last picture */
    answer *queue; /* ring of what the loader has or will have */
    uint32_t cap, first, count, pushed;
    answer *answers;
    uint32_t given, most;
    uint8_t *rgb;
    size_t picture_bytes;
    uint64_t failures;
};

uint64_t feed_total(const words *operands)
{
    uint64_t n = 0;
    const char *error;
    source *s;

    for (size_t i = 0; i < operands->count; i++)
        if (strcmp(operands->item[i], "-") == 0)
            return 0;
    if (!is_terminal(stderr) || !(s = source_open(operands, false)))
        return 0;
    while (source_next(s, &error))
        n++;
    source_close(s);
    return n;
}

static char *copy(const char *s)
{
    char *out = malloc(strlen(s) + 1);

    return out ? strcpy(out, s) : NULL;
}

feed *feed_open(const words *operands, bool nul)
{
    feed *f = calloc(1, sizeof *f);

    if (f) {
        f->cap = PEEK;
        f->queue = calloc(f->cap, sizeof *f->queue);
        f->source = source_open(operands, nul);
    }
    if (!f || !f->queue || !f->source) {
        feed_close(f);
        fail("out of memory");
        return NULL;
    }
    return f;
}

static void push(feed *f, answer *a)
{
    if (!a->error && vitcl_loader_push(f->loader, a->path) != VITCL_OK)
        a->error = copy(vitcl_last_error());
}

/* Bring the queue up to n entries. */
static void top_up(feed *f, uint32_t n)
{
    while (!f->ended && f->count < n && f->count < f->cap) {
        const char *error, *path = source_next(f->source, &error);
        answer *a = &f->queue[(f->first + f->count) % f->cap];

        if (!path) {
            f->ended = true;
            break;
        }
        *a = (answer){.path = copy(path), .error = error ? copy(error) : NULL};
        if (!a->path)
            a->path = copy(""), a->error = copy("out of memory");
        f->count++;
    }
    for (; f->loader && f->pushed < f->count; f->pushed++)
        push(f, &f->queue[(f->first + f->pushed) % f->cap]);
}

uint32_t feed_batch(feed *f, uint32_t most)
{
    uint32_t runs;

    top_up(f, PEEK);
    if (!f->ended || f->count == 0)
        return f->count ? most : 1;
    runs = (f->count + most - 1) / most;
    return (f->count + runs - 1) / runs; /* no half-empty last batch */
}

bool feed_fits(const feed *f, uint32_t batch)
{
    return f->ended && f->count <= batch;
}

int feed_start(feed *f, vitcl_session *session)
{
    uint32_t height, width;
    answer *queue;

    vitcl_session_size(session, &height, &width);
    f->batch = vitcl_session_batch(session);
    f->ahead = 2 * f->batch + 16;
    f->most = f->batch + 16;
    f->picture_bytes = (size_t)height * width * 3;
    f->answers = calloc(f->most, sizeof *f->answers);
    f->rgb = malloc(f->batch * f->picture_bytes);
    if (f->ahead > f->cap) {
        queue = calloc(f->ahead, sizeof *queue);
        if (queue) { /* first is 0 until the first batch */
            memcpy(queue, f->queue, f->count * sizeof *queue);
            free(f->queue);
            f->queue = queue, f->cap = f->ahead;
        }
    }
    if (!f->answers || !f->rgb || f->cap < f->ahead)
        return fail("out of memory for a batch of %u", f->batch);
    /* a process for one picture, one a core for more */
    if (vitcl_loader_new(&f->loader, session, f->ended && f->count == 1) !=
        VITCL_OK)
        return failed();
    top_up(f, f->ahead);
    return EXIT_OK;
}

static void forget(answer *a)
{
    free(a->path);
    free(a->error);
    *a = (answer){.path = NULL};
}

uint32_t feed_next(const answer **answers, const uint8_t **rgb, uint32_t *rows,
                   feed *f)
{
    uint32_t n = 0, good = 0;

    while (f->given)
        forget(&f->answers[--f->given]);
    while (good < f->batch && n < f->most && !stopped()) {
        answer a;

        top_up(f, f->ahead);
        if (!f->count)
            break;
        a = f->queue[f->first];
        f->queue[f->first] = (answer){.path = NULL};
        f->first = (f->first + 1) % f->cap;
        f->count--, f->pushed--;
        if (!a.error && vitcl_loader_next(f->rgb + good * f->picture_bytes,
                                          f->loader) != VITCL_OK)
            a.error = copy(vitcl_last_error());
        if (a.error)
            f->failures++;
        else
            a.row = good++;
        f->answers[n++] = a;
    }
    top_up(f, f->ahead);
    f->cut = n == 0 && (f->count || !f->ended);
    f->given = n;
    *answers = f->answers;
    *rgb = f->rgb;
    *rows = good;
    return n;
}

bool feed_cut(const feed *f)
{
    return f->cut;
}

uint64_t feed_failures(const feed *f)
{
    return f->failures;
}

void feed_close(feed *f)
{
    if (!f)
        return;
    while (f->given)
        forget(&f->answers[--f->given]);
    for (uint32_t i = 0; f->queue && i < f->cap; i++)
        forget(&f->queue[i]);
    free(f->queue);
    free(f->answers);
    free(f->rgb);
    vitcl_loader_free(f->loader);
    source_close(f->source);
    free(f);
}

void say_failure(const answer *a)
{
    if (strstr(a->error, a->path))
        note("%s", a->error);
    else
        note("%s: %s", a->path, a->error);
}
