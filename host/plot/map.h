/*
 * map.h - a photograph beside itself under a map of numbers.
 */
#ifndef VT_PLOT_MAP_H
#define VT_PLOT_MAP_H
#include "base/status.h"

/* Values of a grid that lies over the picture, row by row, the first at the top
 * left; drawn from the smallest to the largest, in the colours of viridis. Text
 * is UTF-8. */
typedef struct vt_map {
    const unsigned char *rgb; /* height * width * 3 bytes */
    int width, height;        /* of the picture, in pixels */
    const double *value;      /* rows * columns */
    int rows, columns;
    const char *label; /* of the colour bar */
} vt_map;

/* As vt_figure_write(). */
vitcl_status vt_map_write(const vt_map *map, const char *path);

#endif
