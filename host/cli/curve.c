/*
 * curve.c - draws the losses and accuracies of a training.
 *
 * With many steps a point is the mean of several, since single batches scatter.
 */
#include "curve.h"

#include "cmd.h"
#include "plot/figure.h"

#include <math.h>
#include <stdlib.h>

enum { COLUMNS = 600 }; /* points of a line at most */
enum { LOSS, ACCURACY, HELD_LOSS, HELD_ACCURACY, LINES };

typedef struct point {
    double step, y[LINES]; /* NAN: none */
} point;

struct curve {
    point *at;
    size_t count, room;
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

void curve_add(curve *c, const vitcl_train_event *e)
{
    if (c->count == c->room) {
        const size_t room = c->room ? 2 * c->room : 1024;
        point *at = realloc(c->at, room * sizeof *at);

        c->lost = c->lost || !at;
        if (!at)
            return;
        c->at = at, c->room = room;
    }
    c->at[c->count++] = (point){
        (double)e->step,
        {e->loss, e->accuracy, e->scored ? e->held_out_loss : (double)NAN,
         e->scored ? e->held_out_accuracy : (double)NAN}};
}

/* The means of the finite values in COLUMNS parts of the steps. */
static size_t means(double *x, double *y, const curve *c, int line)
{
    const size_t parts = c->count < COLUMNS ? c->count : COLUMNS;

    for (size_t k = 0; k < parts; k++) {
        const size_t from = c->count * k / parts;
        const size_t to = c->count * (k + 1) / parts;
        double sum = 0;
        size_t n = 0;

        for (size_t i = from; i < to; i++)
            if (isfinite(c->at[i].y[line]))
                sum += c->at[i].y[line], n++;
        x[k] = (c->at[from].step + c->at[to - 1].step) / 2;
        y[k] = n ? sum / (double)n : (double)NAN;
    }
    return parts;
}

/* All values that were scored, each at its step. */
static size_t scored(double *x, double *y, const curve *c, int line)
{
    size_t n = 0;

    for (size_t i = 0; i < c->count; i++)
        if (!isnan(c->at[i].y[line])) {
            x[n] = c->at[i].step;
            y[n++] = c->at[i].y[line];
        }
    return n;
}

int curve_write(const curve *c, const char *path, bool say)
{
    static const char *const names[LINES] = {
        "loss", "accuracy", "held-out loss", "held-out accuracy"};
    double *x = calloc(c->count * LINES + 1, sizeof *x);
    double *y = calloc(c->count * LINES + 1, sizeof *y);
    vt_series series[LINES];
    const vt_figure figure = {
        .x = {.label = "step", .from = NAN, .to = NAN, .whole = true},
        .left = {.label = "loss"},
        .right = {.label = "accuracy", .to = 1},
        .series = series,
        .count = LINES};
    vitcl_status st = VITCL_ENOMEM;

    for (int i = 0; x && y && i < LINES; i++) {
        const bool held = i == HELD_LOSS || i == HELD_ACCURACY;
        double *const at = x + (size_t)i * c->count;
        double *const value = y + (size_t)i * c->count;

        series[i] =
            (vt_series){.name = names[i],
                        .x = at,
                        .y = value,
                        .count = (held ? scored : means)(at, value, c, i),
                        .right = i == ACCURACY || i == HELD_ACCURACY,
                        .dots = held};
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
