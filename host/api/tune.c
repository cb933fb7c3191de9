/*
 * tune.c - search for parameters of the multiplications, for vitcl_tune.h.
 *
 * The tuner is a local search: it applies one move after another to the best
 * entry, keeps a change that is better by more than noise in two measurements,
 * and ends when a round of all moves has changed nothing. The products to
 * measure on, the model's, are part of the candidate's text, after a colon.
 */
#include "api/handles.h"
#include "api/trial.h"
#include "base/attempt.h"
#include "base/memory.h"

#include <vitcl_tune.h>

#include <stdio.h>
#include <string.h>

/* How much better than the best a candidate must be to replace it. */
#define CLEARLY 0.985

enum { SEEN = 256 };

struct vitcl_tuner {
    vt_dev *dev;
    char best[VT_ENTRY], entry[VT_ENTRY]; /* entry: being measured */
    char products[512], candidate[VT_ENTRY + 520], path[4096];
    double first, ratio; /* of the first and the best entry */
    double pending;      /* this entry's, which is measured again */
    unsigned move;       /* next move to try */
    bool changed;        /* in this round */
    uint32_t seen[SEEN]; /* hashes of entries that were measured */
    int n_seen;
};

static uint32_t hash(const char *s)
{
    uint32_t h = 2166136261u; /* FNV-1a */

    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 16777619u;
    return h;
}

/* False if it was known before. */
static bool remember(vitcl_tuner *t, const char *entry)
{
    const uint32_t h = hash(entry);

    for (int i = 0; i < t->n_seen; i++)
        if (t->seen[i] == h)
            return false;
    if (t->n_seen == SEEN)
        return false;
    t->seen[t->n_seen++] = h;
    return true;
}

/* ---- a model's products ---- */

/* The products of linear layers over tokens; the classifier's is too small to
 * matter. */
static int collect(vt_trial_product *out, const vt_plan *p)
{
    int n = 0;

    for (int i = 0; i < vt_plan_steps(p); i++) {
        vt_trial_product x = {.count = 1};
        int k = 0;

        if (!vt_linear_product(&x.M, &x.N, &x.K, p, vt_plan_step(p, i)))
            continue;
        while (k < n && (out[k].M != x.M || out[k].N != x.N || out[k].K != x.K))
            k++;
        if (k < n)
            out[k].count++;
        else if (n < VT_TRIAL_PRODUCTS)
            out[n++] = x;
    }
    return n;
}

static vitcl_status plan_of(vt_plan **out, vitcl_model *model,
                            const vitcl_session_options *o)
{
    const vt_plan_options options = {.dev = NULL, .precision = o->precision};
    uint32_t height = o->height, width = o->width, batch = o->batch;
    vt_preprocess how;
    vt_written w;
    vitcl_status st;

    VT_TRY(vt_handle_size(&height, &width, &batch, model));
    vt_preprocess_default(&how, height, width);
    VT_TRY(
        vt_handle_plan(out, &w, model, &options, batch, height, width, &how));
done:
    return st;
}

vitcl_status vitcl_tuner_new(vitcl_tuner **out, vitcl_model *model,
                             const vitcl_session_options *options)
{
    vt_trial_product products[VT_TRIAL_PRODUCTS];
    vitcl_session_options o;
    vitcl_tuner *t = NULL;
    vt_plan *p = NULL;
    const char *gemm = NULL;
    vt_gemm_desc d;
    vitcl_status st;
    int n;

    VT_GIVEN(out);
    VT_GIVEN(model);
    VT_TRY(vt_sized_options(&o, sizeof o, options, "vitcl_session_options"));
    if (!model->dev)
        return vt_fail(VITCL_EINVAL, "the model was loaded without a device");
    VT_TRY(vt_dev_alive(model->dev));
    VT_TRY(vt_gemm_provider(&gemm, model->dev, o.gemm));
    if (o.precision == VITCL_HALF)
        VT_TRY(vt_handle_half(&o.precision, model->dev, gemm));
    VT_TRY(plan_of(&p, model, &o));
    n = collect(products, p);
    if (n == 0)
        VT_TRY(vt_fail(VITCL_EUNSUPPORTED, "the model has nothing to tune"));
    VT_TRY(VT_NEW(&t, 1));
    t->dev = vt_dev_ref(model->dev);
    vt_trial_format(t->products, sizeof t->products, gemm, products, n);
    d = vt_trial_desc(t->dev, vt_precision_type(o.precision), &products[0]);
    VT_TRY(vt_params_entry(t->best, t->dev, gemm, &d));
    *out = t, t = NULL;
done:
    vitcl_tuner_free(t);
    vt_plan_free(p);
    return st;
}

void vitcl_tuner_free(vitcl_tuner *tuner)
{
    if (!tuner)
        return;
    vt_dev_free(tuner->dev);
    free(tuner);
}

/* ---- the search ---- */

