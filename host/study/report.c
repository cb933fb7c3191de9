/*
 * report.c - writes the table, the verdict and the figure of a study.
 */
#include "base/memory.h"
#include "base/number.h"
#include "base/text.h"
#include "plot/figure.h"
#include "study/private.h"

#include <math.h>
#include <string.h>

/* Empty where there is no number. */
static void put_cell(FILE *f, const char *format, double v)
{
    char text[32] = "";

    if (isfinite(v))
        vt_snprint(text, sizeof text, format, v);
    fprintf(f, "\t%s", text);
}

static vitcl_status write_table(const vt_experiment *e)
{
    vitcl_status st = VITCL_OK;
    vt_text t;
    char path[VT_STUDY_PATH], *text = NULL;

    for (size_t i = 0; i < e->sheets; i++)
        VT_TRY(vt_sheet_write(e, &e->sheet[i]));
    if (e->sheets)
        goto done;
    VT_TRY(vt_text_open(&t));
    fprintf(t.f, "arm\t%s\t%s\tdeviation\ttries\tpaper\n", e->study->x,
            e->study->y);
    for (size_t i = 0; i < e->results; i++) {
        const vt_study_result *r = &e->result[i];

        fprintf(t.f, "%s", r->arm);
        put_cell(t.f, "%.6g", r->x);
        put_cell(t.f, "%.6f", r->mean);
        put_cell(t.f, "%.6f", r->sd);
        fprintf(t.f, "\t%u", r->tries);
        put_cell(t.f, "%.6g", r->paper);
        fputc('\n', t.f);
    }
    VT_TRY(vt_text_take(&text, &t));
    VT_TRY(vt_study_path(path, e, "results.tsv"));
    VT_TRY(vt_study_write(path, text));
done:
    free(text);
    return st;
}

/* ---- the figure ---- */

typedef struct points {
    double x[VT_RESULTS], y[VT_RESULTS];
    size_t count;
    vt_series series[VT_RESULTS];
    size_t lines;
} points;

/* The n-th point's arm, or NULL; points of a sweep come instead of results. */
static const char *point(const vt_experiment *e, size_t n, double *x, double *y)
{
    if (e->curves) {
        if (n >= e->curves)
            return NULL;
        *x = e->curve_x[n], *y = e->curve_y[n];
        return e->curve_arm[n];
    }
    if (n >= e->results)
        return NULL;
    *x = e->result[n].plain ? (double)NAN : e->result[n].x;
    *y = e->result[n].mean;
    return e->result[n].arm;
}

static bool has_line(const points *p, const char *arm)
{
    for (size_t i = 0; i < p->lines; i++)
        if (strcmp(p->series[i].name, arm) == 0)
            return true;
    return false;
}

/* Points of a line in the order of x. */
static void sort_line(double *x, double *y, size_t n)
{
    for (size_t i = 1; i < n; i++)
        for (size_t k = i; k > 0 && x[k] < x[k - 1]; k--) {
            const double a = x[k], b = y[k];

            x[k] = x[k - 1], y[k] = y[k - 1];
            x[k - 1] = a, y[k - 1] = b;
        }
}

static void add_line(points *p, const vt_experiment *e, const char *arm)
{
    const size_t first = p->count;
    const char *other;
    double x, y;

    for (size_t n = 0; (other = point(e, n, &x, &y)); n++)
        if (strcmp(other, arm) == 0 && isfinite(x) && isfinite(y))
            p->x[p->count] = x, p->y[p->count++] = y;
    sort_line(p->x + first, p->y + first, p->count - first);
    p->series[p->lines++] = (vt_series){.name = arm,
                                        .x = p->x + first,
                                        .y = p->y + first,
                                        .count = p->count - first,
                                        .dots = true};
}

static bool all_whole(const points *p)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->x[i] != floor(p->x[i]))
            return false;
    return true;
}

static vitcl_status write_figure(const vt_experiment *e)
{
    static const char *const names[] = {"figure.svg", "figure.png"};
    vitcl_status st;
    points *p = NULL;
    vt_figure figure = {.x = {.label = e->study->x, .from = NAN, .to = NAN},
                        .left = {.label = e->study->y, .from = NAN, .to = NAN}};
    char path[VT_STUDY_PATH];
    const char *arm;
    double x, y;

    if (e->curves && !e->sheets) {
        figure.x.label = "log10 of the learning rate";
        figure.left.label = "held-out accuracy";
    }
    VT_TRY(VT_NEW(&p, 1));
    for (size_t n = 0; (arm = point(e, n, &x, &y)); n++)
        if (!has_line(p, arm))
            add_line(p, e, arm);
    figure.series = p->series, figure.count = p->lines;
    figure.x.whole = all_whole(p);
    for (size_t i = 0; p->count && i < VT_COUNT(names); i++) {
        VT_TRY(vt_study_path(path, e, "%s", names[i]));
        VT_TRY(vt_figure_write(&figure, path));
    }
done:
    free(p);
    return st;
}

vitcl_status vt_experiment_report(vt_experiment *e)
{
    vitcl_status st;
    char path[VT_STUDY_PATH], text[sizeof e->verdict + 1];

    e->results = e->curves = e->sheets = 0;
    e->verdict[0] = '\0';
    if (!e->study->measure)
        VT_TRY(vt_experiment_list(e));
    e->study->read(e);
    if (e->runs && e->tries == 1)
        vt_study_say(
            e, " With one try of each arm, no difference can be told from "
               "chance.");
    VT_TRY(e->status);
    VT_TRY(write_table(e));
    snprintf(text, sizeof text, "%s\n", e->verdict);
    VT_TRY(vt_study_path(path, e, "verdict.txt"));
    VT_TRY(vt_study_write(path, text));
    st = write_figure(e);
    if (st == VITCL_EUNSUPPORTED) /* a build without Cairo */
        st = VITCL_OK;
    VT_TRY(st);
    VT_TRY(vt_study_page(e));
done:
    return st;
}
