/*
 * contact_sheet.c - draw small pictures in rows, with a colour bar where they
 * are maps of numbers.
 */
#include "plot/contact_sheet_draw.h"

#include "plot/letters.h"
#include "plot/viridis.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define TEXT 13.0
#define SMALL 11.0
#define PAD 12.0
#define GAP 8.0
#define BAR 16.0   /* width of the colour bar */
#define SIDE 384.0 /* longer side of one of at most two photographs, at least */
#define PAGE 960.0 /* width of more pictures together */
#define LEAST 96.0 /* of one with a photograph */
#define COVER 0.65 /* how much of a map covers the photograph */

/* ---- surfaces ---- */

typedef struct picture { /* of 0xRRGGBB: rgb[h][w][3], value[h][w], or a bar */
    int w, h;
    const unsigned char *rgb;
    const double *value;
    double least, most;
} picture;

static uint32_t pixel_of(const picture *p, int x, int y)
{
    const size_t at = (size_t)y * (size_t)p->w + (size_t)x;

    if (p->rgb)
        return (uint32_t)p->rgb[3 * at] << 16 |
               (uint32_t)p->rgb[3 * at + 1] << 8 | p->rgb[3 * at + 2];
    if (!p->value)
        return vt_viridis(1 - (double)y / (p->h - 1));
    return vt_viridis(p->most > p->least
                          ? (p->value[at] - p->least) / (p->most - p->least)
                          : 0);
}

typedef struct box {
    double x, y, w, h;
} box;

/* Draws a picture into a rectangle. An SVG of Cairo before 1.18 does not have
 * the filter, and viewers smooth: pixels that must stay sharp are repeated to
 * about the size that they have on the page. */
static void place(cairo_t *c, const picture *p, box b, double alpha,
                  cairo_filter_t filter)
{
    const int n = filter == CAIRO_FILTER_NEAREST
                      ? (int)ceil(fmax(b.w / p->w, b.h / p->h))
                      : 1;
    const int w = n * p->w, h = n * p->h;
    cairo_surface_t *s = cairo_image_surface_create(CAIRO_FORMAT_RGB24, w, h);
    unsigned char *data = cairo_image_surface_get_data(s);
    const int stride = cairo_image_surface_get_stride(s);

    for (int y = 0; data && y < h; y++) /* else the status says why */
        for (int x = 0; x < w; x++) {
            const uint32_t rgb = pixel_of(p, x / n, y / n);

            memcpy(data + y * stride + 4 * x, &rgb, 4);
        }
    if (data)
        cairo_surface_mark_dirty(s);
    cairo_save(c);
    cairo_rectangle(c, b.x, b.y, b.w, b.h);
    cairo_clip(c);
    cairo_translate(c, b.x, b.y);
    cairo_scale(c, b.w / w, b.h / h);
    cairo_set_source_surface(c, s, 0, 0);
    cairo_pattern_set_filter(cairo_get_source(c), filter);
    /* SVG has no such borders: Cairo 1.18 would embed another picture of that
     * place instead, of 300 pixels an inch. */
    if (cairo_surface_get_type(cairo_get_target(c)) == CAIRO_SURFACE_TYPE_IMAGE)
        cairo_pattern_set_extend(cairo_get_source(c), CAIRO_EXTEND_PAD);
    cairo_paint_with_alpha(c, alpha);
    cairo_restore(c);
    cairo_surface_destroy(s);
}

/* ---- text ---- */

/* Shows what fits into `most` pixels; share: of the width left of x. */
static void put(cairo_t *c, double x, double y, const char *text, double share,
                double most)
{
    char shown[VT_LETTERS];
    const double width = vt_letters_fit(shown, c, text, most);

    cairo_move_to(c, x - share * width, y);
    cairo_show_text(c, shown);
}

/* ---- layout ---- */

static int shown(const vt_contact_sheet *t)
{
    return t->count + (t->photo && t->beside);
}

