/*
 * plan.c - how many pictures and epochs fit into the minutes, and the file that
 * keeps this, so that a study that is started again has the same runs.
 */
#include "base/file.h"
#include "base/json.h"
#include "base/json_print.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/text.h"
#include "base/utf8.h"
#include "study/private.h"

#include <errno.h>
#include <string.h>

enum { STATE_MOST = 1 << 20, EPOCHS_MOST = 60, EPOCHS_LEAST = 8, TESTS = 2000 };
static const double usual_minutes = 12;

/* ---- the state ---- */

static void take_count(uint32_t *out, const vt_json *v, uint32_t most)
{
    uint64_t n;

    if (vt_json_uint(&n, v) && n <= most)
        *out = (uint32_t)n;
}

static void read_rates(vt_experiment *e, const vt_json *rates)
{
    const vt_json *v = vt_json_first(rates);

    for (; v && e->rates < VT_RATES; v = vt_json_next(v)) {
        vt_rate r = {0};
        const char *id;

        if (vt_json_string(&id, vt_json_get(v, "id")) &&
            vt_json_number(&r.train, vt_json_get(v, "train")) &&
            vt_json_number(&r.score, vt_json_get(v, "score")) &&
            vt_json_number(&r.fixed, vt_json_get(v, "fixed")) &&
            vt_json_number(&r.gmac, vt_json_get(v, "gmac")) &&
            vt_json_uint(&r.parameters, vt_json_get(v, "parameters"))) {
            snprintf(r.id, sizeof r.id, "%.16s", id);
            e->rate[e->rates++] = r;
        }
    }
}

/* What the folder says, if it is one of a study. */
static vitcl_status read_state(vt_experiment *e)
{
    vitcl_status st = VITCL_OK;
    char path[VT_STUDY_PATH];
    vt_json *json = NULL;
    const char *study = "", *data = "", *columns = "",
               *now = e->options.columns ? e->options.columns : "";
    bool follow = false;

    VT_TRY(vt_study_path(path, e, "study.json"));
    if (!vt_path_exists(path))
        goto done;
    VT_TRY(vt_json_load(&json, path, STATE_MOST, 8));
    vt_json_string(&study, vt_json_get(json, "study"));
    vt_json_string(&data, vt_json_get(json, "data"));
    if (strcmp(study, e->study->name) != 0 || strcmp(data, e->data) != 0)
        VT_TRY(vt_fail(VITCL_EINVAL,
                       "%s: has a study \"%s\" of %s; name another folder",
                       e->named, study, data));
    vt_json_bool(&follow, vt_json_get(json, "follow"));
    if (follow != e->options.follow)
        VT_TRY(vt_fail(VITCL_EINVAL,
                       "%s: has a study %s --follow, of other pictures; name "
                       "another folder",
                       e->named, follow ? "with" : "without"));
    vt_json_string(&columns, vt_json_get(json, "columns"));
    if (strcmp(columns, now) != 0)
        VT_TRY(vt_fail(VITCL_EINVAL,
                       "%s: has a study with other --column or --sep; name "
                       "another folder",
                       e->named));
    vt_json_number(&e->minutes, vt_json_get(json, "minutes"));
    take_count(&e->tries, vt_json_get(json, "tries"), 1000);
    read_rates(e, vt_json_get(json, "rates"));
    if (e->options.minutes > 0 && e->options.minutes != e->minutes) {
        e->minutes = e->options.minutes;
        goto done; /* other minutes: choose again */
    }
    take_count(&e->pictures, vt_json_get(json, "pictures"), e->all_pictures);
    take_count(&e->tests, vt_json_get(json, "tests"), e->all_tests);
    take_count(&e->epochs, vt_json_get(json, "epochs"), 100000);
done:
    vt_json_free(json);
    return st;
}

static vitcl_status write_state(const vt_experiment *e)
{
    vitcl_status st;
    vt_text t;
    char path[VT_STUDY_PATH], *text = NULL;

    if (e->options.dry)
        return VITCL_OK;
    VT_TRY(vt_text_open(&t));
    fprintf(t.f, "{\"study\": \"%s\",\n \"data\": ", e->study->name);
    vt_json_print_string(t.f, e->data);
    fprintf(t.f, ",\n \"follow\": %s", e->options.follow ? "true" : "false");
    if (e->options.columns) {
        fputs(",\n \"columns\": ", t.f);
        vt_json_print_string(t.f, e->options.columns);
    }
    vt_print(t.f,
             ",\n \"minutes\": %.9g, \"tries\": %u, \"pictures\": %u, "
             "\"tests\": %u, \"epochs\": %u,\n \"rates\": [",
             e->minutes, e->tries, e->pictures, e->tests, e->epochs);
    for (size_t i = 0; i < e->rates; i++) {
        const vt_rate *r = &e->rate[i];

        vt_print(t.f,
                 "%s\n  {\"id\": \"%s\", \"train\": %.9g, \"score\": %.9g, "
                 "\"fixed\": %.9g, \"gmac\": %.9g, \"parameters\": %llu}",
                 i ? "," : "", r->id, r->train, r->score, r->fixed, r->gmac,
                 (unsigned long long)r->parameters);
    }
    fprintf(t.f, "]}\n");
    VT_TRY(vt_text_take(&text, &t));
    VT_TRY(vt_study_path(path, e, "study.json"));
    VT_TRY(vt_study_write(path, text));
done:
    free(text);
    return st;
}

