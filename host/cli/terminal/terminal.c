/*
 * terminal.c - is a stream a terminal, and how wide is it?
 */
#include "terminal.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { NARROW = 60, WIDE = 80, MOST = 1000 };

bool is_terminal(FILE *f)
{
    static signed char known[2]; /* of stdout and stderr; a cache */
    signed char *k = &known[f == stderr];

    if (*k == 0)
        *k = isatty(fileno(f)) == 1 ? 1 : -1;
    return *k > 0;
}

bool is_screen(FILE *f)
{
    const char *term = getenv("TERM");

    return is_terminal(f) && term && *term && strcmp(term, "dumb") != 0;
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
