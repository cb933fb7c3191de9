/*
 * single.c - batches by one device. A GPU receives the next one while it
 * computes, and computes while answers are printed.
 */
#include "answering.h"
#include "api/program.h"

#include <stdlib.h>
#include <string.h>

typedef struct single {
    done_source source;
    answering *w;
    bool overlaps;
    kept_batch batch[2];
    kept_batch *now;  /* that was given last, or NULL */
    kept_batch *then; /* that runs, or NULL */
    uint32_t rows[2]; /* of these batches, that are computed */
    float *numbers;
    char **wrong;
    uint32_t most;
} single;

static uint32_t rows_of(const single *s, const kept_batch *b)
{
    return s->rows[b - s->batch];
}

/* Reads and sends a batch. *out NULL: there is none, or with `wait` false, none
 * yet. An answer does not wait for a list that may go on later. */
static int fetch(kept_batch **out, single *s, bool wait)
{
    picture_batches *from = s->w->batches;
    kept_batch *b = &s->batch[s->batch[0].count > 0];
    const answer *found;
    const uint8_t *rgb;
    uint32_t n;

    *out = NULL;
    if ((!wait && !batches_ready(from)) ||
        batches_next(&found, &rgb, &n, from) == 0)
        return EXIT_OK;
    if (!batches_keep(b, from))
        return EXIT_FAILED;
    s->rows[b - s->batch] = n;
    *out = b;
    return n == 0 || vt_session_send_rgb(s->w->session, b->rgb, n) == VITCL_OK
               ? EXIT_OK
               : failed();
}

static int start(single *s, kept_batch *b)
{
    s->then = b;
    return !b || rows_of(s, b) == 0 ||
                   vt_session_run_sent(s->w->session) == VITCL_OK
               ? EXIT_OK
               : failed();
}

/* Reads what ran. Finding out why a number is not finite repeats the run, so
 * that this is before the next one. */
static int take(single *s, kept_batch *b)
{
    const answering *w = s->w;
    const uint32_t n = rows_of(s, b);

    if (n == 0)
        return EXIT_OK;
    if (vitcl_session_read(s->numbers, n * w->share, w->session, w->tensor,
                           n) != VITCL_OK)
        return failed();
    return done_judge(s->wrong, s->numbers, n, w->session, w)
               ? EXIT_OK
               : fail("out of memory");
}

static int next(done_batch *out, done_source *source)
{
    single *s = (single *)source;
    kept_batch *b = s->then, *after = NULL;
    int code = EXIT_OK;

    *out = (done_batch){.count = 0};
    done_forget(s->wrong, s->most);
    if (s->now)
        batches_drop(s->now);
    s->now = NULL;
    if (!b)
        code = fetch(&b, s, true);
    if (code == EXIT_OK && b && !s->then)
        code = start(s, b);
    if (code != EXIT_OK || !b)
        return code;
    if (s->overlaps)
        code = fetch(&after, s, false);
    if (code == EXIT_OK)
        code = take(s, b);
    if (code == EXIT_OK)
        code = start(s, after);
    s->now = b;
    *out = (done_batch){b->answers, b->count, b->rgb, s->numbers, s->wrong};
    return code;
}

static void close_single(done_source *source)
{
    single *s = (single *)source;

    for (int i = 0; i < 2; i++)
        batches_free(&s->batch[i]);
    if (s->wrong)
        done_forget(s->wrong, s->most);
    free(s->wrong);
    free(s->numbers);
    free(s);
}

done_source *single_open(answering *w)
{
    single *s = calloc(1, sizeof *s);

    if (!s) {
        fail("out of memory");
        return NULL;
    }
    *s = (single){.source = {next, close_single},
                  .w = w,
                  .most = vt_session_batch(w->session)};
    s->numbers = malloc(s->most * w->share * sizeof(float));
    s->wrong = calloc(s->most, sizeof *s->wrong);
    if (!s->numbers || !s->wrong)
        fail("out of memory");
    else {
        s->overlaps = vt_session_describe(w->session).overlaps;
        return &s->source;
    }
    close_single(&s->source);
    return NULL;
}
