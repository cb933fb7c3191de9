/*
 * module.c - the module vitcl-plot.so: draws figures with Cairo.
 *
 * The same code draws both formats. In SVG, letters are outlines, so that a
 * viewer needs no font.
 */
#include "plot/module.h"

#include "plot/chart.h"
#include "plot/map_draw.h"

#include <cairo-svg.h>

static cairo_status_t put(void *out, const unsigned char *data, unsigned size)
{
    return fwrite(data, 1, size, out) == size ? CAIRO_STATUS_SUCCESS
                                              : CAIRO_STATUS_WRITE_ERROR;
}

/* A drawing: what layout() makes of a figure, and draw() draws. */
typedef struct drawing {
    union {
        vt_chart chart;
        vt_map_page map;
    } page;
    double width, height;
    void (*draw)(const struct drawing *d, cairo_t *c);
} drawing;

static const char *why(cairo_status_t status)
{
    return status == CAIRO_STATUS_SUCCESS ? NULL
                                          : cairo_status_to_string(status);
}

static void draw_chart(const drawing *d, cairo_t *c)
{
    vt_chart_draw(&d->page.chart, c);
}

static void draw_map(const drawing *d, cairo_t *c)
{
    vt_map_draw(&d->page.map, c);
}

/* Lays out the figure or the map, of which one is given. */
static cairo_status_t lay_out(drawing *d, const vt_figure *figure,
                              const vt_map *map)
{
    cairo_surface_t *page =
        cairo_image_surface_create(CAIRO_FORMAT_RGB24, 1, 1);
    cairo_t *c = cairo_create(page);
    cairo_status_t status;

    if (figure) {
        vt_chart_layout(&d->page.chart, figure, c);
        d->width = d->page.chart.width, d->height = d->page.chart.height;
        d->draw = draw_chart;
    } else {
        vt_map_layout(&d->page.map, map, c);
        d->width = d->page.map.width, d->height = d->page.map.height;
        d->draw = draw_map;
    }
    status = cairo_status(c);
    cairo_destroy(c);
    cairo_surface_destroy(page);
    return status;
}

static const char *draw(const vt_figure *figure, const vt_map *map, bool svg,
                        FILE *out)
{
    cairo_surface_t *page;
    cairo_status_t status;
    drawing d;
    cairo_t *c;

    status = lay_out(&d, figure, map);
    if (status != CAIRO_STATUS_SUCCESS)
        return why(status);
    page =
        svg ? cairo_svg_surface_create_for_stream(put, out, d.width, d.height)
            : cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)d.width,
                                         (int)d.height);
    if (svg)
        cairo_svg_surface_set_document_unit(page, CAIRO_SVG_UNIT_PX);
    c = cairo_create(page);
    d.draw(&d, c);
    status = cairo_status(c);
    cairo_destroy(c);
    if (status == CAIRO_STATUS_SUCCESS && !svg)
        status = cairo_surface_write_to_png_stream(page, put, out);
    cairo_surface_finish(page);
    if (status == CAIRO_STATUS_SUCCESS)
        status = cairo_surface_status(page);
    cairo_surface_destroy(page);
    return why(status);
}

__attribute__((visibility("default"))) extern const vt_plot vt_plot_module;
const vt_plot vt_plot_module = {VITCL_VERSION, draw};
