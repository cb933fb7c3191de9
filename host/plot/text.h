/*
 * text.h - names of files, and text from files, such as the names of classes,
 * made fit to be shown.
 *
 * Cairo refuses what is not UTF-8, and control characters steer a terminal.
 */
#ifndef VT_PLOT_TEXT_H
#define VT_PLOT_TEXT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The length of the UTF-8 character at text, which ends with NUL; 0: it is none
 * (RFC 3629). */
size_t vt_text_character(const char *text);
/* Is this character of n bytes unsafe to show? C0, C1 and invalid UTF-8 (n = 0)
 * are, as in `ls`, and what turns the direction of the text or ends a line:
 * U+2028 to U+202E, U+2066 to U+2069. */
bool vt_text_steers(const char *text, size_t n);
/* Copies text (NULL: none) with U+FFFD in place of what is unsafe. False: it
 * was cut, after a whole character, because out has room for so many bytes. */
bool vt_text_clean(char *out, size_t room, const char *text);
/* A JSON string, with U+FFFD in place of what is not UTF-8; what is unsafe to
 * show is escaped. */
void vt_text_json(FILE *f, const char *text);
/* Does s end like this, with something before it? */
bool vt_text_ends(const char *s, const char *ending);

#endif
