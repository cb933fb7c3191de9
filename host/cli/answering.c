/*
 * answering.c - runs pictures through a model and gives each to a command that
 * prints its answer: classify, embed, search.
 *
 * Answers come in input order, including failures, batch by batch, so that the
 * number of pictures does not matter for memory.
 */
#include "answering.h"
#include "machines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The devices, and the model on each. */
static int open_models(answering *w, const model_options *common)
{
    int code;

    if (!common->devices)
        return open_model(&w->device, &w->model, common);
    w->several = calloc(1, sizeof *w->several);
    if (!w->several)
        return fail("out of memory");
    code = machines_open(w->several, common);
    if (code == EXIT_OK) {
        w->device = w->several->item[0].device;
        w->model = w->several->item[0].model;
    }
    return code;
}

static int start_sessions(answering *w, vitcl_session_options *options)
{
    int code;

    if (!w->several)
        return start_session(&w->session, w->device, w->model, options);
    options->once = 0;
    code = machines_start(w->several, options);
    if (code == EXIT_OK) {
        w->device = w->several->item[0].device;
        w->model = w->several->item[0].model;
        w->session = w->several->item[0].session;
    }
    return code;
}

int answering_open(answering *w, const char *const *keep)
{
    model_options common = *w->common;
    vitcl_device_info info = {.size = sizeof info};
    vitcl_session_options session;
    uint32_t batch;
    bool cpu;
    int code;

    w->start = now();
    if (w->pictures->deep && w->pictures->flat)
        return usage("--recursive and --no-recursive contradict each other");
    if (w->pictures->quiet)
        be_quiet();
    code = open_models(w, &common);
    if (code != EXIT_OK)
        return code;
    if (vitcl_device_describe(&info, w->device) != VITCL_OK)
        return failed();
    w->batches = batches_open(w->operands, w->pictures);
    if (!w->batches)
        return EXIT_FAILED;
    cpu = w->several ? machines_cpu(w->several) : strcmp(info.type, "cpu") == 0;
    batch = batches_batch(w->batches, cpu ? 8 : 32);
    common.batch = common.batch ? common.batch : batch;
    common.once = batches_fits(w->batches, common.batch);
    session = session_options(&common);
    session.keep = keep;
    if (w->options)
        w->options(w->context, &session);
    return start_sessions(w, &session);
}

int answering_start(answering *w, const char *path, const vitcl_shape *row)
{
    const uint32_t batch = vitcl_session_batch(w->session);
    int code;

    w->numbers = malloc(batch * w->share * sizeof(float));
    w->nan_row = malloc(w->used * sizeof(float));
    if (!w->numbers || !w->nan_row)
        return fail("out of memory");
    for (size_t i = 0; i < w->used; i++)
        w->nan_row[i] = NAN;
    code = batches_start(w->batches, w->session);
    if (code == EXIT_OK && path &&
        vitcl_rows_open(&w->rows, path, row) != VITCL_OK)
        code = failed();
    return code;
}

int answering_give(answering *w, const answer *given, float *numbers,
                   const char *wrong)
{
    answer a = *given;

    if (!a.error && wrong) {
        a.error = wrong;
        batches_fail(w->batches);
    }
    w->count++;
    if (a.error) {
        w->bad++;
        say_failure(&a);
        numbers = w->nan_row;
    }
    w->print(w->context, &a, numbers);
    if (w->broken)
        return EXIT_FAILED;
    if (w->rows && vitcl_rows_add(w->rows, numbers, 1) != VITCL_OK)
        return failed();
    return EXIT_OK;
}

int answering_gave(answering *w, progress *bar)
{
    if (flush_results() != EXIT_OK)
        return EXIT_FAILED;
    progress_show(bar, w->count, NULL);
    return EXIT_OK;
}

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
             left, batches_cut(w->batches) ? ", stopped before the last" : "",
             now() - w->start);
}

/* The last line: for people, where there was more than they see at a glance. */
static void summarise(const answering *w)
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

int answering_over(answering *w, progress *bar, int code)
{
    progress_clear(bar);
    summarise(w);
    return code == EXIT_OK ? batches_broken(w->batches) : code;
}

void say_kept(int code, uint64_t count, const char *what, const char *name)
{
    note("%sthe first %llu %s%s %s in %s",
         code == EXIT_STOPPED ? "stopped; " : "", (unsigned long long)count,
         what, vt_plural(count), count == 1 ? "is" : "are", name);
}

void say_not_kept(int code)
{
    if (code == EXIT_STOPPED)
        failed();
}

void answering_keep(answering *w, int code)
{
    char name[4096];
    uint64_t rows;

    if (!w->rows || !w->count || code == EXIT_OK)
        return;
    if (vitcl_rows_keep(name, sizeof name, &rows, w->rows) != VITCL_OK)
        say_not_kept(code);
    else if (rows)
        say_kept(code, rows, "row", name);
}

void answering_close(answering *w)
{
    vitcl_rows_free(w->rows);
    batches_close(w->batches);
    free(w->numbers);
    free(w->nan_row);
    if (w->several) { /* whose first one these are */
        machines_close(w->several);
        free(w->several);
        return;
    }
    vitcl_session_free(w->session);
    vitcl_model_free(w->model);
    vitcl_device_free(w->device);
}
