/*
 * number.c - the C locale for one thread, for as long as a number takes.
 */
#include "base/number.h"

#include <stdarg.h>

locale_t vt_point_begin(void)
{
    /* All of "C" is one object that is always there: nothing is taken, nothing
     * has to be given back (glibc, musl). */
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
