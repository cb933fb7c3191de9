/*
 * answering_run.c - goes through the pictures on one device, or on several.
 */
#include "answering.h"

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
    if (code == EXIT_OK && w->rows && vitcl_rows_finish(w->rows) != VITCL_OK)
        code = failed();
    if (code == EXIT_OK && w->finish)
        code = w->finish(w->context);
    if (code == EXIT_OK && batches_failures(w->batches) && !w->rows_tell)
        code = EXIT_FAILED;
    return code;
}