/* Puts the next untried neighbour of the best entry into t->entry. */
static bool step(vitcl_tuner *t)
{
    for (;;) {
        if (!vt_params_move(t->entry, t->dev, t->best, t->move++)) {
            if (!t->changed)
                return false;
            t->move = 0, t->changed = false;
        } else if (t->entry[0] && remember(t, t->entry)) {
            return true;
        }
    }
}

const char *vitcl_tuner_next(vitcl_tuner *tuner)
{
    vitcl_tuner *t = tuner;
    size_t n;

    if (!t)
        return NULL;
    if (t->n_seen == 0) {
        memcpy(t->entry, t->best, sizeof t->entry);
        remember(t, t->entry);
    } else if (t->pending <= 0 && (t->first <= 0 || !step(t))) {
        return NULL; /* also if there is no entry to start from */
    }
    n = strlen(t->entry);
    memcpy(t->candidate, t->entry, n);
    snprintf(t->candidate + n, sizeof t->candidate - n, ": %s", t->products);
    return t->candidate;
}

void vitcl_tuner_tell(vitcl_tuner *tuner, double ratio)
{
    vitcl_tuner *t = tuner;
    const double other = t ? t->pending : 0;

    if (!t)
        return;
    t->pending = 0;
    if (!(ratio > 0))
        return;
    if (t->first <= 0) {
        t->first = t->ratio = t->pending = ratio;
    } else if (t->n_seen == 1) { /* the first entry again */
        t->first = t->ratio = VT_MIN(ratio, other);
    } else if (ratio < t->ratio * CLEARLY && other <= 0) {
        t->pending = ratio;
    } else if (ratio < t->ratio * CLEARLY) {
        t->ratio = VT_MAX(ratio, other), t->changed = true;
        memcpy(t->best, t->entry, sizeof t->best);
    }
}

const char *vitcl_tuner_best(const vitcl_tuner *tuner)
{
    return tuner ? tuner->best : NULL;
}

double vitcl_tuner_gain(const vitcl_tuner *tuner)
{
    return tuner && tuner->ratio > 0 ? tuner->first / tuner->ratio : 1;
}

vitcl_status vitcl_tuner_save(const char **path, vitcl_tuner *tuner)
{
    vitcl_status st;

    VT_GIVEN(path);
    VT_GIVEN(tuner);
    if (tuner->first <= 0)
        return vt_fail(VITCL_EDEVICE,
                       "nothing to save: no candidate could be measured");
    VT_TRY(vt_params_save(tuner->dev, tuner->best));
    if (!vt_params_path(tuner->path, sizeof tuner->path))
        tuner->path[0] = '\0';
    *path = tuner->path;
done:
    return st;
}

vitcl_status vitcl_candidate_measure(double *ratio, const char *select,
                                     const char *candidate, double seconds,
                                     vitcl_progress progress, void *context)
{
    char answer[32];
    double r;
    vitcl_status st;

    VT_GIVEN(ratio);
    VT_GIVEN(candidate);
    const vt_attempt a = {.words = {"measure", select ? select : "", candidate},
                          .seconds = seconds,
                          .stop = progress,
                          .stop_context = context};
    VT_TRY(vt_attempt_run(answer, sizeof answer, &a));
    r = vt_attempt_number(answer);
    if (!(r > 0))
        return vt_fail(VITCL_EDEVICE,
                       "the time measured for the candidate is zero");
    *ratio = r;
done:
    return st;
}

/* ---- trials of instructions ---- */

static int untried(vt_dev *dev, vitcl_precision precision)
{
    return dev && vt_gemm_untried(dev, vt_precision_type(precision));
}

int vitcl_device_untried(const vitcl_device *device, vitcl_precision precision)
{
    return device && untried(device->dev, precision);
}

int vitcl_model_untried(const vitcl_model *model, vitcl_precision precision)
{
    return model && untried(model->dev, precision);
}

vitcl_status vitcl_device_form(char *out, size_t size,
                               const vitcl_device *device,
                               vitcl_precision precision)
{
    VT_GIVEN(out);
    VT_GIVEN(device);
    if (precision != VITCL_BF16 && precision != VITCL_INT8)
        return vt_fail(VITCL_EINVAL, "precision %d is neither bf16 nor int8",
                       (int)precision);
    vt_gemm_form(out, size, device->dev, vt_precision_type(precision));
    return VITCL_OK;
}

vitcl_status vitcl_device_try(vitcl_device *device, vitcl_precision precision)
{
    vitcl_precision half;
    const vt_trial_product x = {.M = 1, .N = 1, .K = 1};
    vt_gemm_desc d;
    vitcl_status st;

    VT_GIVEN(device);
    VT_TRY(vt_dev_alive(device->dev));
    d = vt_trial_desc(device->dev, vt_precision_type(precision), &x);
    (void)vt_gemm_layout(device->dev, "native", &d); /* triggers the trial */
    if (precision == VITCL_HALF)
        VT_TRY(vt_handle_half(&half, device->dev, NULL));
done:
    return st;
}
