/*
 * page.c - report.html of a study: table, figure, verdict, how it was done.
 */
#include "plot/page.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "study/private.h"

#include <math.h>
#include <string.h>

enum { COLUMNS = 6, CELL = 96 };

typedef char cell[CELL];

static void put(cell out, const char *format, double v)
{
    out[0] = '\0';
    if (isfinite(v))
        vt_snprint(out, CELL, format, v);
}

/* text[rows][columns]; empty ones have no number. */
static vitcl_status put_table(vt_page *p, const char *caption,
                              const char *const *head, const cell *text,
                              size_t rows, size_t columns)
{
    const char **words = NULL;
    vitcl_status st;

    VT_TRY(VT_NEW(&words, rows * columns + 1));
    for (size_t i = 0; i < rows * columns; i++)
        words[i] = text[i][0] ? text[i] : NULL;
    vt_page_table(p, &(vt_page_grid){.caption = caption,
                                     .rows = rows,
                                     .columns = columns,
                                     .head = head,
                                     .cell = words});
done:
    free(words);
    return st;
}

static vitcl_status add_table(vt_page *p, const vt_experiment *e)
{
    const char *const head[COLUMNS] = {"arm",       e->study->x, e->study->y,
                                       "deviation", "tries",     "paper"};
    vitcl_status st;
    cell *text = NULL;

    VT_TRY(VT_NEW(&text, e->results * COLUMNS + 1));
    for (size_t i = 0; i < e->results; i++) {
        const vt_study_result *r = &e->result[i];
        cell *row = text + i * COLUMNS;

        snprintf(row[0], CELL, "%s", r->arm);
        put(row[1], "%.4g", r->x);
        put(row[2], "%.4f", r->mean);
        put(row[3], "%.4f", r->sd);
        put(row[4], "%.0f", r->tries);
        put(row[5], "%.4g", r->paper);
    }
    st = put_table(p, "Means over the tries and their standard deviations",
                   head, (const cell *)text, e->results, COLUMNS);
done:
    free(text);
    return st;
}

static vitcl_status add_sheet(vt_page *p, const vt_sheet *s)
{
    vitcl_status st;
    cell *text = NULL;

    VT_TRY(VT_NEW(&text, s->rows * s->columns + 1));
    for (size_t i = 0; i < s->rows * s->columns; i++)
        snprintf(text[i], CELL, "%s", s->cell[i / s->columns][i % s->columns]);
    st = put_table(p, s->caption, s->head, (const cell *)text, s->rows,
                   s->columns);
done:
    free(text);
    return st;
}

static vitcl_status add_figure(vt_page *p, const vt_experiment *e)
{
    const vt_sheet *last = e->sheets ? &e->sheet[e->sheets - 1] : NULL;
    const char *const files[] = {"figure.svg", "figure.png",
                                 last ? last->file : "results.tsv"};
    const bool sweep = e->curves && !e->sheets;
    vitcl_status st;
    char path[VT_STUDY_PATH], alt[512];

    VT_TRY(vt_study_path(path, e, "figure.svg"));
    if (!vt_path_exists(path)) /* a build without Cairo, or no points */
        goto done;
    snprintf(alt, sizeof alt,
             sweep ? "Lines for each arm: held-out accuracy over log10 of "
                     "the learning rate"
                   : "Lines for each arm: %s over %s",
             e->study->y, e->study->x);
    VT_TRY(vt_page_figure(
        p, &(vt_page_image){.path = path,
                            .alt = alt,
                            .caption = sweep  ? "The sweeps that chose the "
                                                "learning rates, on held-out "
                                                "training pictures"
                                       : last ? "The last table's numbers"
                                              : "The table's numbers",
                            .file = files,
                            .files = VT_COUNT(files)}));
done:
    return st;
}

