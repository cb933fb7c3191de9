/*
 * chart.h - line charts; for the module only.
 */
#ifndef VT_PLOT_CHART_H
#define VT_PLOT_CHART_H
#include "plot/figure.h"
#include "plot/ticks.h"

#include <cairo.h>

/* The size of a figure and the place of its parts, in pixels. */
typedef struct vt_chart {
    const vt_figure *figure;
    double width, height;
    double left, top, right, bottom; /* of the plot */
    vt_ticks x, y[2];                /* y: left and right axis */
    bool used[2];
} vt_chart;

/* c: any context, to measure text. */
void vt_chart_layout(vt_chart *out, const vt_figure *figure, cairo_t *c);
void vt_chart_draw(const vt_chart *h, cairo_t *c);

#endif
