/*
 * map_draw.h - pictures under a map; for the module only.
 */
#ifndef VT_PLOT_MAP_DRAW_H
#define VT_PLOT_MAP_DRAW_H
#include "plot/map.h"

#include <cairo.h>

typedef struct vt_map_page { /* sizes in pixels of the page */
    const vt_map *map;
    double width, height, scale, text; /* text: width of the numbers */
    char least[32], most[32];          /* values, as text */
} vt_map_page;

/* c: any context, to measure text. */
void vt_map_layout(vt_map_page *out, const vt_map *map, cairo_t *c);
void vt_map_draw(const vt_map_page *page, cairo_t *c);

#endif
