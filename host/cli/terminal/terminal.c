/*
 * terminal.c - is a stream a terminal, and how wide is it?
 */
#define _GNU_SOURCE /* wcwidth */
#include "terminal.h"

#include "base/utf8.h"

#include <limits.h>
#include <locale.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

enum { NARROW = 60, WIDE = 80, MOST = 1000 };

bool is_terminal(FILE *f)
{
    static signed char known[2]; /* of stdout and stderr; a cache */
    signed char *k = &known[f == stderr];

    if (*k == 0)
        *k = isatty(fileno(f)) == 1 ? 1 : -1;
    return *k > 0;
}

int columns_of(FILE *f)
{
    const char *set = getenv("COLUMNS"); /* a serial line has no size */
    struct winsize size = {.ws_col = 0};
    long n;

    if (!is_terminal(f))
        return WIDE;
    if (ioctl(fileno(f), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    n = set ? strtol(set, NULL, 10) : 0;
    return n > 0 && n <= MOST ? (int)n : WIDE;
}

int text_columns(void)
{
    const int n = columns_of(stdout);

    return n < NARROW ? NARROW : n > WIDE ? WIDE : n;
}

int terminal_columns(void)
{
    return is_terminal(stdout) ? columns_of(stdout) : INT_MAX;
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
