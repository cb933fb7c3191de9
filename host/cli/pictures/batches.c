/*
 * batches.c - batches of prepared pictures, decoded while the device
 * computes.
 *
 * Paths go to the loader well in advance; results come back in input order,
 * including failures. A list on stdin may be written by a program that waits
 * for the answers: if no path comes for a moment, those at hand are a batch.
 */
#include "api/program.h"
#include "base/json_print.h"
#include "input.h"
#include "piped.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
    PEEK = 64,
    PAUSE = 20,          /* ms */
    HELD_MAX = 256 << 20 /* bytes of archives' pictures on their way */
};

struct picture_batches {
    input *source;
    vitcl_loader *loader;
    bool sharded, tar;
    size_t held;                 /* bytes of the queue's pictures */
    uint32_t batch, ahead, side; /* side: of thumbnails; 0: none */
    bool ended, cut;             /* cut: stopped before the last picture */
    answer *queue; /* ring of pictures that are not returned yet */
    uint32_t cap, first, count, pushed;
    answer *answers;
    uint32_t given, most;
    uint8_t *rgb;
    size_t picture_bytes;
    uint64_t failures;
    const char *broken; /* why it ended early */
    char *lost;         /* that, where it is not the input */
};

/* The error text if there was no memory for a copy: a failed picture always has
 * a text. */
static const char no_memory[] = "out of memory";

uint64_t batches_total(const words *operands, const picture_options *how)
{
    uint64_t n = 0;
    const char *error;
    picture_paths *s;

    if (how->tar || how->shard || piped_among(operands))
        return 0;
    if (is_quiet() || !is_terminal(stderr) || !(s = paths_open(operands, how)))
        return 0;
    while (paths_next(s, &error))
        n++;
    paths_close(s);
    return n;
}

static const char *copy(const char *text)
{
    const char *out = strdup(text);

    return out ? out : no_memory;
}

/* The length of "name: " at the start of s, 0: not there. Messages have spaces
 * for control characters in a name. */
static size_t begins_with(const char *s, const char *name)
{
    size_t n = 0;

    for (; name[n]; n++)
        if (s[n] != name[n] &&
            (s[n] != ' ' || !iscntrl((unsigned char)name[n])))
            return 0;
    return strncmp(s + n, ": ", 2) == 0 ? n + 2 : 0;
}

/* The name is the path, or the end of a long path; callers print it. */
const char *error_of(const char *path)
{
    const char *text = vitcl_last_error(), *found = strstr(text, ": ");
    const size_t n = found ? (size_t)(found - text) : 0, all = strlen(path);
    size_t skip = begins_with(text, path);

    if (!skip && n < all)
        skip = begins_with(text, path + all - n);
    return text + skip;
}

static const char *why(const char *path)
{
    return copy(error_of(path));
}

picture_batches *batches_open(const words *operands, const picture_options *how)
{
    picture_batches *f = calloc(1, sizeof *f);

    if (f) {
        f->cap = PEEK;
        f->queue = calloc(f->cap, sizeof *f->queue);
        f->sharded = how->shard != NULL;
        f->tar = how->tar;
    }
    if (!f || !f->queue) {
        batches_close(f);
        fail("out of memory");
        return NULL;
    }
    f->source = input_open(operands, how);
    if (!f->source) {
        batches_close(f);
        return NULL;
    }
    return f;
}

static void push(picture_batches *f, answer *a)
{
    vitcl_status st = VITCL_OK;

    if (!a->error && (a->piped || a->bytes))
        st = vitcl_loader_push_bytes(
            f->loader, a->piped ? a->piped : a->bytes, a->size,
            strcmp(a->path, "-") == 0 ? "standard input" : a->path);
    else if (!a->error)
        st = vitcl_loader_push(f->loader, a->path);
    if (st != VITCL_OK)
        a->error = why(a->path);
    free(a->bytes), a->bytes = NULL;
}

/* Waits for a path: for the first of a batch as long as it takes, for one more
 * only a moment. */
static bool await_path(picture_batches *f, uint32_t had)
{
    return !f->ended && !stopped() && input_ready(f->source, had ? PAUSE : -1);
}

/* Fills the queue up to n entries, as far as that needs no waiting. */
static void top_up(picture_batches *f, uint32_t n)
{
    while (!f->ended && f->count < n && f->count < f->cap &&
           f->held < HELD_MAX && input_ready(f->source, 0) && !stopped()) {
        const input_picture p = input_next(f->source);
        answer *a = &f->queue[(f->first + f->count) % f->cap];

        *a = (answer){.path = p.path ? strdup(p.path) : NULL,
                      .piped = p.borrowed,
                      .bytes = p.bytes,
                      .size = p.size,
                      .sharded = f->sharded,
                      .position = p.position};
        if (!a->path) { /* no result without its name */
            f->ended = true;
            f->broken = p.path ? no_memory : p.error;
            free(a->bytes), a->bytes = NULL;
            break;
        }
        a->error = p.error ? copy(p.error) : NULL;
        f->held += f->tar ? a->size : 0;
        f->count++;
    }
    for (; f->loader && f->pushed < f->count; f->pushed++)
        push(f, &f->queue[(f->first + f->pushed) % f->cap]);
}

uint32_t batches_batch(picture_batches *f, uint32_t most)
{
    uint32_t runs;

    if (f->tar) /* nothing is held before it can be decoded */
        return most;
    while (f->count < PEEK && await_path(f, f->count))
        top_up(f, PEEK);
    if (f->count == 0)
        return 1;
    if (!f->ended && f->count == PEEK)
        return most;
    runs = (f->count + most - 1) / most;
    return (f->count + runs - 1) / runs; /* no half-empty last batch */
}