vitcl_status vt_experiment_open(vt_experiment **out, const vt_study *study,
                                const vt_study_options *options)
{
    static const char *const folders[] = {"runs", "files", "measure"};
    vitcl_status st;
    vt_experiment *e = NULL;
    char path[VT_STUDY_PATH];

    VT_TRY(VT_NEW(&e, 1));
    e->study = study, e->options = *options, e->named = options->output;
    e->tries = 3, e->minutes = usual_minutes;
    if (options->minutes > 0)
        e->minutes = options->minutes;
    if (!study->measure) {
        if (!study->drawn && !realpath(options->data, e->data))
            VT_TRY(
                vt_fail(VITCL_EIO, "%s: %s", options->data, strerror(errno)));
        if (!vt_utf8(e->data, strlen(e->data)))
            VT_TRY(vt_fail(VITCL_EINVAL,
                           "%s: a study keeps this name in a UTF-8 file, but "
                           "it is not UTF-8; rename it or link to it",
                           e->data));
        VT_TRY(vt_subset_look(e));
    }
    if (options->dry)
        VT_TRY(vt_scratch_make(e));
    else
        VT_TRY(vt_study_folder(options->output));
    VT_TRY(read_state(e));
    if (options->tries)
        e->tries = options->tries;
    for (size_t i = 0; i < VT_COUNT(folders); i++) {
        VT_TRY(vt_study_path(path, e, "%s", folders[i]));
        VT_TRY(vt_study_folder(path));
    }
    *out = e, e = NULL;
done:
    vt_experiment_free(e);
    return st;
}

/* ---- sizes ---- */

/* All runs at this size. */
static vitcl_status total(double *seconds, vt_experiment *e, uint32_t pictures,
                          uint32_t epochs)
{
    e->pictures = pictures, e->epochs = epochs;
    *seconds = 0;
    VT_RET(vt_experiment_list(e));
    for (size_t i = 0; i < e->runs; i++)
        *seconds += vt_run_costs(e, &e->run[i]).seconds;
    return VITCL_OK;
}

/* The epochs that fit with so many pictures; 0: none. What runs cost is not
 * proportional: some have a part of the epochs, in whole numbers, or none. */
static vitcl_status fit(uint32_t *epochs, vt_experiment *e, uint32_t pictures)
{
    uint32_t fits = 0, most = EPOCHS_MOST;
    double seconds;

    while (fits < most) {
        const uint32_t n = (fits + most + 1) / 2;

        VT_RET(total(&seconds, e, pictures, n));
        if (seconds <= 60 * e->minutes)
            fits = n;
        else
            most = n - 1;
    }
    *epochs = fits;
    return VITCL_OK;
}

/* As many pictures as possible with enough epochs. */
static vitcl_status choose(vt_experiment *e)
{
    static const uint32_t sizes[] = {50000, 20000, 10000, 5000,
                                     2000,  1000,  500};
    const vt_study_options *o = &e->options;
    uint32_t pictures = 0, epochs = 0;

    for (size_t i = 0; i < VT_COUNT(sizes) && epochs < EPOCHS_LEAST; i++) {
        pictures =
            o->pictures ? o->pictures : VT_MAX(sizes[i], 10 * e->classes);
        pictures = VT_MIN(pictures, e->all_pictures);
        VT_RET(fit(&epochs, e, pictures));
        if (o->pictures)
            break;
    }
    e->pictures = pictures;
    e->epochs = VT_MAX(epochs, 1u);
    return VITCL_OK;
}

vitcl_status vt_experiment_plan(vt_experiment *e)
{
    const vt_study_options *o = &e->options;
    double seconds;

    if (e->study->measure) {
        VT_RET(e->study->outline(e));
        VT_RET(e->status);
        return write_state(e);
    }
    if (o->pictures && o->pictures < 5 * e->classes)
        return vt_fail(VITCL_EINVAL,
                       "--pictures must be at least %u, five per class",
                       5 * e->classes);
    if (o->tests || !e->tests)
        e->tests = VT_MIN(o->tests ? o->tests : TESTS, e->all_tests);
    const uint32_t known_epochs = e->epochs;
    const uint32_t known =
        o->pictures ? VT_MIN(o->pictures, e->all_pictures) : e->pictures;
    /* which architectures there are does not depend on the size */
    VT_RET(
        total(&seconds, e, VT_MIN(known ? known : 1000, e->all_pictures), 1));
    VT_RET(vt_rates_measure(e));
    if (known && (o->epochs || known_epochs))
        e->pictures = known, e->epochs = known_epochs;
    else
        VT_RET(choose(e));
    if (o->epochs)
        e->epochs = o->epochs;
    VT_RET(vt_experiment_list(e));
    return write_state(e);
}