/* Numbers that are not finite count as the smallest. */
static void find_scale(vt_contact_sheet_page *p)
{
    const vt_contact_sheet *t = p->sheet;
    const size_t n = (size_t)t->count * (size_t)t->rows * (size_t)t->columns;

    p->least = t->least, p->most = t->most;
    if (t->value && !(t->least < t->most)) {
        p->least = INFINITY, p->most = -INFINITY;
        for (size_t i = 0; i < n; i++)
            if (isfinite(t->value[i])) {
                p->least = fmin(p->least, t->value[i]);
                p->most = fmax(p->most, t->value[i]);
            }
        if (p->least > p->most)
            p->least = p->most = 0;
    }
    snprintf(p->low, sizeof p->low, "%.3g", p->least);
    snprintf(p->high, sizeof p->high, "%.3g", p->most);
}

static void size_pictures(vt_contact_sheet_page *p)
{
    const vt_contact_sheet *t = p->sheet;
    const double room = PAGE / t->across;
    double scale;

    if (!t->photo) { /* cells of whole pixels */
        scale = fmax(1, floor(room / t->columns));
        p->each_w = scale * t->columns, p->each_h = scale * t->rows;
        return;
    }
    if (t->across <= 2)
        scale = fmax(1, SIDE / fmax(t->photo_width, t->photo_height));
    else
        scale = fmax(room, LEAST) / t->photo_width;
    p->each_w = scale * t->photo_width, p->each_h = scale * t->photo_height;
}

void vt_contact_sheet_layout(vt_contact_sheet_page *out,
                             const vt_contact_sheet *t, cairo_t *c)
{
    vt_contact_sheet_page p = {.sheet = t, .left = PAD, .top = PAD};
    const double gap = t->photo || t->name ? GAP : 2;
    double text;

    p.down = (shown(t) + t->across - 1) / t->across;
    find_scale(&p);
    size_pictures(&p);
    p.step_x = p.each_w + gap;
    p.step_y = p.each_h + gap + (t->name ? SMALL + 2 : 0);
    if (t->rows_title)
        p.left += 2 * (TEXT + GAP), p.top += 2 * (TEXT + GAP);
    p.width = p.left + p.step_x * t->across - gap + PAD;
    p.height = p.top + p.step_y * p.down - gap + GAP + TEXT + PAD;
    vt_letters_font(c, TEXT);
    if (t->value)
        p.width +=
            GAP + BAR + GAP +
            fmax(vt_letters_width(c, p.low), vt_letters_width(c, p.high));
    text =
        fmin(vt_letters_width(c, t->label), PAGE); /* what is longer is cut */
    p.width = ceil(fmax(p.width, text + 2 * PAD + 1));
    p.height = ceil(p.height);
    *out = p;
}

/* ---- drawing ---- */

static void frame(cairo_t *c, const vt_contact_sheet *t, box b)
{
    const double w = b.w / t->columns, h = b.h / t->rows;
    const double x = b.x + (t->mark - 1) % t->columns * w,
                 y = b.y + (t->mark - 1) / t->columns * h;

    cairo_set_line_width(c, 3);
    cairo_set_source_rgb(c, 0, 0, 0);
    cairo_rectangle(c, x, y, w, h);
    cairo_stroke(c);
    cairo_set_line_width(c, 1.5);
    cairo_set_source_rgb(c, 1, 1, 1);
    cairo_rectangle(c, x, y, w, h);
    cairo_stroke(c);
}

