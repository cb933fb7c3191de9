/*
 * heatmap.h - tables of counts; for the module only.
 */
#ifndef VT_PLOT_HEATMAP_H
#define VT_PLOT_HEATMAP_H
#include "plot/figure.h"

#include <cairo.h>

/* The size of a page and the place of its parts, in pixels. */
typedef struct vt_heatmap {
    const vt_matrix *matrix;
    double width, height;
    double left, top; /* of the table */
    double cell, text;
    size_t each;  /* every each-th name has room */
    bool counted; /* is there room for counts? */
} vt_heatmap;

/* c: any context, to measure text. */
void vt_heatmap_layout(vt_heatmap *out, const vt_matrix *matrix, cairo_t *c);
void vt_heatmap_draw(const vt_heatmap *h, cairo_t *c);

#endif