/* Of a study that predicts masked patches. */
static vitcl_status add_predicted(vt_page *p, const vt_experiment *e)
{
    static const char *const files[] = {VT_PREDICTED};
    vitcl_status st;
    char path[VT_STUDY_PATH];

    VT_TRY(vt_study_path(path, e, "%s", VT_PREDICTED));
    if (!vt_path_exists(path))
        goto done;
    VT_TRY(vt_page_figure(
        p, &(vt_page_image){
               .path = path,
               .alt = "Rows of pictures: original, with masked patches, with "
                      "the mean colours of the patches that are asked for, and "
                      "with the predicted colours",
               .caption = "Masked patches, grey here, and what the model "
                          "predicts for them: one of 512 colours. Of the "
                          "patches that are asked for, one in ten is another "
                          "patch of its picture, and one in ten is unchanged",
               .file = files,
               .files = VT_COUNT(files)}));
done:
    return st;
}

static void add_setting(vt_page *p, const vt_experiment *e)
{
    char text[1024];
    double flop = 0;

    for (size_t i = 0; i < e->runs; i++)
        flop += vt_run_costs(e, &e->run[i]).flop;
    vt_snprint(text, sizeof text,
               "Data: %u training pictures of %u classes (%s), %u test "
               "pictures, %u epoch%s, %u %s. %zu runs, %.2f TFLOP. Learning "
               "rates are chosen on held-out training pictures.",
               e->pictures, e->classes, e->kind, e->tests, e->epochs,
               vt_plural(e->epochs), e->tries, e->tries == 1 ? "try" : "tries",
               e->runs, flop / 1e12);
    vt_page_line(p, text);
}

static vitcl_status add_runs(vt_page *p, const vt_experiment *e)
{
    static const char *const head[] = {"run", "learning rate", "accuracy",
                                       "scored on"};
    enum { WIDE = sizeof head / sizeof *head };
    vitcl_status st;
    cell *text = NULL;

    VT_TRY(VT_NEW(&text, e->runs * WIDE + 1));
    for (size_t i = 0; i < e->runs; i++) {
        const vt_run *r = &e->run[i];
        cell *row = text + i * WIDE;

        snprintf(row[0], CELL, "%s", r->name);
        put(row[1], "%.3g", r->lr);
        put(row[2], "%.4f", r->accuracy);
        snprintf(row[3], CELL, "%s",
                 r->score == VT_SCORE_HELD_OUT ? "held-out training pictures"
                 : r->score == VT_SCORE_TEST   ? "test pictures"
                                               : "");
    }
    st = put_table(p, "All runs; their models are in runs/", head,
                   (const cell *)text, e->runs, WIDE);
done:
    free(text);
    return st;
}

vitcl_status vt_study_page(const vt_experiment *e)
{
    static const char *const parts[] = {"Verdict", "Results", "Setting",
                                        "Runs"};
    const size_t count = VT_COUNT(parts) - (e->study->measure ? 1 : 0);
    vitcl_status st;
    vt_page *p = NULL;
    char path[VT_STUDY_PATH], title[160], what[512];

    snprintf(title, sizeof title, "Study %s: %s", e->study->name,
             e->study->paper);
    VT_TRY(vt_study_path(path, e, "report.html"));
    VT_TRY(vt_page_open(&p, path, title, NULL));
    snprintf(what, sizeof what, "%s (%s of arXiv 2010.11929).", e->study->what,
             e->study->paper);
    vt_page_line(p, what);
    vt_page_contents(p, count, parts);
    vt_page_section(p, parts[0]);
    vt_page_line(p, e->verdict);
    vt_page_section(p, parts[1]);
    VT_TRY(add_figure(p, e));
    VT_TRY(add_predicted(p, e));
    for (size_t n = 0; n < e->sheets; n++)
        VT_TRY(add_sheet(p, &e->sheet[n]));
    if (!e->sheets)
        VT_TRY(add_table(p, e));
    vt_page_section(p, parts[2]);
    if (e->runs)
        add_setting(p, e);
    if (e->study->note)
        vt_page_line(p, e->study->note);
    if (count == VT_COUNT(parts)) {
        vt_page_section(p, parts[3]);
        VT_TRY(add_runs(p, e));
    }
    snprintf(what, sizeof what, "vitcl %s", vitcl_version());
    VT_TRY(vt_page_close(&p, what));
done:
    vt_page_discard(p);
    return st;
}
