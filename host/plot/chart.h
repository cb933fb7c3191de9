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
    double low_top, low_bottom; /* of the panel below, or else its bottom */
    vt_ticks x, y[3];           /* y: left and right axis, panel below */
    bool used[3];
} vt_chart;

/* c: any context, to measure text. */
void vt_chart_layout(vt_chart *out, const vt_figure *figure, cairo_t *c);
void vt_chart_draw(const vt_chart *h, cairo_t *c);

#endif
