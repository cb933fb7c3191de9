/*
 * progress.c - the line on stderr that shows how far a command is.
 */
#include "fields.h"
#include "terminal.h"

#include <string.h>

void progress_start(progress *p, const char *what, uint64_t total)
{
    *p = (progress){
        .what = what, .total = total, .on = !is_quiet() && is_screen(stderr)};
    p->start = p->shown = now();
}

void progress_show(progress *p, uint64_t done, const char *text)
{
    const double t = now(), spent = t - p->start;
    const double rate = spent > 0 ? (double)done / spent : 0;
    const unsigned long long n = done, total = p->total;
    fields f = {0};

    if (!p->on || spent < 0.5 || (t - p->shown < 0.1 && done != p->total))
        return;
    p->shown = t, p->drawn = true;
    if (total)
        fields_add(&f, 0, p->what ? "%llu/%llu" : "%llu/%llu s", n, total);
    else
        fields_add(&f, 0, "%llu %.*s", n, (int)strlen(p->what) - (n == 1),
                   p->what);
    if (p->what)
        fields_add_rate(&f, 2, rate, p->what);
    if (p->what && total && rate > 0)
        fields_add_left(&f, 1, n < total ? (double)(total - n) / rate : 0);
    if (text)
        fields_add(&f, 3, "%s", text);
    fields_show(&f, done, total);
}

void progress_clear(progress *p)
{
    if (p->drawn)
        fields_clear();
    p->drawn = false;
}
