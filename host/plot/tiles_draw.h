/*
 * tiles_draw.h - pages of tiles; for the module only.
 */
#ifndef VT_PLOT_TILES_DRAW_H
#define VT_PLOT_TILES_DRAW_H
#include "plot/tiles.h"

#include <cairo.h>

typedef struct vt_tiles_page { /* sizes in pixels of the page */
    const vt_tiles *tiles;
    double width, height;
    double left, top;       /* of the first tile */
    double tile_w, tile_h;  /* of a tile */
    double step_x, step_y;  /* from tile to tile */
    double least, most;     /* ends of the scale */
    char low[32], high[32]; /* ... as text */
    int down;               /* rows of tiles */
} vt_tiles_page;

/* c: any context, to measure text. */
void vt_tiles_layout(vt_tiles_page *out, const vt_tiles *tiles, cairo_t *c);
void vt_tiles_draw(const vt_tiles_page *page, cairo_t *c);

#endif
