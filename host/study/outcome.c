/*
 * outcome.c - results of runs become lines of a table, points of a figure and a
 * verdict.
 */
#include "base/memory.h"
#include "base/number.h"
#include "study/private.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

void vt_study_mean(double *mean, double *sd, const double *v, size_t n)
{
    double sum = 0, squares = 0;

    for (size_t i = 0; i < n; i++)
        sum += v[i];
    *mean = n ? sum / (double)n : (double)NAN;
    for (size_t i = 0; i < n; i++)
        squares += (v[i] - *mean) * (v[i] - *mean);
    *sd = n > 1 ? sqrt(squares / (double)(n - 1)) : (double)NAN;
}

void vt_study_add_result(vt_experiment *e, const vt_study_result *r)
{
    if (e->results < VT_RESULTS)
        e->result[e->results++] = *r;
    else
        vt_experiment_fail(e, vt_fail(VITCL_EINVAL,
                                      "study %s: more than %d results",
                                      e->study->name, VT_RESULTS));
}

vt_study_result vt_study_arm(const vt_experiment *e, const char *arm)
{
    vt_study_result r = {.x = (double)NAN, .paper = (double)NAN};
    double v[VT_RUNS];
    size_t n = 0;

    vt_snprint(r.arm, sizeof r.arm, "%s", arm);
    for (size_t i = 0; i < e->runs; i++)
        if (e->run[i].done && e->run[i].state > 0 &&
            e->run[i].score == VT_SCORE_TEST && isfinite(e->run[i].accuracy) &&
            strcmp(e->run[i].arm, arm) == 0)
            v[n++] = e->run[i].accuracy;
    vt_study_mean(&r.mean, &r.sd, v, n);
    r.tries = (uint32_t)n;
    return r;
}

vt_study_result vt_study_add_arm(vt_experiment *e, const char *arm, double x,
                                 double paper)
{
    vt_study_result r = vt_study_arm(e, arm);

    r.x = x, r.paper = paper;
    vt_study_add_result(e, &r);
    return r;
}

void vt_study_add_point(vt_experiment *e, const char *arm, double x, double y)
{
    if (e->curves == VT_RESULTS)
        return;
    e->curve_x[e->curves] = x;
    e->curve_y[e->curves] = y;
    vt_snprint(e->curve_arm[e->curves++], VT_RUN_NAME, "%s", arm);
}

void vt_study_add_sweep(vt_experiment *e, const char *arm)
{
    for (size_t i = 0; i < e->runs; i++) {
        const vt_run *r = &e->run[i];

        if (r->done && r->score == VT_SCORE_HELD_OUT &&
            strcmp(r->arm, arm) == 0)
            vt_study_add_point(e, arm, log10(r->lr), r->accuracy);
    }
}

double vt_study_best_rate(const vt_experiment *e, const char *arm)
{
    double best = 0, most = -1;

    for (size_t i = 0; i < e->runs; i++) {
        const vt_run *r = &e->run[i];

        if (r->done && r->score == VT_SCORE_HELD_OUT &&
            strcmp(r->arm, arm) == 0 && r->accuracy > most)
            most = r->accuracy, best = r->lr;
    }
    return best;
}

double vt_study_swept(const vt_experiment *e, const char *arm, double rate)
{
    for (size_t i = 0; i < e->runs; i++) {
        const vt_run *r = &e->run[i];

        if (r->done && r->score == VT_SCORE_HELD_OUT && r->lr == rate &&
            strcmp(r->arm, arm) == 0)
            return r->accuracy;
    }
    return 0;
}

void vt_study_say(vt_experiment *e, const char *format, ...)
{
    const size_t n = strlen(e->verdict);
    const locale_t before = vt_point_begin();
    va_list args;

    va_start(args, format);
    vsnprintf(e->verdict + n, sizeof e->verdict - n, format, args);
    va_end(args);
    vt_point_end(before);
}

/* The variance of the mean; of one run nothing is known. */
static double doubt(const vt_study_result *r)
{
    return r->tries > 1 ? r->sd * r->sd / r->tries : (double)INFINITY;
}

bool vt_study_above(const vt_study_result *a, const vt_study_result *b)
{
    return a->mean - b->mean > 2 * sqrt(doubt(a) + doubt(b));
}

const char *vt_study_verdict(const vt_experiment *e)
{
    return e->verdict;
}

const vt_study_result *vt_study_result_at(const vt_experiment *e, size_t index)
{
    return index < e->results ? &e->result[index] : NULL;
}