bool batches_fits(const picture_batches *f, uint32_t batch)
{
    return f->ended && f->count <= batch;
}

void batches_thumbnails(picture_batches *f, uint32_t side)
{
    f->side = side;
}

int batches_start(picture_batches *f, vitcl_session *session)
{
    uint32_t height, width, workers;
    answer *queue;

    vitcl_session_size(&height, &width, session);
    f->batch = vt_session_batch(session);
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
    /* one process for one picture, else one per core */
    workers = f->ended && f->count == 1;
    if ((f->side
             ? vt_loader_new_thumbnails(&f->loader, session, workers, f->side)
             : vitcl_loader_new(&f->loader, session, workers)) != VITCL_OK)
        return failed();
    top_up(f, f->ahead);
    return EXIT_OK;
}

static void forget(answer *a)
{
    free(a->path);
    free(a->bytes);
    vitcl_image_free(&a->small);
    if (a->error != no_memory)
        free((char *)(uintptr_t)a->error);
    *a = (answer){.path = NULL};
}

/* Is there a picture for a batch that has n already? */
static bool more(picture_batches *f, uint32_t n)
{
    top_up(f, f->ahead);
    if (!f->count && await_path(f, n))
        top_up(f, f->ahead);
    return f->count > 0;
}

/* Ends the pictures before this one: the cause is not the picture. */
static void give_up(picture_batches *f, answer *a)
{
    f->lost = strdup(vitcl_last_error());
    f->broken = f->lost ? f->lost : no_memory;
    f->ended = true;
    forget(a);
    for (; f->count; f->count--) {
        forget(&f->queue[f->first]);
        f->first = (f->first + 1) % f->cap;
    }
    f->pushed = 0;
}

uint32_t batches_next(const answer **answers, const uint8_t **rgb,
                      uint32_t *rows, picture_batches *f)
{
    uint32_t n = 0, good = 0;

    while (f->given)
        forget(&f->answers[--f->given]);
    while (good < f->batch && n < f->most && !stopped() && more(f, n)) {
        answer a = f->queue[f->first];
        vitcl_status st = VITCL_OK;

        f->queue[f->first] = (answer){.path = NULL};
        f->first = (f->first + 1) % f->cap;
        f->count--, f->pushed--;
        f->held -= f->tar ? a.size : 0;
        if (!a.error)
            st = vitcl_loader_next(f->rgb + good * f->picture_bytes, f->loader);
        if (st == VITCL_ENOMEM) {
            give_up(f, &a);
            break;
        }
        if (st != VITCL_OK)
            a.error = why(a.path);
        if (a.error || vt_loader_stamp(&a.file_size, &a.file_changed,
                                       f->loader) != VITCL_OK)
            a.file_size = a.file_changed = -1;
        if (!a.error && f->side &&
            vt_loader_thumbnail(&a.small, f->loader) != VITCL_OK)
            a.small = (vitcl_image){0, 0, NULL};
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

bool batches_cut(const picture_batches *f)
{
    return f->cut;
}

int batches_broken(const picture_batches *f)
{
    return f->broken && !stopped() ? fail("%s", f->broken) : EXIT_OK;
}

void batches_fail(picture_batches *f)
{
    f->failures++;
}

/* ---- batches while the next ones are read ---- */

bool batches_ready(picture_batches *f)
{
    return f->count || f->ended || stopped() || input_ready(f->source, 0);
}

bool batches_keep(picture_batch *into, picture_batches *f)
{
    const picture_batch before = *into;

    into->answers = f->answers, into->rgb = f->rgb;
    into->count = f->given;
    f->given = before.count; /* forgotten by the next call */
    f->answers =
        before.answers ? before.answers : calloc(f->most, sizeof *f->answers);
    f->rgb = before.rgb ? before.rgb : malloc(f->batch * f->picture_bytes);
    if (!f->answers || !f->rgb) {
        fail("out of memory for a batch of %u", f->batch);
        return false;
    }
    return true;
}

void batches_free(picture_batch *b)
{
    while (b->count)
        forget(&b->answers[--b->count]);
    free(b->answers);
    free(b->rgb);
}

uint64_t batches_failures(const picture_batches *f)
{
    return f->failures;
}

void batches_left(vt_left *out, const picture_batches *f)
{
    input_left(out, f->source);
}

void say_left(vt_left left)
{
    char text[VT_LEFT_TEXT];

    left.others = left.hidden = 0;
    vt_left_text(text, &left);
    if (text[0])
        note("left out: %s", text + strlen(", "));
}

void batches_say_left(const picture_batches *f)
{
    vt_left left;

    batches_left(&left, f);
    say_left(left);
}

void batches_whole(struct vt_manifest *into, const picture_batches *f)
{
    input_whole(into, f->source);
}

void batches_close(picture_batches *f)
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
    free(f->lost);
    vitcl_loader_free(f->loader);
    input_close(f->source);
    free(f);
}

void say_failure(const answer *a)
{
    if (strcmp(a->path, "-") == 0) /* the list: its errors include its name */
        fail("%s", a->error);
    else
        fail("%s: %s", a->path, a->error);
}

void json_path(const char *path)
{
    vt_json_put_path(&json_results, "picture", "path_bytes", path);
}

bool json_picture(const answer *a)
{
    json_put("{");
    if (a->sharded)
        json_put("position:%llu", (unsigned long long)a->position);
    json_path(a->path);
    if (!a->error)
        return true;
    json_put("error:%s}\n", a->error);
    return false;
}
