/*
 * number.h - numbers as files have them, whatever the host's locale says: where
 * that writes 0,5, printf and strtod do too, and nobody can read the JSON.
 */
#ifndef VT_BASE_NUMBER_H
#define VT_BASE_NUMBER_H
#include <locale.h>
#include <stddef.h>
#include <stdio.h>

/* printf and snprintf with a point in numbers. */
int vt_print(FILE *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int vt_snprint(char *out, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Between these, this thread's numbers have a point; others' are untouched. */
locale_t vt_point_begin(void);
void vt_point_end(locale_t before);

#endif
