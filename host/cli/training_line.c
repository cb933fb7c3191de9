/*
 * training_line.c - fits what a training reports into the terminal's width.
 *
 * A line has fields. Where it is too wide, fields take their short form, then
 * they are left out, the least important first. The rate and the time left
 * begin after the first step, which compiles kernels.
 */
#include "training_line.h"

#include "cmd.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { FIELDS = 10, ROOM = 64, WIDE = 400, BAR = 30, BAR_LEAST = 10 };

typedef struct field {
    char text[2][ROOM]; /* long and short */
    int form;           /* 0, 1, or 2: left out */
    int rank;           /* the largest goes first */
} field;

typedef struct fields {
    field at[FIELDS];
    size_t count;
} fields;

static __attribute__((format(printf, 3, 4))) field *add(fields *f, int rank,
                                                        const char *format, ...)
{
    field *x = &f->at[f->count++];
    va_list args;

    va_start(args, format);
    vsnprintf(x->text[0], ROOM, format, args);
    va_end(args);
    memcpy(x->text[1], x->text[0], ROOM);
    x->rank = rank;
    return x;
}

/* A share as a percentage, with another name in the short form. */
static void add_share(fields *f, int rank, const char *name, const char *brief,
                      double share, int decimals)
{
    field *x = add(f, rank, "%s %.*f %%", name, decimals, 100 * share);

    snprintf(x->text[1], ROOM, "%s %.*f %%", brief, decimals, 100 * share);
}

static void add_rate(fields *f, int rank, double rate)
{
    const int decimals = rate < 9.95 ? 1 : 0;
    field *x;

    if (!(rate > 0))
        return;
    x = add(f, rank, "%.*f pictures/s", decimals, rate);
    if (strcmp(x->text[0], "1.0 pictures/s") == 0)
        snprintf(x->text[0], ROOM, "1 picture/s");
    snprintf(x->text[1], ROOM, "%.*f/s", decimals, rate);
}

/* ---- fitting ---- */

static size_t width(const fields *f, size_t between)
{
    size_t n = 0;

    for (size_t i = 0; i < f->count; i++)
        if (f->at[i].form < 2)
            n += (n ? between : 0) + strlen(f->at[i].text[f->at[i].form]);
    return n;
}

/* 0: no limit. The field of rank 0 always stays. */
static void fit(fields *f, size_t columns, size_t between)
{
    for (int form = 1; form <= 2; form++)
        while (columns && width(f, between) > columns) {
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

/* after: what is between the first field and the next one. */
static void join(char *out, size_t size, const fields *f, const char *after,
                 const char *between)
{
    size_t n = 0, shown = 0;

    out[0] = '\0';
    for (size_t i = 0; i < f->count && n < size; i++)
        if (f->at[i].form < 2) {
            n += (size_t)snprintf(out + n, size - n, "%s%s",
                                  shown == 0   ? ""
                                  : shown == 1 ? after
                                               : between,
                                  f->at[i].text[f->at[i].form]);
            shown++;
        }
}

/* Columns that a line may have: the last one stays free, so that the cursor
 * does not wrap. */
static size_t room(void)
{
    const char *set = getenv("COLUMNS");
    struct winsize w = {0};
    long n;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 1)
        return w.ws_col - 1u;
    n = set ? strtol(set, NULL, 10) : 0;
    return n > 1 && n < WIDE ? (size_t)n - 1 : 79;
}

/* ---- the line that changes ---- */

void training_line_start(training_line *t)
{
    *t = (training_line){.on = is_terminal(stderr), .start = now()};
}

void training_line_clear(training_line *t)
{
    if (t->drawn)
        fprintf(stderr, "\r\033[K");
    t->drawn = false;
}

/* The time that the remaining steps take; negative: unknown. */
static double time_left(const training_line *t, const vitcl_train_event *e,
                        double spent)
{
    if (e->step <= t->first)
        return -1;
    return spent * (double)(e->steps - e->step) / (double)(e->step - t->first);
}

static void add_left(fields *f, int rank, double seconds)
{
    const double s = seconds + 0.5;

    if (seconds < 0)
        return;
    if (s < 3600)
        add(f, rank, "%d:%02d left", (int)s / 60, (int)s % 60);
    else if (s < 100 * 3600.0)
        add(f, rank, "%d:%02d:%02d left", (int)s / 3600, (int)s / 60 % 60,
            (int)s % 60);
    else
        add(f, rank, "%.0f days left", s / 86400);
}

/* In front, as far as there is room. */
static void put_bar(const vitcl_train_event *e, size_t space)
{
    char bar[BAR + 1];
    const size_t n = space < BAR + 4 ? space - 4 : BAR;

    if (space < BAR_LEAST + 4)
        return;
    memset(bar, '-', n), bar[n] = '\0';
    memset(bar, '#', (size_t)((double)n * (double)e->step / (double)e->steps));
    fprintf(stderr, "[%s]  ", bar);
}

void training_line_show(training_line *t, const vitcl_train_event *e)
{
    const double at = now(), spent = at - t->start;
    const size_t columns = room();
    char text[WIDE];
    fields f = {0};

    if (!t->first) {
        t->first = e->step;
        t->start = at;
    } else
        t->pictures += e->pictures;
    t->rate = t->pictures && spent > 0 ? (double)t->pictures / spent : 0;
    if (!t->on || (at - t->shown < 0.1 && e->step < e->steps))
        return;
    t->shown = at, t->drawn = true;
    add(&f, 1, "epoch %u/%u", e->epoch, e->epochs);
    add(&f, 0, "loss %.4f", e->epoch_loss);
    add_share(&f, 3, "accuracy", "acc", e->epoch_accuracy, 1);
    add(&f, 5, "lr %.1e", e->lr);
    add_rate(&f, 4, t->rate);
    add_left(&f, 2, time_left(t, e, spent));
    fit(&f, columns, 2);
    join(text, sizeof text, &f, "  ", "  ");
    fprintf(stderr, "\r\033[K");
    if (strlen(text) < columns)
        put_bar(e, columns - strlen(text));
    fprintf(stderr, "%.*s", (int)columns, text);
    fflush(stderr);
}

/* ---- the line of an epoch ---- */

void training_line_epoch(training_line *t, const vitcl_train_event *e)
{
    char text[WIDE];
    fields f = {0};

    training_line_clear(t);
    add(&f, 1, "epoch %u/%u", e->epoch, e->epochs);
    add(&f, 0, "loss %.4f", e->epoch_loss);
    add_share(&f, 4, "accuracy", "acc", e->epoch_accuracy, 1);
    if (e->scored) {
        add(&f, 5, "held-out loss %.4f", e->held_out_loss);
        add_share(&f, 2, "held-out accuracy", "held-out", e->held_out_accuracy,
                  2);
        if (!isnan(e->held_out_top5))
            add_share(&f, 6, "top-5", "top-5", e->held_out_top5, 2);
        if (e->best)
            add(&f, 3, "best");
    }
    add(&f, 8, "lr %.1e", e->lr);
    add_rate(&f, 7, t->rate);
    if (t->on)
        fit(&f, room(), 2);
    join(text, sizeof text, &f, ": ", ", ");
    if (t->on)
        fprintf(stderr, "%.*s\n", (int)room(), text);
    else
        note("%s", text);
}
