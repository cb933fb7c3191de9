/*
 * chart.c - draw a line chart: axes, grid, legend, series.
 *
 * The legend is above the plot, in as many rows as it takes; the figure grows
 * with it. The margins have the width of the axes' labels. So nothing overlaps,
 * however long a text is.
 *
 * Colours are those of Okabe and Ito, which people with any colour vision can
 * tell apart (Color Universal Design, 2008); without their yellow, which is too
 * light for lines on white.
 */
#include "plot/chart.h"

#include "plot/letters.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define TEXT 14.0 /* size of the font */
#define LINE 22.0 /* height of a row of the legend */
#define PAD 12.0
#define GAP 6.0  /* between a text and what it belongs to */
#define KEY 28.0 /* a line in the legend */
#define DOT 3.5  /* radius */
#define WIDTH 900.0
#define PLOT_HEIGHT 440.0
#define LOW_HEIGHT 110.0 /* of the panel below */

enum { LEFT, RIGHT, BELOW, AXES };

static const double palette[][3] = {
    {0.000, 0.447, 0.698}, /* blue */
    {0.835, 0.369, 0.000}, /* vermilion */
    {0.000, 0.620, 0.451}, /* bluish green */
    {0.800, 0.475, 0.655}, /* reddish purple */
    {0.902, 0.624, 0.000}, /* orange */
    {0.337, 0.706, 0.914}, /* sky blue */
    {0.000, 0.000, 0.000},
};

static void colour_of(cairo_t *c, size_t series)
{
    const double *rgb = palette[series % (sizeof palette / sizeof *palette)];

    cairo_set_source_rgb(c, rgb[0], rgb[1], rgb[2]);
}

static void grey(cairo_t *c, double level)
{
    cairo_set_source_rgb(c, level, level, level);
}

/* ---- layout ---- */

static bool is_shown(double x, double y)
{
    return fabs(x) <= 1e100 && fabs(y) <= 1e100; /* NAN is not */
}

/* Extends *from and *to; false: there is no point. */
static bool extent(double *from, double *to, const vt_series *s, bool y)
{
    bool any = false;

    for (size_t i = 0; i < s->count; i++)
        if (is_shown(s->x[i], s->y[i])) {
            *from = fmin(*from, y ? s->y[i] : s->x[i]);
            *to = fmax(*to, y ? s->y[i] : s->x[i]);
            any = true;
        }
    return any;
}

static int axis_of(const vt_series *s)
{
    return s->below ? BELOW : s->right ? RIGHT : LEFT;
}

static bool appears(const vt_series *s)
{
    double from = NAN, to = NAN;

    return extent(&from, &to, s, false);
}

static double widest(cairo_t *c, const vt_ticks *t)
{
    char label[VT_TICK_ROOM];
    double most = 0;

    for (int i = 0; i < t->count; i++) {
        vt_ticks_label(label, t, i);
        most = fmax(most, vt_letters_width(c, label));
    }
    return most;
}

static void choose(vt_ticks *out, const vt_axis *axis, double from, double to,
                   int most, bool widen)
{
    if (!isfinite(from) || !isfinite(to))
        from = 0, to = 1;
    vt_ticks_choose(out, from, to, most, axis->whole, widen);
}

/* As many ticks as have room for their labels. */
static void choose_x(vt_chart *h, cairo_t *c, double from, double to)
{
    for (int most = 12; most >= 2; most--) {
        choose(&h->x, &h->figure->x, from, to, most, false);
        if (h->x.count * (widest(c, &h->x) + 2 * PAD) < h->right - h->left)
            break;
    }
}

/* The place of the next entry of the legend; moves *x, *y behind it. */
static void entry(double at[2], double *x, double *y, double width,
                  const vt_chart *h)
{
    if (*x > PAD && *x + width > h->width - PAD) {
        *x = PAD;
        *y += LINE;
    }
    at[0] = *x, at[1] = *y;
    *x += width + 2 * PAD;
}

static double name_room(const vt_chart *h)
{
    return h->width - 2 * PAD - KEY - GAP;
}

