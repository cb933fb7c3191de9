/*
 * map.c - draw a photograph, and beside it the same under a map of numbers,
 * with a colour bar.
 *
 * The colours are nine of matplotlib's viridis (Smith and van der Walt, CC0),
 * with straight lines between: equal steps look equal, also to people with any
 * colour vision and in print.
 */
#include "plot/map_draw.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define TEXT 13.0
#define PAD 12.0
#define GAP 8.0
#define BAR 16.0   /* width of the colour bar */
#define SIDE 384.0 /* longer side of a picture, at least */
#define COVER 0.65 /* how much of the map covers the picture */

static const double viridis[][3] = {
    {68, 1, 84},    {71, 44, 122},  {59, 81, 139},
    {44, 113, 142}, {33, 144, 141}, {39, 173, 129},
    {92, 200, 99},  {170, 220, 50}, {253, 231, 37}};

static uint32_t colour(double v)
{
    const size_t last = sizeof viridis / sizeof *viridis - 1;
    const double at = fmin(fmax(v, 0), 1) * (double)last;
    const size_t i = at >= (double)last ? last - 1 : (size_t)at;
    uint32_t pixel = 0;

    for (int k = 0; k < 3; k++) {
        const double x = viridis[i][k] +
                         (at - (double)i) * (viridis[i + 1][k] - viridis[i][k]);

        pixel = pixel << 8 | (uint32_t)(x + 0.5);
    }
    return pixel;
}

/* A surface of w x h pixels; pixel(context, x, y) gives 0xRRGGBB. */
static cairo_surface_t *paint(int w, int h,
                              uint32_t (*pixel)(const vt_map *, int, int),
                              const vt_map *m)
{
    cairo_surface_t *s = cairo_image_surface_create(CAIRO_FORMAT_RGB24, w, h);
    unsigned char *data = cairo_image_surface_get_data(s);
    const int stride = cairo_image_surface_get_stride(s);

    if (!data)
        return s; /* its status says why */
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            const uint32_t rgb = pixel(m, x, y);

            memcpy(data + y * stride + 4 * x, &rgb, 4);
        }
    cairo_surface_mark_dirty(s);
    return s;
}

static uint32_t photograph(const vt_map *m, int x, int y)
{
    const unsigned char *p =
        m->rgb + 3 * ((size_t)y * (size_t)m->width + (size_t)x);

    return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
}

/* Values that are not finite count as the smallest. */
static void range(double *least, double *most, const vt_map *m)
{
    *least = INFINITY, *most = -INFINITY;
    for (int i = 0; i < m->rows * m->columns; i++)
        if (isfinite(m->value[i])) {
            *least = fmin(*least, m->value[i]);
            *most = fmax(*most, m->value[i]);
        }
    if (*least > *most)
        *least = *most = 0;
}

static uint32_t patch(const vt_map *m, int x, int y)
{
    double least, most;

    range(&least, &most, m);
    return colour(most > least
                      ? (m->value[y * m->columns + x] - least) / (most - least)
                      : 0);
}

static uint32_t bar(const vt_map *m, int x, int y)
{
    (void)m, (void)x;
    return colour(1 - y / 255.0);
}

/* Draws a surface into a rectangle. */
static void place(cairo_t *c, cairo_surface_t *s, double x, double y, double w,
                  double h, double alpha)
{
    const double sw = cairo_image_surface_get_width(s),
                 sh = cairo_image_surface_get_height(s);

    cairo_save(c);
    cairo_rectangle(c, x, y, w, h);
    cairo_clip(c);
    cairo_translate(c, x, y);
    cairo_scale(c, w / sw, h / sh);
    cairo_set_source_surface(c, s, 0, 0);
    cairo_pattern_set_filter(cairo_get_source(c), CAIRO_FILTER_BILINEAR);
    cairo_pattern_set_extend(cairo_get_source(c), CAIRO_EXTEND_PAD);
    cairo_paint_with_alpha(c, alpha);
    cairo_restore(c);
    cairo_surface_destroy(s);
}

static void text(cairo_t *c, double x, double y, const char *s)
{
    cairo_move_to(c, x, y);
    cairo_show_text(c, s);
}

static double text_width(cairo_t *c, const char *s)
{
    cairo_text_extents_t e;

    cairo_text_extents(c, s, &e);
    return e.x_advance;
}

static void set_font(cairo_t *c)
{
    cairo_select_font_face(c, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                           CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(c, TEXT);
}

void vt_map_layout(vt_map_page *out, const vt_map *m, cairo_t *c)
{
    const double longer = fmax(m->width, m->height);
    double least, most;

    *out = (vt_map_page){.map = m, .scale = fmax(1, SIDE / longer)};
    range(&least, &most, m);
    snprintf(out->least, sizeof out->least, "%.3g", least);
    snprintf(out->most, sizeof out->most, "%.3g", most);
    set_font(c);
    out->text = fmax(text_width(c, out->most), text_width(c, out->least));
    out->width =
        2 * PAD + 2 * m->width * out->scale + 3 * GAP + BAR + out->text;
    out->width = fmax(out->width, text_width(c, m->label) + 2 * PAD);
    out->height = 2 * PAD + m->height * out->scale + GAP + TEXT;
}

void vt_map_draw(const vt_map_page *p, cairo_t *c)
{
    const vt_map *m = p->map;
    const double w = m->width * p->scale, h = m->height * p->scale,
                 second = PAD + w + GAP, bar_x = second + w + GAP;

    cairo_set_source_rgb(c, 1, 1, 1);
    cairo_paint(c);
    place(c, paint(m->width, m->height, photograph, m), PAD, PAD, w, h, 1);
    place(c, paint(m->width, m->height, photograph, m), second, PAD, w, h, 1);
    place(c, paint(m->columns, m->rows, patch, m), second, PAD, w, h, COVER);
    place(c, paint(1, 256, bar, m), bar_x, PAD, BAR, h, 1);
    set_font(c);
    cairo_set_source_rgb(c, 0.15, 0.15, 0.15);
    text(c, bar_x + BAR + GAP, PAD + TEXT, p->most);
    text(c, bar_x + BAR + GAP, PAD + h, p->least);
    text(c, p->width - PAD - text_width(c, m->label), p->height - PAD,
         m->label);
}
