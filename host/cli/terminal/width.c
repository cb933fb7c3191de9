/*
 * width.c - how many columns of a terminal characters and texts take.
 */
#define _GNU_SOURCE /* wcwidth */
#include "base/utf8.h"
#include "terminal.h"

#include <limits.h>
#include <locale.h>
#include <wchar.h>

size_t text_length(const char *s)
{
    const size_t n = vt_utf8_character(s);

    return vt_utf8_steers(s, n) ? 0 : n;
}

int character_columns(const char *s)
{
    static locale_t utf8; /* the C library's table; its own locale has ASCII */
    locale_t before;
    int n;

    if ((unsigned char)s[0] < 0x80)
        return 1;
    if (!utf8)
        utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    if (!utf8)
        return 1;
    before = uselocale(utf8);
    n = wcwidth((wchar_t)vt_utf8_code(s, vt_utf8_character(s)));
    uselocale(before);
    return n < 0 ? 1 : n;
}

size_t fitting(const char *s, size_t size, int columns, int *used)
{
    size_t at = 0;

    *used = 0;
    while (at < size) {
        const size_t n = text_length(s + at);
        const int wide = n ? character_columns(s + at) : 4;

        if (*used + wide > columns)
            break;
        *used += wide;
        at += n ? n : 1;
    }
    return at;
}

int width_of(const char *s, size_t size)
{
    int used;

    fitting(s, size, INT_MAX, &used);
    for (size_t i = 0; i < size; i++)
        used -= s[i] == '\n' ? 3 : 0;
    return used;
}
