/*
 * letters.h - texts of a drawing; for the module only.
 */
#ifndef VT_PLOT_LETTERS_H
#define VT_PLOT_LETTERS_H
#include <cairo.h>

void vt_letters_font(cairo_t *c, double size);
double vt_letters_width(cairo_t *c, const char *text);
/* out: the text, cleaned, or as much of it as fits into `most` pixels and an
 * ellipsis. Returns its width. */
enum { VT_LETTERS = 256 };
double vt_letters_fit(char out[VT_LETTERS], cairo_t *c, const char *text,
                      double most);

#endif
