/*
 * module.h - what figure.c, in the program, finds in vitcl-plot.so.
 */
#ifndef VT_PLOT_MODULE_H
#define VT_PLOT_MODULE_H
#include "plot/figure.h"
#include "plot/map.h"

#include <stdio.h>

#define VT_PLOT_SYMBOL "vt_plot_module"
typedef struct vt_plot {
    const char *version; /* of vitcl: the structs are those of one version */
    /* Draws the figure or the map; the other is NULL. Returns NULL, or why
     * there is no picture. */
    const char *(*draw)(const vt_figure *figure, const vt_map *map, bool svg,
                        FILE *out);
} vt_plot;

#endif