/* The legend's height; draws it if asked to. */
static double legend(const vt_chart *h, cairo_t *c, bool draw)
{
    double x = PAD, y = PAD, at[2];

    for (size_t i = 0; i < h->figure->count; i++) {
        const vt_series *s = &h->figure->series[i];
        char name[VT_LETTERS];

        if (!appears(s))
            continue;
        entry(at, &x, &y,
              KEY + GAP + vt_letters_fit(name, c, s->name, name_room(h)), h);
        if (!draw)
            continue;
        colour_of(c, i);
        cairo_move_to(c, at[0], at[1] + LINE / 2);
        cairo_line_to(c, at[0] + KEY, at[1] + LINE / 2);
        cairo_stroke(c);
        if (s->dots) {
            cairo_arc(c, at[0] + KEY / 2, at[1] + LINE / 2, DOT, 0, 2 * M_PI);
            cairo_fill(c);
        }
        grey(c, 0.1);
        cairo_move_to(c, at[0] + KEY + GAP, at[1] + LINE / 2 + TEXT * 0.36);
        cairo_show_text(c, name);
    }
    return y + LINE;
}

/* The width of an axis's labels beside the plot. */
static double margin(cairo_t *c, const vt_ticks *t)
{
    return PAD + TEXT + GAP + widest(c, t) + 2 * GAP;
}

void vt_chart_layout(vt_chart *out, const vt_figure *figure, cairo_t *c)
{
    const vt_axis *axis[] = {&figure->left, &figure->right, &figure->below};
    double from = figure->x.from, to = figure->x.to;
    vt_chart h = {.figure = figure, .width = WIDTH};

    vt_letters_font(c, TEXT);
    for (size_t i = 0; i < figure->count; i++)
        if (extent(&from, &to, &figure->series[i], false))
            h.used[axis_of(&figure->series[i])] = true;
    for (int k = 0; k < AXES; k++) {
        double low = axis[k]->from, high = axis[k]->to;

        for (size_t i = 0; i < figure->count; i++)
            if (axis_of(&figure->series[i]) == k)
                extent(&low, &high, &figure->series[i], true);
        choose(&h.y[k], axis[k], low, high, k == BELOW ? 2 : 6, true);
    }
    h.top = legend(&h, c, false) + PAD;
    h.bottom = h.top + PLOT_HEIGHT;
    h.low_top = h.bottom + 2 * PAD;
    h.low_bottom = h.used[BELOW] ? h.low_top + LOW_HEIGHT : h.bottom;
    h.height = h.low_bottom + 2 * GAP + 2 * TEXT + GAP + PAD;
    h.left = h.used[LEFT] ? margin(c, &h.y[LEFT]) : 3 * PAD;
    if (h.used[BELOW])
        h.left = fmax(h.left, margin(c, &h.y[BELOW]));
    h.right = h.width - (h.used[RIGHT] ? margin(c, &h.y[RIGHT]) : 3 * PAD);
    choose_x(&h, c, from, to);
    *out = h;
}

/* ---- drawing ---- */

static double place_x(const vt_chart *h, double v)
{
    return h->left +
           (h->right - h->left) * (v - h->x.from) / (h->x.to - h->x.from);
}

static double place_y(const vt_chart *h, int axis, double v)
{
    const vt_ticks *t = &h->y[axis];
    const double top = axis == BELOW ? h->low_top : h->top;
    const double bottom = axis == BELOW ? h->low_bottom : h->bottom;

    return bottom + (top - bottom) * (v - t->from) / (t->to - t->from);
}

static void straight(cairo_t *c, double x0, double y0, double x1, double y1)
{
    cairo_move_to(c, floor(x0) + 0.5, floor(y0) + 0.5); /* centres of pixels */
    cairo_line_to(c, floor(x1) + 0.5, floor(y1) + 0.5);
    cairo_stroke(c);
}

/* Text whose middle is at (x, y). */
static void centred(cairo_t *c, double x, double y, const char *text,
                    double room, bool upright)
{
    char shown[VT_LETTERS];
    const double width = vt_letters_fit(shown, c, text, room);

    cairo_save(c);
    cairo_translate(c, x, y);
    if (upright)
        cairo_rotate(c, -M_PI / 2);
    cairo_move_to(c, -width / 2, TEXT * 0.36);
    cairo_show_text(c, shown);
    cairo_restore(c);
}

