/*
 * heatmap.c - draw a table of counts: darker cells are larger shares of a row.
 *
 * The cells are as large as the number of classes allows. Where they are
 * smaller than letters, every second or third name is shown, or fewer, and no
 * counts. The margins have the width of the longest name, and a longer one ends
 * in an ellipsis.
 */
#include "plot/heatmap.h"

#include "plot/letters.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define TABLE 720.0 /* the larger side, unless cells reach a limit */
#define CELL_MOST 64.0
#define CELL_LEAST 2.0
#define TEXT_MOST 14.0
#define TEXT_LEAST 10.0
#define NAME_MOST 220.0 /* width of a name */
#define PAD 12.0
#define GAP 6.0
#define LINE 22.0

/* ---- text ---- */

static double widest(cairo_t *c, const char *const *name, size_t n, size_t each)
{
    char text[VT_LETTERS];
    double most = 0;

    for (size_t i = 0; i < n; i += each)
        most = fmax(most, vt_letters_fit(text, c, name[i], NAME_MOST));
    return most;
}

/* ---- layout ---- */

static double widest_count(cairo_t *c, const vt_matrix *m)
{
    unsigned most = 0;
    char text[16];

    for (size_t i = 0; i < m->rows * m->columns; i++)
        most = m->count[i] > most ? m->count[i] : most;
    snprintf(text, sizeof text, "%u", most);
    return vt_letters_width(c, text);
}

void vt_heatmap_layout(vt_heatmap *out, const vt_matrix *matrix, cairo_t *c)
{
    const vt_matrix *m = matrix;
    const double most = (double)(m->rows > m->columns ? m->rows : m->columns);
    vt_heatmap h = {.matrix = m, .left = 2 * PAD + LINE, .top = 2 * PAD + LINE};
    double title;

    h.cell = floor(fmax(fmin(TABLE / fmax(most, 1), CELL_MOST), CELL_LEAST));
    h.text = fmax(fmin(h.cell * 0.8, TEXT_MOST), TEXT_LEAST);
    h.each = (size_t)ceil(1.2 * h.text / h.cell);
    vt_letters_font(c, h.text);
    h.left += ceil(widest(c, m->row, m->rows, h.each)) + GAP;
    h.top += ceil(widest(c, m->column, m->columns, h.each)) + GAP;
    h.counted = h.each == 1 && widest_count(c, m) + GAP <= h.cell;
    vt_letters_font(c, TEXT_MOST);
    title = fmax(vt_letters_width(c, m->row_title),
                 vt_letters_width(c, m->column_title));
    h.width = fmax(h.left + h.cell * (double)m->columns, h.left + title) + PAD;
    h.height = fmax(h.top + h.cell * (double)m->rows, h.top + title) + PAD;
    *out = h;
}

/* ---- drawing ---- */

/* Text that begins (0) or ends (1) at (x, y), or has its middle there (0.5). */
static void put(cairo_t *c, double x, double y, const char *text, double share,
                double size, bool upright)
{
    cairo_save(c);
    cairo_translate(c, x, y);
    if (upright)
        cairo_rotate(c, -M_PI / 2);
    cairo_move_to(c, -share * vt_letters_width(c, text), size * 0.36);
    cairo_show_text(c, text);
    cairo_restore(c);
}

static void draw_names(const vt_heatmap *h, cairo_t *c)
{
    const vt_matrix *m = h->matrix;
    char text[VT_LETTERS];

    vt_letters_font(c, h->text);
    for (size_t i = 0; i < m->rows; i += h->each) {
        vt_letters_fit(text, c, m->row[i], NAME_MOST);
        put(c, h->left - GAP, h->top + ((double)i + 0.5) * h->cell, text, 1,
            h->text, false);
    }
    for (size_t k = 0; k < m->columns; k += h->each) {
        vt_letters_fit(text, c, m->column[k], NAME_MOST);
        put(c, h->left + ((double)k + 0.5) * h->cell, h->top - GAP, text, 0,
            h->text, true);
    }
}

static void draw_cell(const vt_heatmap *h, cairo_t *c, size_t i, size_t k,
                      double share)
{
    const unsigned count = h->matrix->count[i * h->matrix->columns + k];
    const double x = h->left + (double)k * h->cell;
    const double y = h->top + (double)i * h->cell;
    char text[16];

    /* from white to the blue of the charts */
    cairo_set_source_rgb(c, 1 - share, 1 - 0.553 * share, 1 - 0.302 * share);
    cairo_rectangle(c, x, y, h->cell, h->cell);
    cairo_fill(c);
    if (!h->counted || count == 0)
        return;
    /* a contrast of at least 4.5 */
    if (share > 0.93)
        cairo_set_source_rgb(c, 1, 1, 1);
    else
        cairo_set_source_rgb(c, 0, 0, 0);
    snprintf(text, sizeof text, "%u", count);
    put(c, x + h->cell / 2, y + h->cell / 2, text, 0.5, h->text, false);
}

static void draw_rows(const vt_heatmap *h, cairo_t *c)
{
    const vt_matrix *m = h->matrix;

    vt_letters_font(c, h->text);
    for (size_t i = 0; i < m->rows; i++) {
        double sum = 0;

        for (size_t k = 0; k < m->columns; k++)
            sum += m->count[i * m->columns + k];
        for (size_t k = 0; k < m->columns; k++)
            if (m->count[i * m->columns + k] > 0)
                draw_cell(h, c, i, k, m->count[i * m->columns + k] / sum);
    }
}

void vt_heatmap_draw(const vt_heatmap *h, cairo_t *c)
{
    const vt_matrix *m = h->matrix;
    const double wide = h->cell * (double)m->columns;
    const double high = h->cell * (double)m->rows;

    cairo_set_source_rgb(c, 1, 1, 1);
    cairo_paint(c);
    draw_rows(h, c);
    cairo_set_source_rgb(c, 0.6, 0.6, 0.6);
    cairo_set_line_width(c, 1);
    cairo_rectangle(c, h->left - 0.5, h->top - 0.5, wide + 1, high + 1);
    cairo_stroke(c);
    cairo_set_source_rgb(c, 0.1, 0.1, 0.1);
    draw_names(h, c);
    vt_letters_font(c, TEXT_MOST);
    put(c, h->left, PAD + LINE / 2, m->column_title, 0, TEXT_MOST, false);
    /* upwards, and ends at the top of the table */
    put(c, PAD + LINE / 2, h->top, m->row_title, 1, TEXT_MOST, true);
}
