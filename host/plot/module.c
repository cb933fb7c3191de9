/*
 * module.c - the module vitcl-plot.so: draws a figure with Cairo.
 *
 * The same code draws both formats. In SVG, letters are outlines, so that a
 * viewer needs no font.
 */
#include "plot/module.h"

#include "plot/chart.h"

#include <cairo-svg.h>

static cairo_status_t put(void *out, const unsigned char *data, unsigned size)
{
    return fwrite(data, 1, size, out) == size ? CAIRO_STATUS_SUCCESS
                                              : CAIRO_STATUS_WRITE_ERROR;
}

static const char *draw(const vt_figure *figure, bool svg, FILE *out)
{
    cairo_surface_t *page =
        cairo_image_surface_create(CAIRO_FORMAT_RGB24, 1, 1);
    cairo_t *c = cairo_create(page);
    cairo_status_t status;
    vt_chart chart;

    vt_chart_layout(&chart, figure, c);
    status = cairo_status(c);
    cairo_destroy(c);
    cairo_surface_destroy(page);
    if (status != CAIRO_STATUS_SUCCESS)
        return cairo_status_to_string(status);

    page = svg ? cairo_svg_surface_create_for_stream(put, out, chart.width,
                                                     chart.height)
               : cairo_image_surface_create(
                     CAIRO_FORMAT_RGB24, (int)chart.width, (int)chart.height);
    if (svg)
        cairo_svg_surface_set_document_unit(page, CAIRO_SVG_UNIT_PX);
    c = cairo_create(page);
    vt_chart_draw(&chart, c);
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