static void draw_y(const vt_chart *h, cairo_t *c, int axis)
{
    const vt_figure *f = h->figure;
    const char *labels[] = {f->left.label, f->right.label, f->below.label};
    const vt_ticks *t = &h->y[axis];
    const bool right = axis == RIGHT;
    const double top = axis == BELOW ? h->low_top : h->top;
    const double bottom = axis == BELOW ? h->low_bottom : h->bottom;
    const double edge = right ? h->right : h->left;
    const double out = right ? GAP : -GAP;
    /* the grid is that of the left axis, if there is one */
    const bool grid = !right || !h->used[LEFT];
    char label[VT_TICK_ROOM];

    for (int i = 0; i < t->count; i++) {
        const double y = place_y(h, axis, vt_ticks_at(t, i));

        cairo_set_line_width(c, 1);
        grey(c, 0.87);
        if (grid)
            straight(c, h->left, y, h->right, y);
        grey(c, 0.1);
        straight(c, edge, y, edge + out, y);
        vt_ticks_label(label, t, i);
        cairo_move_to(
            c, edge + (right ? 2 * GAP : -2 * GAP - vt_letters_width(c, label)),
            y + TEXT * 0.36);
        cairo_show_text(c, label);
    }
    straight(c, edge, top, edge, bottom);
    centred(c, right ? h->width - PAD - TEXT / 2 : PAD + TEXT / 2,
            (top + bottom) / 2, labels[axis], bottom - top, true);
}

static void draw_x(const vt_chart *h, cairo_t *c)
{
    char label[VT_TICK_ROOM];

    cairo_set_line_width(c, 1);
    grey(c, 0.1);
    for (int i = 0; i < h->x.count; i++) {
        const double x = place_x(h, vt_ticks_at(&h->x, i));

        straight(c, x, h->low_bottom, x, h->low_bottom + GAP);
        vt_ticks_label(label, &h->x, i);
        centred(c, x, h->low_bottom + 2 * GAP + TEXT / 2, label, h->width,
                false);
    }
    straight(c, h->left, h->low_bottom, h->right, h->low_bottom);
    centred(c, (h->left + h->right) / 2,
            h->low_bottom + 2 * GAP + TEXT + GAP + TEXT / 2, h->figure->x.label,
            h->right - h->left, false);
}

static void draw_dot(cairo_t *c, double x, double y)
{
    cairo_arc(c, x, y, DOT, 0, 2 * M_PI);
    cairo_fill(c);
}

static void draw_series(const vt_chart *h, cairo_t *c, size_t index)
{
    const vt_series *s = &h->figure->series[index];
    const bool dots =
        s->dots && (double)s->count * 3 * DOT < h->right - h->left;
    bool before = false;

    colour_of(c, index);
    cairo_set_line_width(c, s->dots ? 2 : 1.5); /* many points: thin */
    for (size_t i = 0; i < s->count; i++) {
        if (is_shown(s->x[i], s->y[i]))
            (before ? cairo_line_to : cairo_move_to)(
                c, place_x(h, s->x[i]), place_y(h, axis_of(s), s->y[i]));
        before = is_shown(s->x[i], s->y[i]);
    }
    cairo_stroke(c);
    before = false;
    for (size_t i = 0; i < s->count; i++) {
        const bool now = is_shown(s->x[i], s->y[i]);
        const bool alone = !before && (i + 1 == s->count ||
                                       !is_shown(s->x[i + 1], s->y[i + 1]));

        if (now && (dots || alone)) /* a line of one point is not visible */
            draw_dot(c, place_x(h, s->x[i]), place_y(h, axis_of(s), s->y[i]));
        before = now;
    }
}

void vt_chart_draw(const vt_chart *h, cairo_t *c)
{
    grey(c, 1);
    cairo_paint(c);
    vt_letters_font(c, TEXT);
    cairo_set_line_cap(c, CAIRO_LINE_CAP_ROUND);
    cairo_set_line_join(c, CAIRO_LINE_JOIN_ROUND);
    cairo_set_line_width(c, 2);
    legend(h, c, true);
    for (int axis = 0; axis < AXES; axis++)
        if (h->used[axis])
            draw_y(h, c, axis);
    draw_x(h, c);
    for (size_t i = 0; i < h->figure->count; i++)
        draw_series(h, c, i);
}
