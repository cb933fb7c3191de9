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
 * are, as in `ls`, and what turns the direction of the text, ends a line, or
 * hides text: U+061C, U+200E, U+200F, U+2028 to U+202E, U+2066 to U+206F, tags
 * (U+E0000 to U+E007F). */
bool vt_text_steers(const char *text, size_t n);
/* Writes text of at most `size` bytes; shown: what is unsafe as \ooo. */
void vt_text_put(FILE *f, const char *text, size_t size, bool shown);
/* Copies text (NULL: none) with U+FFFD in place of what is unsafe. False: it
 * was cut, after a whole character, because out has room for so many bytes. */
bool vt_text_clean(char *out, size_t room, const char *text);
/* A JSON string, with U+FFFD in place of what is not UTF-8; what is unsafe to
 * show is escaped. */
void vt_text_json(FILE *f, const char *text);
/* A field of a table for spreadsheets (RFC 4180). One that would be a formula
 * is made plain: a path, by ./ before it, names the same file; other text gets
 * an apostrophe. shown: as above. */
typedef enum { VT_CSV_PATH, VT_CSV_TEXT } vt_csv;
void vt_text_csv(FILE *f, const char *text, vt_csv kind, bool shown);
void vt_text_base64(FILE *f, const void *data, size_t size);
/* "KEY":PATH; where vt_text_json() has to replace bytes of the path, also
 * "BYTES":"its bytes in base64". */
void vt_text_json_path(FILE *f, const char *key, const char *bytes,
                       const char *path);
/* Does s end like this, with something before it? */
bool vt_text_ends(const char *s, const char *ending);

#endif
