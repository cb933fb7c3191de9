/*
 * answering_run.c - goes through the pictures on one device, or on several.
 */
#include "answering.h"

#include <math.h>
#include <stdlib.h>

static int answer_one(answering *w, const answer *a)
{
    float *own = w->numbers + (a->error ? 0 : a->row) * w->share;

    return answering_give(
        w, a, own,
        a->error ? NULL
                 : numbers_wrong(own, w->used, w->session, w->tensor, a->row));
}

static int work_through(answering *w, progress *bar)
{
    const answer *found;
    const uint8_t *rgb;
    uint32_t n, good;
    int code = EXIT_OK;

    while (code == EXIT_OK &&
           (n = batches_next(&found, &rgb, &good, w->batches)) > 0) {
        if (good && (vitcl_run_rgb(w->session, rgb, good) != VITCL_OK ||
                     vitcl_session_read(w->numbers, good * w->share, w->session,
                                        w->tensor, good) != VITCL_OK))
            return failed();
        w->rgb = rgb;
        guard_end(); /* do not restart after printing */
        progress_clear(bar);
        for (uint32_t i = 0; i < n && code == EXIT_OK; i++)
            code = answer_one(w, &found[i]);
        if (answering_gave(w, bar) != EXIT_OK)
            return EXIT_FAILED;
    }
    return answering_over(w, bar, code);
}

/* ---- on a GPU: a batch is sent while the one before is computed ---- */

/* Reads the next batch and sends it. None: count is 0. */
static int send_next(kept_batch *b, answering *w)
{
    const answer *found;
    const uint8_t *rgb;
    uint32_t good;

    batches_drop(b);
    b->rows = 0;
    if (batches_next(&found, &rgb, &good, w->batches) == 0)
        return EXIT_OK;
    if (!batches_keep(b, w->batches))
        return EXIT_FAILED;
    b->rows = good;
    return good && vitcl_send_rgb(w->session, b->rgb, good) != VITCL_OK
               ? failed()
               : EXIT_OK;
}

static int start(const answering *w, const kept_batch *b)
{
    return b->rows && vitcl_run_sent(w->session) != VITCL_OK ? failed()
                                                             : EXIT_OK;
}

static bool all_finite(const answering *w, uint32_t rows)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < w->used; k++)
            if (!isfinite(w->numbers[i * w->share + k]))
                return false;
    return true;
}

static int print_batch(answering *w, const kept_batch *b, progress *bar)
{
    int code = EXIT_OK;

    w->rgb = b->rgb;
    guard_end(); /* do not restart after printing */
    progress_clear(bar);
    for (uint32_t i = 0; i < b->count && code == EXIT_OK; i++)
        code = answer_one(w, &b->answers[i]);
    return answering_gave(w, bar) == EXIT_OK ? code : EXIT_FAILED;
}

/* Prints b, which is computed now, while the device computes `next`. If b has a
 * number that is not finite, finding out why repeats its run: it is printed
 * first. */
static int give(answering *w, const kept_batch *b, const kept_batch *next,
                progress *bar)
{
    bool good;
    int code = EXIT_OK;

    if (b->rows &&
        vitcl_session_read(w->numbers, b->rows * w->share, w->session,
                           w->tensor, b->rows) != VITCL_OK)
        return failed();
    good = all_finite(w, b->rows);
    if (good && next->count)
        code = start(w, next);
    if (code == EXIT_OK)
        code = print_batch(w, b, bar);
    if (code == EXIT_OK && !good && next->count)
        code = start(w, next);
    return code;
}

static int work_ahead(answering *w, progress *bar)
{
    kept_batch batch[2] = {{.count = 0}, {.count = 0}}, *now = batch;
    int code = send_next(now, w);

    if (code == EXIT_OK)
        code = start(w, now);
    while (code == EXIT_OK && now->count) {
        kept_batch *next = now == batch ? batch + 1 : batch;

        /* an answer does not wait for a list that may go on later */
        if (batches_ready(w->batches))
            code = send_next(next, w);
        if (code == EXIT_OK)
            code = give(w, now, next, bar);
        if (code == EXIT_OK && !next->count) {
            code = send_next(next, w);
            if (code == EXIT_OK)
                code = start(w, next);
        }
        batches_drop(now);
        now = next;
    }
    for (int i = 0; i < 2; i++) {
        batches_drop(&batch[i]);
        free(batch[i].answers);
        free(batch[i].rgb);
    }
    return answering_over(w, bar, code);
}

int answering_run(answering *w)
{
    progress bar;
    int code;

    catch_stop();
    say_model(w->common);
    progress_start(&bar, "pictures", batches_total(w->operands, w->pictures));
    code = w->several ? answering_share(w, &bar)
           : w->ahead ? work_ahead(w, &bar)
                      : work_through(w, &bar);
    if (code == EXIT_OK && batches_cut(w->batches))
        code = EXIT_STOPPED;
    if (code == EXIT_OK && w->rows && vitcl_rows_finish(w->rows) != VITCL_OK)
        code = failed();
    if (code == EXIT_OK && w->finish)
        code = w->finish(w->context);
    if (code == EXIT_OK && batches_failures(w->batches) && !w->rows_tell)
        code = EXIT_FAILED;
    return code;
}
