/*
 * layout.c - words wrapped to the width of the terminal.
 */
#include "terminal.h"

#include <stdarg.h>
#include <string.h>

/* The word at s, and those behind it that no line may begin with: at its
 * beginning "--json" would look like the row of an option. */
static size_t unit_at(const char *s)
{
    size_t n = strcspn(s, " \n");

    for (;;) {
        const size_t gap = strspn(s + n, " \n");

        if (s[n + gap] != '-' || (s[n] == '\n' && s[n + 1] == '\n'))
            return n;
        n += gap + strcspn(s + n + gap, " \n");
    }
}

/* A newline within it is a space. */
static void put_unit(const char *s, size_t n)
{
    while (n > 0) {
        const char *end = memchr(s, '\n', n);
        const size_t part = end ? (size_t)(end - s) : n;

        put_text(s, part);
        if (end)
            putchar(' ');
        s += part + (end != NULL);
        n -= part + (end != NULL);
    }
}

void put_wrapped(const char *text, int at, int indent, int columns)
{
    int used = at;

    for (const char *s = text; *s;) {
        const size_t gap = strspn(s, " \n"), n = unit_at(s + gap);
        const int wide = width_of(s + gap, n);
        const bool paragraph = s[0] == '\n' && s[1] == '\n';

        if (n == 0)
            break;
        if (paragraph || (s > text && used + 1 + wide > columns)) {
            printf("%s\n%*s", paragraph ? "\n" : "", indent, "");
            used = indent;
        } else if (s > text) {
            putchar(' ');
            used++;
        }
        put_unit(s + gap, n);
        used += wide;
        s += gap + n;
    }
    putchar('\n');
}

void put_cells(const char *format, ...)
{
    enum { INDENT = 4 };
    const int columns = terminal_columns();
    char text[1024];
    va_list args;
    int used = 0;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (const char *s = text; *s;) {
        size_t gap = strspn(s, " ");
        const size_t n = strcspn(s + gap, " ");
        const int wide = width_of(s + gap, n);

        if (n == 0)
            break;
        s += gap;
        if (used > INDENT && used + (int)gap + wide > columns) {
            putchar('\n');
            used = 0, gap = INDENT;
        }
        printf("%*s", (int)gap, "");
        put_text(s, n);
        used += (int)gap + wide;
        s += n;
    }
    putchar('\n');
}

void put_both(FILE *also, const char *format, ...)
{
    va_list args, again;

    va_start(args, format);
    va_copy(again, args);
    vprintf(format, args);
    fflush(stdout);
    if (also)
        vfprintf(also, format, again);
    va_end(again);
    va_end(args);
}
