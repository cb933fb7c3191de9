/*
 * fields.c - fits a line on stderr into the terminal's width.
 */
#include "fields.h"

#include "terminal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BETWEEN = 2, BAR = 30, BAR_LEAST = 10, BAR_FRAME = 4 };

field *fields_add(fields *f, int rank, const char *format, ...)
{
    field *x = &f->at[f->count++];
    va_list args;

    va_start(args, format);
    vsnprintf(x->text[0], FIELD_ROOM, format, args);
    va_end(args);
    memcpy(x->text[1], x->text[0], FIELD_ROOM);
    x->rank = rank;
    return x;
}

void fields_add_rate(fields *f, int rank, double rate, const char *what)
{
    const int decimals = rate < 9.95 ? 1 : 0;
    field *x;

    if (!(rate > 0))
        return;
    x = fields_add(f, rank, "%.*f", decimals, rate);
    if (strcmp(x->text[0], "1.0") == 0)
        snprintf(x->text[0], FIELD_ROOM, "1 %.*s/s",
                 (int)strlen(what) - (what[strlen(what) - 1] == 's'), what);
    else
        snprintf(x->text[0], FIELD_ROOM, "%.*f %s/s", decimals, rate, what);
    if (strcmp(what, "pictures") == 0)
        snprintf(x->text[1], FIELD_ROOM, "%.*f/s", decimals, rate);
    else
        memcpy(x->text[1], x->text[0], FIELD_ROOM);
}

void fields_add_left(fields *f, int rank, double seconds)
{
    const double s = seconds + 0.5;

    if (seconds < 0)
        return;
    if (s < 3600)
        fields_add(f, rank, "%d:%02d left", (int)s / 60, (int)s % 60);
    else if (s < 100 * 3600.0)
        fields_add(f, rank, "%d:%02d:%02d left", (int)s / 3600,
                   (int)s / 60 % 60, (int)s % 60);
    else
        fields_add(f, rank, "%.0f days left", s / 86400);
}

/* ---- fitting ---- */

static size_t width(const fields *f)
{
    size_t n = 0;

    for (size_t i = 0; i < f->count; i++)
        if (f->at[i].form < 2)
            n += (n ? BETWEEN : 0u) + strlen(f->at[i].text[f->at[i].form]);
    return n;
}

/* The last column stays free, so that the cursor does not wrap. */
int fields_columns(void)
{
    const int n = columns_of(stderr);

    return n > 1 ? n - 1 : 1;
}

void fields_fit(fields *f)
{
    const size_t columns = (size_t)fields_columns();

    for (int form = 1; form <= 2; form++)
        while (width(f) > columns) {
            field *last = NULL;

            for (size_t i = 0; i < f->count; i++)
                if (f->at[i].form < form && f->at[i].rank > 0 &&
                    (!last || f->at[i].rank > last->rank))
                    last = &f->at[i];
            if (!last)
                break;
            last->form = form;
        }
}

void fields_join(char out[FIELDS_WIDE], const fields *f, const char *after,
                 const char *between)
{
    size_t n = 0, shown = 0;

    out[0] = '\0';
    for (size_t i = 0; i < f->count && n < FIELDS_WIDE; i++)
        if (f->at[i].form < 2) {
            n += (size_t)snprintf(out + n, FIELDS_WIDE - n, "%s%s",
                                  shown == 0   ? ""
                                  : shown == 1 ? after
                                               : between,
                                  f->at[i].text[f->at[i].form]);
            shown++;
        }
}

/* ---- the line that changes ---- */

static void put_bar(uint64_t done, uint64_t total, size_t space)
{
    char bar[BAR + 1];
    const size_t n = space < BAR + BAR_FRAME ? space - BAR_FRAME : BAR;
    const double share = (double)done / (double)total;

    memset(bar, '-', n), bar[n] = '\0';
    memset(bar, '#', (size_t)((double)n * (share < 1 ? share : 1)));
    fprintf(stderr, "[%s]  ", bar);
}

void fields_show(fields *f, uint64_t done, uint64_t total)
{
    const size_t columns = (size_t)fields_columns();
    char text[FIELDS_WIDE];

    fields_fit(f);
    fields_join(text, f, "  ", "  ");
    fields_clear();
    if (total && strlen(text) + BAR_LEAST + BAR_FRAME <= columns)
        put_bar(done, total, columns - strlen(text));
    fprintf(stderr, "%.*s", (int)columns, text);
    fflush(stderr);
}

void fields_clear(void)
{
    fprintf(stderr, "\r\033[K");
}
