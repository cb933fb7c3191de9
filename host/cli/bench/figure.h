/*
 * figure.h - times and pictures a second by batch size: bench --plot.
 */
#ifndef VT_CLI_BENCH_FIGURE_H
#define VT_CLI_BENCH_FIGURE_H
#include "cli/setup/setup.h"

enum { BENCH_POINTS = 32 };

typedef struct bench_point {
    double batch, ms[3]; /* p50, p90, p99 */
    double per_s;        /* pictures */
} bench_point;

typedef struct bench_points {
    bench_point at[BENCH_POINTS];
    size_t count;
} bench_points;

/* Can this build draw? Both print the error and return the exit status. */
int bench_figure_ready(void);
int bench_figure(const bench_points *p, const char *path);

#endif
