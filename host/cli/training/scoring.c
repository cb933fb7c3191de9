/*
 * scoring.c - what eval and fewshot share: the model, progress, Ctrl-C, and
 * pictures that could not be decoded.
 */
#include "scoring.h"

#include "api/program.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>

static vitcl_status open_data(vitcl_dataset **out, const char *path,
                              const char *split, bool follow,
                              const char *columns)
{
    const bool named = columns[0];

    return vitcl_dataset_open(
        out, path,
        &(vitcl_dataset_options){.size = sizeof(vitcl_dataset_options),
                                 .split = split,
                                 .columns = named ? columns : NULL,
                                 .follow = follow && !named});
}

int scoring_data(vitcl_dataset **out, const char *path, const char *split,
                 bool follow, const char *columns)
{
    RET(open_data(out, path, split, follow, columns));
    if (vt_dataset_note(*out))
        note("%s", vt_dataset_note(*out));
    return EXIT_OK;
}

int scoring_shared(const vitcl_dataset *test, const vitcl_dataset *train,
                   const char *path, bool follow, const char *columns)
{
    const char *kind = vt_dataset_format(test);
    vitcl_dataset *beside = NULL;
    const char *name;
    uint32_t n = 0;
    int code = EXIT_OK;

    if (!train &&
        (strcmp(kind, "folders") == 0 || strcmp(kind, "table") == 0) &&
        open_data(&beside, path, "train", follow, columns) == VITCL_OK)
        train = beside;
    if (train)
        TRY(vt_dataset_overlap(&n, &name, test, train));
    if (n)
        note("%u of the %u test pictures %s among the training pictures, too, "
             "such as %s: the scores are too good",
             n, vitcl_dataset_pictures(test), n == 1 ? "is" : "are", name);
done:
    vitcl_dataset_free(beside);
    return code;
}

int scoring_open(scoring *s, const model_options *common)
{
    model_options o = *common;
    vitcl_session_options options;

    o.batch = o.batch ? o.batch : 8;
    options = session_options(&o);
    RET(pool_open(&s->devices, &o));
    RET(pool_sessions(&s->devices, &options));
    s->device = s->devices.item[0].device;
    s->model = s->devices.item[0].model;
    s->session = s->devices.item[0].session;
    return EXIT_OK;
}

/* A picture may be met several times, as training pictures of few-shot tests
 * are. */
static void name_broken(void *context, const char *line)
{
    scoring *s = context;
    size_t i = 0;

    pthread_mutex_lock(&s->lock); /* several devices */
    while (i < BROKEN_NAMED && s->broken[i] && strcmp(s->broken[i], line) != 0)
        i++;
    if (i < BROKEN_NAMED && !s->broken[i]) {
        s->broken[i] = strdup(line);
        progress_clear(&s->bar);
        fail("%s", line);
    }
    pthread_mutex_unlock(&s->lock);
}

int scoring_broken(scoring *s, vitcl_dataset *dataset, bool strict)
{
    return code_of(vt_dataset_set_strict(dataset, strict, name_broken, s));
}

void scoring_begin(scoring *s)
{
    catch_stop();
    progress_start(&s->bar, "pictures", 0);
}

int scoring_progress(void *context, uint64_t done, uint64_t total)
{
    scoring *s = context;

    if (s->starting == 0)
        guard_end();
    pthread_mutex_lock(&s->lock);
    s->bar.total = total;
    progress_show(&s->bar, done, NULL);
    pthread_mutex_unlock(&s->lock);
    return stopped();
}

void scoring_clear(scoring *s)
{
    pthread_mutex_lock(&s->lock);
    progress_clear(&s->bar);
    pthread_mutex_unlock(&s->lock);
}

vitcl_status scoring_part(vitcl_scores *out, uint32_t *confusion,
                          const scoring *s, vitcl_session *session,
                          const vitcl_dataset *dataset, uint32_t part,
                          uint32_t parts, vitcl_progress done, void *context)
{
    return vt_evaluate_part(out, confusion, session, dataset, s->vectors, part,
                            parts, done, context);
}

int scoring_end(scoring *s, vitcl_status st)
{
    progress_clear(&s->bar);
    return code_of(st);
}

int scoring_failed(uint32_t failed)
{
    if (!failed)
        return EXIT_OK;
    return fail("%u picture%s could not be decoded and %s left out of the "
                "scores",
                failed, vt_plural(failed), failed == 1 ? "is" : "are");
}

void scoring_close(scoring *s)
{
    for (size_t i = 0; i < BROKEN_NAMED; i++)
        free(s->broken[i]);
    pool_close(&s->devices);
}
