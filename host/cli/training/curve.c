/*
 * curve.c - draws the losses, accuracies and learning rates of a training.
 *
 * With many steps a point is the mean of several, since single batches scatter.
 */
#include "curve.h"

#include "cli/terminal/terminal.h"
#include "plot/figure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 600 }; /* points of a line at most */
enum { LOSS, ACCURACY, HELD_LOSS, HELD_ACCURACY, LR, HELD_TOP5, LINES };

typedef struct line {
    const char *name, *key; /* in the legend, in the log */
    bool held, right, below;
} line;
static const line lines[LINES] = {
    {"loss", "loss", false, false, false},
    {"accuracy", "accuracy", false, true, false},
    {"held-out loss", "held_out_loss", true, false, false},
    {"held-out accuracy", "held_out_accuracy", true, true, false},
    {"learning rate", "lr", false, false, true},
    {"held-out top-5 accuracy", "held_out_top5", true, true, false},
};

typedef struct point {
    double step, y[LINES]; /* NAN: none */
} point;

struct curve {
    point *at;
    size_t count, room;
    double epoch_steps;
    bool lost; /* out of memory for a point */
};

curve *curve_new(void)
{
    return calloc(1, sizeof(curve));
}

void curve_free(curve *c)
{
    if (c)
        free(c->at);
    free(c);
}

static void add(curve *c, const point *p)
{
    if (c->count == c->room) {
        const size_t room = c->room ? 2 * c->room : 1024;
        point *at = realloc(c->at, room * sizeof *at);

        c->lost = c->lost || !at;
        if (!at)
            return;
        c->at = at, c->room = room;
    }
    c->at[c->count++] = *p;
}

void curve_epochs(curve *c, const vitcl_train_event *e)
{
    c->epoch_steps = (double)(e->steps / e->epochs);
}

/* As the log writes it, so that a resumed curve has the same points. */
static double as_logged(double v)
{
    char text[32];

    snprintf(text, sizeof text, "%.9g", v);
    return isfinite(v) ? strtod(text, NULL) : (double)NAN;
}

void curve_add(curve *c, const vitcl_train_event *e)
{
    point p = {(double)e->step, {e->loss, e->accuracy}};

    p.y[LR] = e->lr;
    p.y[HELD_LOSS] = e->scored ? e->held_out_loss : (double)NAN;
    p.y[HELD_ACCURACY] = e->scored ? e->held_out_accuracy : (double)NAN;
    p.y[HELD_TOP5] = e->scored ? e->held_out_top5 : (double)NAN;
    for (int i = 0; i < LINES; i++)
        p.y[i] = as_logged(p.y[i]);
    add(c, &p);
}

/* The number of this member; NAN: there is none. */
static double member(const char *record, const char *key)
{
    char wanted[40];
    const char *at;
    char *end;
    double v;

    snprintf(wanted, sizeof wanted, "\"%s\": ", key);
    at = strstr(record, wanted);
    if (!at)
        return (double)NAN;
    at += strlen(wanted);
    v = strtod(at, &end);
    return end > at ? v : (double)NAN;
}

bool curve_read(curve *c, const char *log, uint64_t before)
{
    FILE *f = fopen(log, "re");
    char *record = NULL;
    size_t room = 0;

    if (!f)
        return false;
    while (getline(&record, &room, f) > 0) {
        point p = {.step = member(record, "step")};

        if (!(p.step >= 1) || p.step >= (double)before)
            continue;
        /* steps after a checkpoint were repeated; the later ones count */
        while (c->count && c->at[c->count - 1].step >= p.step)
            c->count--;
        for (int i = 0; i < LINES; i++)
            p.y[i] = member(record, lines[i].key);
        add(c, &p);
    }
    free(record);
    fclose(f);
    return true;
}

bool curve_any(const curve *c)
{
    return c->count > 0;
}

/* The means of the finite values in COLUMNS parts of the steps. */
static size_t means(double *x, double *y, const curve *c, int k)
{
    const size_t parts = c->count < COLUMNS ? c->count : COLUMNS;

    for (size_t j = 0; j < parts; j++) {
        const size_t from = c->count * j / parts;
        const size_t to = c->count * (j + 1) / parts;
        double sum = 0;
        size_t n = 0;

        for (size_t i = from; i < to; i++)
            if (isfinite(c->at[i].y[k]))
                sum += c->at[i].y[k], n++;
        x[j] = (c->at[from].step + c->at[to - 1].step) / 2 / c->epoch_steps;
        y[j] = n ? sum / (double)n : (double)NAN;
    }
    return parts;
}

/* All values that were scored, each at its step. */
static size_t scored(double *x, double *y, const curve *c, int k)
{
    size_t n = 0;

    for (size_t i = 0; i < c->count; i++)
        if (!isnan(c->at[i].y[k])) {
            x[n] = c->at[i].step / c->epoch_steps;
            y[n++] = c->at[i].y[k];
        }
    return n;
}

int curve_write(const curve *c, const char *path, bool say)
{
    const double epochs =
        c->count ? c->at[c->count - 1].step / c->epoch_steps : 0;
    double *x = calloc(c->count * LINES + 1, sizeof *x);
    double *y = calloc(c->count * LINES + 1, sizeof *y);
    vt_series series[LINES];
    const vt_figure figure = {
        .x = {.label = "epoch", .from = 0, .to = NAN, .whole = epochs >= 2},
        .left = {.label = "loss"},
        .right = {.label = "accuracy", .to = 1},
        .below = {.label = "learning rate"},
        .series = series,
        .count = LINES};
    vitcl_status st = VITCL_ENOMEM;

    for (int i = 0; x && y && i < LINES; i++) {
        double *const at = x + (size_t)i * c->count;
        double *const value = y + (size_t)i * c->count;

        series[i] = (vt_series){
            .name = lines[i].name,
            .x = at,
            .y = value,
            .count = (lines[i].held ? scored : means)(at, value, c, i),
            .right = lines[i].right,
            .below = lines[i].below,
            .dots = lines[i].held};
    }
    if (x && y && !c->lost)
        st = c->count ? vt_figure_write(&figure, path) : VITCL_OK;
    free(x);
    free(y);
    if (st == VITCL_OK)
        return EXIT_OK;
    if (!say)
        return EXIT_FAILED;
    return st == VITCL_ENOMEM ? fail("%s: out of memory for a curve", path)
                              : failed();
}
