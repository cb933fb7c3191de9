/*
 * refused.c - what is said about matrix units that have lost their trials.
 *
 * Who has such a unit expects its speed, so each is named once, when it was
 * tried, and not only in the log.
 */
#include "units/units.h"

#include <stdio.h>
#include <string.h>

/* Only products need a faster unit. Attention on one may well be slower, and
 * has other kernels then. */
void vt_mma_lost(const vt_dev *dev, const vt_question *q, const vt_known *k)
{
    vt_units *u = vt_units_of(dev);
    const bool slower = strcmp(k->why, q->slower) == 0,
               wrong = strcmp(k->why, "wrong") == 0;

    if (k->lost >= VT_MMA_DOT8 || u->refusals == VT_REFUSALS ||
        (slower && strcmp(q->request, "unit") != 0))
        return;
    snprintf(u->refused[u->refusals++], sizeof u->refused[0],
             "%.60s: %s in %s do without the matrix unit %s, by slower "
             "kernels, because in its trial it %s%s (-v says more; a newer "
             "driver may help)",
             vt_dev_info(dev)->name, q->work, q->type,
             strcmp(q->request, "groups") == 0 ? "wgmma" : q->name(k->lost),
             slower  ? "was slower than they"
             : wrong ? "computed wrong results"
                     : "failed: ",
             slower || wrong ? "" : k->why);
}

bool vt_mma_refused(char *out, size_t size, vt_dev *dev)
{
    vt_units *u = vt_units_of(dev);
    vt_turn turn;
    bool yes;

    vt_verdict_turn(&turn, dev, "units");
    yes = u->said < u->refusals;
    if (yes)
        snprintf(out, size, "%s", u->refused[u->said++]);
    vt_turn_end(&turn);
    return yes;
}
