/*
 * letters.c - Cairo measures a text, which is cut until it fits.
 */
#include "plot/letters.h"

#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

void vt_letters_font(cairo_t *c, double size)
{
    cairo_select_font_face(c, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                           CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(c, size);
}

double vt_letters_width(cairo_t *c, const char *text)
{
    cairo_text_extents_t e;

    cairo_text_extents(c, text, &e);
    return e.x_advance;
}

double vt_letters_fit(char out[VT_LETTERS], cairo_t *c, const char *text,
                      double most)
{
    static const char dots[] = "\xE2\x80\xA6"; /* U+2026 */
    char clean[VT_LETTERS - sizeof dots + 1];
    bool cut = !vt_utf8_clean(clean, sizeof clean, text);
    size_t n = strlen(clean);

    for (;;) {
        double width;

        snprintf(out, VT_LETTERS, "%.*s%s", (int)n, clean, cut ? dots : "");
        width = vt_letters_width(c, out);
        if (width <= most || n == 0)
            return width;
        cut = true;
        n = vt_utf8_cut(clean, n - 1);
    }
}
