/*
 * contact_sheet_draw.h - pages of them; for the module only.
 */
#ifndef VT_PLOT_CONTACT_SHEET_DRAW_H
#define VT_PLOT_CONTACT_SHEET_DRAW_H
#include "plot/contact_sheet.h"

#include <cairo.h>

typedef struct vt_contact_sheet_page { /* sizes in pixels of the page */
    const vt_contact_sheet *sheet;
    double width, height;
    double left, top;       /* of the first picture */
    double each_w, each_h;  /* of a picture */
    double step_x, step_y;  /* from picture to picture */
    double least, most;     /* ends of the scale */
    char low[32], high[32]; /* ... as text */
    int down;               /* rows of pictures */
} vt_contact_sheet_page;

/* c: any context, to measure text. */
void vt_contact_sheet_layout(vt_contact_sheet_page *out,
                             const vt_contact_sheet *sheet, cairo_t *c);
void vt_contact_sheet_draw(const vt_contact_sheet_page *page, cairo_t *c);

#endif
