/*
 * number.c - switch one thread to the C locale while it formats a number.
 */
#include "base/number.h"

#include <stdarg.h>

locale_t vt_point_begin(void)
{
    /* LC_ALL_MASK with "C" gives a static object (glibc, musl): nothing is
     * allocated, nothing has to be freed. */
    const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);

    return c ? uselocale(c) : (locale_t)0;
}

void vt_point_end(locale_t before)
{
    if (before)
        uselocale(before);
}

int vt_print(FILE *f, const char *format, ...)
{
    const locale_t before = vt_point_begin();
    va_list args;
    int n;

    va_start(args, format);
    n = vfprintf(f, format, args);
    va_end(args);
    vt_point_end(before);
    return n;
}

int vt_snprint(char *out, size_t size, const char *format, ...)
{
    const locale_t before = vt_point_begin();
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(out, size, format, args);
    va_end(args);
    vt_point_end(before);
    return n;
}
