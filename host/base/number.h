/*
 * number.h - numbers in files, independent of the host's locale: in a locale
 * with a decimal comma, printf and strtod use it too, which breaks JSON.
 */
#ifndef VT_BASE_NUMBER_H
#define VT_BASE_NUMBER_H
#include <locale.h>
#include <stddef.h>
#include <stdio.h>

/* printf and snprintf with a decimal point. */
int vt_print(FILE *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int vt_snprint(char *out, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Between begin and end, this thread uses a decimal point; other threads are
 * not affected. */
locale_t vt_point_begin(void);
void vt_point_end(locale_t before);

#endif
