/*
 * answering_run.c - goes through the pictures on one device, or on several.
 */
#include "answering.h"

#include <stdlib.h>

static int answer_one(answering *w, const answer *a)
{
    float *own = w->numbers + (a->error ? 0 : a->row) * w->share;

    return answering_give(
        w, a, own,
        a->error ? NULL
                 : numbers_wrong(own, w->used, w->session, w->tensor, a->row));
}

typedef struct passing {
    answering *w;
    progress *bar;
    kept_batch batch[2]; /* on a GPU one is computed while one is sent */
    int code;
} passing;

/* An answer does not wait for a list that may go on later. */
static vitcl_status next_batch(void *context, vitcl_batch *out, int wait)
{
    passing *p = context;
    picture_batches *from = p->w->batches;
    kept_batch *b = &p->batch[p->batch[0].count > 0];
    const answer *found;
    const uint8_t *rgb;
    uint32_t good;

    if ((!wait && !batches_ready(from)) ||
        batches_next(&found, &rgb, &good, from) == 0)
        return VITCL_OK;
    if (!batches_keep(b, from)) {
        p->code = EXIT_FAILED;
        return VITCL_ENOMEM;
    }
    *out = (vitcl_batch){b->rgb, good, p->w->numbers, b};
    return VITCL_OK;
}

static vitcl_status take_batch(void *context, const vitcl_batch *given)
{
    passing *p = context;
    answering *w = p->w;
    kept_batch *b = given->own;

    w->rgb = b->rgb;
    guard_end(); /* do not restart after printing */
    progress_clear(p->bar);
    for (uint32_t i = 0; i < b->count && p->code == EXIT_OK; i++)
        p->code = answer_one(w, &b->answers[i]);
    if (answering_gave(w, p->bar) != EXIT_OK)
        p->code = EXIT_FAILED;
    batches_drop(b);
    return p->code == EXIT_OK ? VITCL_OK : VITCL_ESTOPPED;
}

static int work_through(answering *w, progress *bar)
{
    passing p = {.w = w, .bar = bar};

    if (vitcl_run_batches(w->session, w->tensor, w->share, next_batch,
                          take_batch, &p) != VITCL_OK &&
        p.code == EXIT_OK)
        p.code = failed();
    for (int i = 0; i < 2; i++)
        batches_free(&p.batch[i]);
    return answering_over(w, bar, p.code);
}

int answering_run(answering *w)
{
    progress bar;
    int code;

    catch_stop();
    say_model(w->common);
    progress_start(&bar, "pictures", batches_total(w->operands, w->pictures));
    code = w->several ? answering_share(w, &bar) : work_through(w, &bar);
    if (code == EXIT_OK && batches_cut(w->batches))
        code = EXIT_STOPPED;
    if (code == EXIT_OK && w->rows) {
        if (vitcl_rows_finish(w->rows) != VITCL_OK)
            code = failed();
        else
            vitcl_rows_free(w->rows), w->rows = NULL;
    }
    if (code == EXIT_OK && w->finish)
        code = w->finish(w->context);
    if (code == EXIT_OK && batches_failures(w->batches) && !w->rows_tell)
        code = EXIT_FAILED;
    return code;
}
