/*
 * module.h - what figure.c, in the program, finds in vitcl-plot.so.
 */
#ifndef VT_PLOT_MODULE_H
#define VT_PLOT_MODULE_H
#include "plot/contact_sheet.h"
#include "plot/figure.h"

#include <stdio.h>

#define VT_PLOT_SYMBOL "vt_plot_module"
typedef struct vt_drawing { /* one of these; the others are NULL */
    const vt_figure *figure;
    const vt_matrix *matrix;
    const vt_contact_sheet *sheet;
} vt_drawing;
typedef struct vt_plot {
    const char *version; /* of vitcl: the structs are those of one version */
    /* Returns NULL, or why there is no picture. */
    const char *(*draw)(const vt_drawing *drawing, bool svg, FILE *out);
} vt_plot;

#endif
