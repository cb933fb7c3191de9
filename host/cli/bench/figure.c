/*
 * figure.c - times and pictures a second by batch size: bench --plot.
 */
#include "cli/bench/figure.h"

#include "plot/figure.h"

#include <math.h>

int bench_figure_ready(void)
{
    return code_of(vt_figure_ready());
}

int bench_figure(const bench_points *p, const char *path)
{
    enum { P50, P90, P99, RATE, LINES };
    static const char *const names[LINES] = {"ms per forward pass (p50)", "p90",
                                             "p99", "pictures a second"};
    double x[BENCH_POINTS], y[LINES][BENCH_POINTS];
    vt_series series[LINES];
    const vt_figure figure = {
        .x = {.label = "pictures at a time", .to = NAN, .whole = true},
        .left = {.label = "ms", .to = NAN},
        .right = {.label = "pictures a second", .to = NAN},
        .series = series,
        .count = LINES};

    for (size_t i = 0; i < p->count; i++) {
        x[i] = p->at[i].batch;
        for (int k = 0; k < RATE; k++)
            y[k][i] = p->at[i].ms[k];
        y[RATE][i] = p->at[i].per_s;
    }
    for (int k = 0; k < LINES; k++)
        series[k] = (vt_series){.name = names[k],
                                .x = x,
                                .y = y[k],
                                .count = p->count,
                                .right = k == RATE,
                                .dots = true};
    return code_of(vt_figure_write(&figure, path));
}
