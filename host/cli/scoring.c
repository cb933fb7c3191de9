/*
 * scoring.c - what eval and fewshot share: the model, progress, Ctrl-C, and
 * pictures that could not be decoded.
 */
#include "cmd.h"

#include <stdlib.h>
#include <string.h>
#include <vitcl_train.h>

int scoring_open(scoring *s, const model_options *common)
{
    model_options o = *common;
    int code;

    o.batch = o.batch ? o.batch : 8;
    code = open_model(&s->device, &s->model, &o);
    if (code == EXIT_OK)
        code = open_session(&s->session, s->device, s->model, &o, NULL, 0);
    if (code == EXIT_OK)
        say_model(&o);
    return code;
}

/* A picture may be met several times, as training pictures of few-shot tests
 * are. */
static void name_broken(void *context, const char *line)
{
    scoring *s = context;
    size_t i = 0;

    while (i < BROKEN_NAMED && s->broken[i] && strcmp(s->broken[i], line) != 0)
        i++;
    if (i == BROKEN_NAMED || s->broken[i])
        return;
    s->broken[i] = strdup(line);
    progress_clear(&s->bar);
    note("%s", line);
}

int scoring_broken(scoring *s, vitcl_dataset *dataset, bool strict)
{
    return vitcl_dataset_broken(dataset, strict, name_broken, s) == VITCL_OK
               ? EXIT_OK
               : failed();
}

void scoring_begin(scoring *s)
{
    catch_stop();
    progress_start(&s->bar, "pictures", 0);
}

int scoring_progress(void *context, uint64_t done, uint64_t total)
{
    scoring *s = context;

    guard_end();
    s->bar.total = total;
    progress_show(&s->bar, done, NULL);
    return stopped();
}

int scoring_end(scoring *s, vitcl_status st)
{
    progress_clear(&s->bar);
    if (st == VITCL_OK)
        return EXIT_OK;
    return st == VITCL_ESTOPPED ? EXIT_STOPPED : failed();
}

int scoring_failed(uint32_t failed)
{
    if (!failed)
        return EXIT_OK;
    return fail("%u picture%s could not be decoded and %s left out of the "
                "scores",
                failed, plural(failed), failed == 1 ? "is" : "are");
}

void scoring_close(scoring *s)
{
    for (size_t i = 0; i < BROKEN_NAMED; i++)
        free(s->broken[i]);
    vitcl_session_free(s->session);
    vitcl_model_free(s->model);
    vitcl_device_free(s->device);
}
