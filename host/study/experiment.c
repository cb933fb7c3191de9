/*
 * experiment.c - the runs of a study: added by its list(), known by what they
 * depend on.
 */
#include "base/memory.h"
#include "base/number.h"
#include "base/sha256.h"
#include "study/private.h"

#include <math.h>
#include <string.h>

enum { LEAST_PARTED = 4 }; /* classes: two and two */

const vt_vit vt_vit_usual = {64, 4, 4, 128, 4};

void vt_experiment_fail(vt_experiment *e, vitcl_status st)
{
    if (e->status == VITCL_OK)
        e->status = st;
}

vitcl_status vt_experiment_list(vt_experiment *e)
{
    e->runs = 0;
    e->status = VITCL_OK;
    e->study->list(e);
    return e->status;
}

void vt_experiment_free(vt_experiment *e)
{
    if (e && e->scratch[0])
        vt_scratch_remove(e);
    free(e);
}

/* ---- adding ---- */

/* A name is part of paths and of messages. */
static bool good_name(const char *s)
{
    return s[0] &&
           s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRST"
                       "UVWXYZ0123456789-.")] == '\0' &&
           s[0] != '.';
}

/* All that a run's result depends on, but for the program and the device. */
static void identify(vt_run *r, const vt_experiment *e, const vt_run *from)
{
    char text[4 * VT_STUDY_PATH];
    uint8_t hash[32];
    char hex[65];
    int n = vt_snprint(
        text, sizeof text,
        "1\n%s\n%s\n%s\n%s\n%s\n%s\n%s %s\n%.17g %u %u %u %u %u %d\n%u %u\n",
        e->data, r->name, r->config, r->settings, from ? from->id : "",
        r->objective ? r->objective : "", r->augment ? r->augment : "",
        r->made ? r->made->name : "", r->lr, r->pictures, r->epochs, r->batch,
        r->size, r->state, (int)r->score,
        r->score == VT_SCORE_TEST || r->shots[0] ? e->tests : 0,
        r->shots[0] ? e->tries : 0);

    for (size_t i = 0; i < VT_SHOTS; i++)
        n += vt_snprint(text + n, sizeof text - (size_t)n, "%u ", r->shots[i]);
    if (r->model || r->untrained || r->freeze || r->part || r->precision)
        n += vt_snprint(text + n, sizeof text - (size_t)n, "\n%s %d %s %d %s",
                        r->model ? e->options.model : "", (int)r->untrained,
                        r->freeze ? r->freeze : "", (int)r->part,
                        r->precision ? r->precision : "");
    vt_sha256(text, (size_t)n, hash);
    vt_sha256_hex(hex, hash);
    vt_snprint(r->id, sizeof r->id, "%s-%.10s", r->name, hex);
}

const vt_run *vt_run_add(vt_experiment *e, const vt_run *run)
{
    const vt_run *from = run->from[0] ? vt_run_named(e, run->from) : NULL;
    vt_run *r = &e->run[e->runs < VT_RUNS ? e->runs : VT_RUNS - 1];

    if (e->runs == VT_RUNS)
        vt_experiment_fail(
            e, vt_fail(VITCL_EINVAL,
                       "study %s: these are more than %d runs; give fewer "
                       "--tries",
                       e->study->name, (int)VT_RUNS));
    if (!good_name(run->name) || vt_run_named(e, run->name) ||
        (run->from[0] && !from))
        vt_experiment_fail(
            e, vt_fail(VITCL_EINVAL,
                       "study %s: run \"%s\" has a wrong name, one that is "
                       "there, or starts from \"%s\", which is not there",
                       e->study->name, run->name, run->from));
    if (run->part && e->classes < LEAST_PARTED)
        vt_experiment_fail(
            e, vt_fail(VITCL_EINVAL,
                       "%s: %u classes are too few to learn some and transfer "
                       "to the others, which takes %d; name a checkpoint: -m",
                       e->data, e->classes, (int)LEAST_PARTED));
    *r = *run;
    r->done = false;
    r->accuracy = (double)NAN;
    r->pictures = r->pictures ? r->pictures : e->pictures;
    r->precision = e->options.precision;
    r->epochs = r->untrained ? 0 : r->epochs ? r->epochs : e->epochs;
    r->batch = r->batch ? r->batch : 64;
    r->batch = VT_MIN(r->batch, r->pictures);
    r->waits = (!(r->lr > 0) && !r->untrained) || (from && !from->done);
    identify(r, e, from);
    if (r->freeze)
        vt_rate_add_frozen(e, r);
    if (e->runs < VT_RUNS)
        e->runs++;
    if (!r->waits)
        vt_experiment_fail(e, vt_study_result_load(r, e));
    return r;
}

/* ---- models ---- */

void vt_run_vit_sized(vt_run *run, const vt_experiment *e, const vt_vit *v,
                      const char *more)
{
    vt_snprint(run->config, sizeof run->config,
               "{\"architecture\": \"vit_tiny_patch16_224\", \"model_args\": "
               "{\"img_size\": %u, \"patch_size\": %u, \"embed_dim\": %u, "
               "\"depth\": %u, \"num_heads\": %u, \"mlp_ratio\": %.9g%s}}\n",
               e->side, v->patch, v->width, v->depth, v->heads,
               (double)v->mlp / v->width, more);
}

void vt_run_vit(vt_run *run, const vt_experiment *e, const char *more)
{
    vt_run_vit_sized(run, e, &vt_vit_usual, more);
}

void vt_run_arm(vt_run *run, const char *arm)
{
    snprintf(run->arm, sizeof run->arm, "%s", arm);
}

/* ---- learning rates and tries ---- */

/* "0.001", "3e-05": also part of a name. */
static void rate_text(char out[16], double rate)
{
    vt_snprint(out, 16, "%.3g", rate);
}

double vt_study_sweep(vt_experiment *e, const vt_run *like, const double *rates,
                      size_t count)
{
    double best = 0, most = -1;
    bool all = count > 0;

    for (size_t i = 0; i < count; i++) {
        vt_run r = *like;
        char rate[16];
        const vt_run *added;

        rate_text(rate, rates[i]);
        vt_snprint(r.name, sizeof r.name, "%.40s-lr-%s", like->arm, rate);
        r.lr = rates[i];
        r.state = 0;
        r.score = VT_SCORE_HELD_OUT;
        memset(r.shots, 0, sizeof r.shots);
        added = vt_run_add(e, &r);
        all = all && added->done;
        /* a training that diverged has no accuracy */
        if (added->done && added->accuracy > most)
            most = added->accuracy, best = rates[i];
    }
    return all ? best : 0;
}

void vt_study_try(vt_experiment *e, const vt_run *like, double lr, uint32_t i)
{
    vt_run r = *like;

    vt_snprint(r.name, sizeof r.name, "%.40s-%u", like->arm, i);
    r.lr = lr;
    r.state = i;
    vt_run_add(e, &r);
}

void vt_study_repeat(vt_experiment *e, const vt_run *like, double lr)
{
    for (uint32_t i = 1; i <= e->tries; i++)
        vt_study_try(e, like, lr, i);
}
