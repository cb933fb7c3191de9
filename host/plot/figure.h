/*
 * figure.h - figures of the program, as PNG or SVG.
 *
 * A caller describes a figure with the structs below, and the module
 * vitcl-plot.so draws it (module.c). Only the module is linked with Cairo. It
 * is loaded for the first figure, so that other commands do not wait for Cairo
 * and its libraries at their start.
 */
#ifndef VT_PLOT_FIGURE_H
#define VT_PLOT_FIGURE_H
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* An axis shows all points of its series, and `from` and `to` in any case; NAN:
 * only the points. */
typedef struct vt_axis {
    const char *label;
    double from, to;
    bool whole; /* ticks at whole numbers only */
} vt_axis;

typedef struct vt_series {
    const char *name;    /* for the legend */
    const double *x, *y; /* a point that is not finite leaves a gap */
    size_t count;
    bool right; /* y belongs to the right axis */
    bool dots;  /* with a dot at each point, if there is room */
    bool below; /* in a lower panel, above the same x axis */
} vt_series;

/* A line chart. Colours go by the position in series[]. A series without a
 * finite point does not appear in the legend, and an axis without a series is
 * not drawn, nor is a panel. Texts are UTF-8; what is too long ends in an
 * ellipsis. */
typedef struct vt_figure {
    vt_axis x, left, right;
    const vt_series *series;
    size_t count;
    vt_axis below;
} vt_figure;

/* A table of counts, each cell coloured by its share of its row. Texts that are
 * not UTF-8 are shown as far as they are. */
typedef struct vt_matrix {
    const char *row_title, *column_title;
    const char *const *row, *const *column; /* names: [rows], [columns] */
    size_t rows, columns;
    const unsigned *count; /* [rows][columns] */
} vt_matrix;
enum { VT_MATRIX_MOST = 1000 }; /* rows and columns */

/* Loads the module. VITCL_EUNSUPPORTED: this build has no Cairo. */
vitcl_status vt_figure_ready(void);
/* The ending of `path` is .png or .svg. The file is complete, or the old one
 * stays. */
vitcl_status vt_figure_write(const vt_figure *figure, const char *path);
vitcl_status vt_matrix_write(const vt_matrix *matrix, const char *path);

#endif
