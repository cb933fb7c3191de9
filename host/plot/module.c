/*
 * module.c - the module vitcl-plot.so: draws figures with Cairo.
 *
 * The same code draws both formats. In SVG, letters are outlines, so that a
 * viewer needs no font.
 */
#include "plot/module.h"

#include "plot/chart.h"
#include "plot/contact_sheet_draw.h"
#include "plot/heatmap.h"

#include <cairo-svg.h>

static cairo_status_t put(void *out, const unsigned char *data, unsigned size)
{
    return fwrite(data, 1, size, out) == size ? CAIRO_STATUS_SUCCESS
                                              : CAIRO_STATUS_WRITE_ERROR;
}

/* A drawing and its layout. */
typedef struct content {
    const vt_drawing *of;
    vt_chart chart;
    vt_heatmap heatmap;
    vt_contact_sheet_page sheet;
} content;

static void layout(content *x, double *width, double *height, cairo_t *c)
{
    if (x->of->figure) {
        vt_chart_layout(&x->chart, x->of->figure, c);
        *width = x->chart.width, *height = x->chart.height;
    } else if (x->of->matrix) {
        vt_heatmap_layout(&x->heatmap, x->of->matrix, c);
        *width = x->heatmap.width, *height = x->heatmap.height;
    } else {
        vt_contact_sheet_layout(&x->sheet, x->of->sheet, c);
        *width = x->sheet.width, *height = x->sheet.height;
    }
}

static void draw_content(const content *x, cairo_t *c)
{
    if (x->of->figure)
        vt_chart_draw(&x->chart, c);
    else if (x->of->matrix)
        vt_heatmap_draw(&x->heatmap, c);
    else
        vt_contact_sheet_draw(&x->sheet, c);
}

static const char *draw(const vt_drawing *drawing, bool svg, FILE *out)
{
    cairo_surface_t *page =
        cairo_image_surface_create(CAIRO_FORMAT_RGB24, 1, 1);
    cairo_t *c = cairo_create(page);
    cairo_status_t status;
    double width = 1, height = 1;
    content x = {.of = drawing};

    layout(&x, &width, &height, c);
    status = cairo_status(c);
    cairo_destroy(c);
    cairo_surface_destroy(page);
    if (status != CAIRO_STATUS_SUCCESS)
        return cairo_status_to_string(status);

    page = svg ? cairo_svg_surface_create_for_stream(put, out, width, height)
               : cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)width,
                                            (int)height);
    if (svg)
        cairo_svg_surface_set_document_unit(page, CAIRO_SVG_UNIT_PX);
    c = cairo_create(page);
    draw_content(&x, c);
    status = cairo_status(c);
    cairo_destroy(c);
    if (status == CAIRO_STATUS_SUCCESS && !svg)
        status = cairo_surface_write_to_png_stream(page, put, out);
    cairo_surface_finish(page);
    if (status == CAIRO_STATUS_SUCCESS)
        status = cairo_surface_status(page);
    cairo_surface_destroy(page);
    return status == CAIRO_STATUS_SUCCESS ? NULL
                                          : cairo_status_to_string(status);
}

__attribute__((visibility("default"))) extern const vt_plot vt_plot_module;
const vt_plot vt_plot_module = {VITCL_VERSION, draw};
