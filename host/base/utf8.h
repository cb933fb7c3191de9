/*
 * utf8.h - characters of text from files, such as names of files and classes,
 * and how they are made fit to be shown.
 *
 * Cairo refuses what is not UTF-8, and control characters steer a terminal.
 */
#ifndef VT_BASE_UTF8_H
#define VT_BASE_UTF8_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The length of the character at text, of which `left` bytes are left; 0: it is
 * not well-formed (RFC 3629). */
size_t vt_utf8_length(const void *text, size_t left);
/* The same of text that ends with NUL. */
size_t vt_utf8_character(const char *text);
/* The most bytes of text, at most n, that end with a whole character. */
size_t vt_utf8_cut(const char *text, size_t n);
/* Is it well-formed as a whole? */
bool vt_utf8(const void *text, size_t size);
/* The code point of the character of n bytes. */
uint32_t vt_utf8_code(const char *text, size_t n);
/* Is this character of n bytes unsafe to show? C0, C1 and invalid UTF-8 (n = 0)
 * are, as in `ls`, and what turns the direction of the text, ends a line, or
 * hides text: U+061C, U+200E, U+200F, U+2028 to U+202E, U+2066 to U+206F, tags
 * (U+E0000 to U+E007F). */
bool vt_utf8_steers(const char *text, size_t n);
/* Writes text of at most `size` bytes; shown: what is unsafe as \ooo. */
void vt_utf8_put(FILE *f, const char *text, size_t size, bool shown);
/* Copies text (NULL: none) with U+FFFD in place of what is unsafe. False: it
 * was cut, after a whole character, because out has room for so many bytes. */
bool vt_utf8_clean(char *out, size_t room, const char *text);

#endif