/* Tile `i` of those with numbers or colours; -1: the photograph. */
static void draw_picture(const vt_contact_sheet_page *p, cairo_t *c, int i,
                         box b)
{
    const vt_contact_sheet *t = p->sheet;
    const size_t cells = (size_t)t->rows * (size_t)t->columns,
                 at = i < 0 ? 0 : (size_t)i * cells;
    const picture photo = {
        .w = t->photo_width, .h = t->photo_height, .rgb = t->photo};
    const picture over = {.w = t->columns,
                          .h = t->rows,
                          .rgb = t->rgb ? t->rgb + 3 * at : NULL,
                          .value = t->value ? t->value + at : NULL,
                          .least = p->least,
                          .most = p->most};
    const char *name = i < 0 ? "photograph" : t->name ? t->name[i] : NULL;

    if (t->photo && (i < 0 || t->value))
        place(c, &photo, b, 1, CAIRO_FILTER_BILINEAR);
    if (i >= 0)
        place(c, &over, b, t->photo && t->value ? COVER : 1,
              t->photo && t->value ? CAIRO_FILTER_BILINEAR
                                   : CAIRO_FILTER_NEAREST);
    if (t->mark && (i >= 0 || t->photo))
        frame(c, t, b);
    cairo_set_source_rgb(c, 0.15, 0.15, 0.15);
    vt_letters_font(c, SMALL);
    if (name && t->name)
        put(c, b.x + b.w / 2, b.y + b.h + SMALL + 1, name, 0.5, b.w);
}

/* Numbers from 1 at some of the pictures, and the titles of both axes. */
static void draw_axes(const vt_contact_sheet_page *p, cairo_t *c)
{
    const vt_contact_sheet *t = p->sheet;
    const double room = TEXT + GAP, wide = p->step_x * t->across,
                 high = p->step_y * p->down;
    const int each_x = 1 + (int)(26 / p->step_x),
              each_y = 1 + (int)(16 / p->step_y);
    char number[16];

    vt_letters_font(c, TEXT);
    cairo_set_source_rgb(c, 0.15, 0.15, 0.15);
    for (int i = 0; i < t->across; i += each_x) {
        snprintf(number, sizeof number, "%d", i + 1);
        put(c, p->left + i * p->step_x + p->each_w / 2, p->top - GAP / 2,
            number, 0.5, 60);
    }
    for (int i = 0; i < p->down; i += each_y) {
        snprintf(number, sizeof number, "%d", i + 1);
        put(c, p->left - GAP / 2,
            p->top + i * p->step_y + p->each_h / 2 + 0.36 * TEXT, number, 1,
            60);
    }
    put(c, p->left + wide / 2, p->top - room, t->columns_title, 0.5, wide);
    cairo_save(c);
    cairo_translate(c, p->left - room - GAP / 2, p->top + high / 2);
    cairo_rotate(c, -M_PI / 2);
    put(c, 0, 0, t->rows_title, 0.5, high);
    cairo_restore(c);
}

static void draw_bar(const vt_contact_sheet_page *p, cairo_t *c)
{
    const vt_contact_sheet *t = p->sheet;
    const picture bar = {.w = 1, .h = 256};
    const double h = p->step_y * (p->down - 1) + p->each_h;
    const box b = {p->left + p->step_x * (t->across - 1) + p->each_w + GAP,
                   p->top, BAR, h};

    place(c, &bar, b, 1, CAIRO_FILTER_BILINEAR);
    vt_letters_font(c, TEXT);
    cairo_set_source_rgb(c, 0.15, 0.15, 0.15);
    put(c, b.x + BAR + GAP, b.y + TEXT, p->high, 0, PAGE);
    put(c, b.x + BAR + GAP, b.y + b.h, p->low, 0, PAGE);
}

void vt_contact_sheet_draw(const vt_contact_sheet_page *p, cairo_t *c)
{
    const vt_contact_sheet *t = p->sheet;
    const int photo = shown(t) - t->count;

    cairo_set_source_rgb(c, 1, 1, 1);
    cairo_paint(c);
    for (int i = 0; i < shown(t); i++)
        draw_picture(p, c, i - photo,
                     (box){p->left + i % t->across * p->step_x,
                           p->top + i / t->across * p->step_y, p->each_w,
                           p->each_h});
    if (t->rows_title)
        draw_axes(p, c);
    if (t->value)
        draw_bar(p, c);
    vt_letters_font(c, TEXT);
    cairo_set_source_rgb(c, 0.15, 0.15, 0.15);
    put(c, p->width - PAD, p->height - PAD, t->label, 1, p->width - 2 * PAD);
}
