/*
 * training_line.c - the lines of a training. The rate and the time left begin
 * after the first step, which compiles kernels.
 */
#include "training_line.h"

#include "cli/terminal/fields.h"
#include "cli/terminal/terminal.h"

#include <math.h>

/* A share as a percentage, with another name in the short form. */
static void add_share(fields *f, int rank, const char *name, const char *brief,
                      double share, int decimals)
{
    field *x = fields_add(f, rank, "%s %.*f %%", name, decimals, 100 * share);

    snprintf(x->text[1], FIELD_ROOM, "%s %.*f %%", brief, decimals,
             100 * share);
}

/* ---- the line that changes ---- */

void training_line_start(training_line *t)
{
    *t = (training_line){.on = is_screen(stderr), .start = now()};
}

void training_line_clear(training_line *t)
{
    if (t->drawn)
        fields_clear();
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

static void add_rate(fields *f, int drop, double lr)
{
    if (lr == 0)
        fields_add(f, drop, "lr 0");
    else
        fields_add(f, drop, "lr %.1e", lr);
}

void training_line_show(training_line *t, const vitcl_train_event *e)
{
    const double at = now(), spent = at - t->start;
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
    fields_add(&f, 1, "epoch %u/%u", e->epoch, e->epochs);
    fields_add(&f, 0, "loss %.4f", e->epoch_loss);
    add_share(&f, 3, "accuracy", "acc", e->epoch_accuracy, 1);
    add_rate(&f, 5, e->lr);
    fields_add_rate(&f, 4, t->rate, "pictures");
    fields_add_left(&f, 2, time_left(t, e, spent));
    fields_show(&f, e->step, e->steps);
}

/* ---- the line of an epoch ---- */

void training_line_epoch(training_line *t, const vitcl_train_event *e)
{
    char text[FIELDS_WIDE];
    fields f = {0};

    training_line_clear(t);
    fields_add(&f, 1, "epoch %u/%u", e->epoch, e->epochs);
    fields_add(&f, 0, "loss %.4f", e->epoch_loss);
    add_share(&f, 4, "accuracy", "acc", e->epoch_accuracy, 1);
    if (e->scored) {
        fields_add(&f, 5, "held-out loss %.4f", e->held_out_loss);
        add_share(&f, 2, "held-out accuracy", "held-out", e->held_out_accuracy,
                  2);
        if (!isnan(e->held_out_top5))
            add_share(&f, 6, "top-5", "top-5", e->held_out_top5, 2);
        if (e->best)
            fields_add(&f, 3, "best");
    }
    add_rate(&f, 8, e->lr);
    fields_add_rate(&f, 7, t->rate, "pictures");
    if (t->on)
        fields_fit(&f);
    fields_join(text, &f, ": ", ", ");
    if (t->on)
        fprintf(stderr, "%.*s\n", fields_columns(), text);
    else
        note("%s", text);
}
