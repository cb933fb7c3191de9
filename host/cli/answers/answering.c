/*
 * answering.c - runs pictures through a model, batch by batch, so that the
 * number of pictures does not matter for memory.
 */
#include "answering.h"

#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of several devices, the first that is left. */
static void take_first(answering *w)
{
    const pool_device *first = &w->devices.item[0];

    w->device = first->device;
    w->model = first->model;
    w->session = first->session;
}

int answering_open(answering *w)
{
    model_options common = *w->common;
    uint32_t batch;

    w->start = now();
    RET(pool_open(&w->devices, &common));
    take_first(w);
    w->batches = batches_open(w->operands, w->pictures);
    RET(w->batches ? EXIT_OK : EXIT_FAILED);
    batch = batches_batch(w->batches, pool_cpu(&w->devices) ? 8 : 32);
    common.batch = common.batch ? common.batch : batch;
    common.once =
        w->devices.count == 1 && batches_fits(w->batches, common.batch);
    w->options = session_options(&common);
    return EXIT_OK;
}

int answering_session(answering *w, const char *const *keep)
{
    w->options.keep = keep;
    RET(pool_sessions(&w->devices, &w->options));
    take_first(w);
    return EXIT_OK;
}

int answering_start(answering *w)
{
    uint32_t height, width;

    w->nan_row = malloc(w->used * sizeof(float));
    if (!w->nan_row)
        return fail("out of memory");
    for (size_t i = 0; i < w->used; i++)
        w->nan_row[i] = NAN;
    vitcl_session_size(&height, &width, w->session);
    w->picture_bytes = (size_t)height * width * 3;
    RET(batches_start(w->batches, w->session));
    catch_stop();
    progress_start(&w->bar, "pictures",
                   batches_total(w->operands, w->pictures));
    w->computing = computing_open(w);
    return w->computing ? EXIT_OK : EXIT_FAILED;
}

/* ---- answers ---- */

/* What was printed is seen before the program waits for more. */
static bool next_batch(answering *w)
{
    if (w->batch.count) {
        if (flush_results() != EXIT_OK)
            w->code = EXIT_FAILED;
        if (!w->said && w->count > w->bad) {
            w->said = true;
            say_model(w->common);
        }
        progress_show(&w->bar, w->count, NULL);
    }
    w->at = 0;
    w->batch.count = 0;
    if (w->code == EXIT_OK)
        w->code = computing_next(&w->batch, w->computing);
    if (w->code != EXIT_OK || !w->batch.count)
        return false;
    guard_end(); /* do not restart after printing */
    progress_clear(&w->bar);
    return true;
}

answer *answering_next(answering *w)
{
    answer *a = &w->given;

    if (w->at == w->batch.count && !next_batch(w))
        return NULL;
    *a = w->batch.answers[w->at++];
    w->count++;
    if (!a->error) {
        a->numbers = w->batch.numbers + a->row * w->share + w->skip;
        a->rgb = w->batch.rgb + a->row * w->picture_bytes;
        a->error = w->batch.wrong[a->row];
        if (a->error)
            batches_fail(w->batches);
    }
    if (a->error) {
        w->bad++;
        say_failure(a);
        a->numbers = w->nan_row;
    }
    return a;
}

bool answering_waits(answering *w)
{
    return w->at == w->batch.count && !batches_ready(w->batches);
}

/* ---- the end ---- */

static void left_out(vt_left *out, const answering *w)
{
    if (w->listed)
        *out = *w->listed;
    else
        batches_left(out, w->batches);
}

void answering_counts(char *out, size_t size, const answering *w,
                      const char *where)
{
    const uint64_t bad = w->bad, good = w->count - bad;
    char failed_text[64] = "", left[VT_LEFT_TEXT];
    vt_left all;

    left_out(&all, w);
    vt_left_text(left, &all);

    if (bad)
        snprintf(failed_text, sizeof failed_text,
                 ", %llu could not be read%.20s", (unsigned long long)bad,
                 where);
    snprintf(out, size, "%llu picture%s %s%s%s%s; %.1f s",
             (unsigned long long)good, vt_plural(good), w->done, failed_text,
             left,
             w->batches && batches_cut(w->batches) ? ", stopped before the last"
                                                   : "",
             now() - w->start);
}

/* The last line: for people, where there was more than they see at a glance. */
void answering_summary(const answering *w)
{
    char line[512];
    vt_left left;

    if (is_quiet())
        return;
    if (w->pictures->summary || (w->count > 1 && is_terminal(stderr))) {
        answering_counts(line, sizeof line, w, " (listed above)");
        summary(line);
    } else {
        left_out(&left, w);
        say_left(left);
    }
}

static void stop_computing(answering *w)
{
    computing_close(w->computing);
    w->computing = NULL;
}

int answering_end(answering *w, int code)
{
    code = code == EXIT_OK ? w->code : code;
    stop_computing(w);
    progress_clear(&w->bar);
    answering_summary(w);
    if (code == EXIT_OK)
        code = batches_broken(w->batches);
    return code == EXIT_OK && batches_cut(w->batches) ? EXIT_STOPPED : code;
}

int answering_failures(const answering *w)
{
    return batches_failures(w->batches) && !w->rows_tell ? EXIT_FAILED
                                                         : EXIT_OK;
}

void say_kept(int code, uint64_t count, const char *what, const char *name)
{
    fail("%sthe first %llu %s%s %s in %s",
         code == EXIT_STOPPED ? "stopped; " : "", (unsigned long long)count,
         what, vt_plural(count), count == 1 ? "is" : "are", name);
}

void say_not_kept(int code)
{
    if (code == EXIT_STOPPED)
        failed();
}

void answering_close(answering *w)
{
    stop_computing(w);
    batches_close(w->batches);
    free(w->nan_row);
    pool_close(&w->devices);
}
