/*
 * ticks.c - choose ticks at round numbers.
 */
#include "plot/ticks.h"

#include <math.h>
#include <stdio.h>

/* The next larger one of 1, 2, 5, 10, 20, 50, .. times a power of ten. */
static double next_step(double step)
{
    const double power = pow(10, floor(log10(step) + 1e-9));
    const double digit = round(step / power);

    return power * (digit < 2 ? 2 : digit < 5 ? 5 : 10);
}

void vt_ticks_choose(vt_ticks *out, double from, double to, int most,
                     bool whole, bool widen)
{
    vt_ticks t = {.from = from, .to = to};
    const double size = fmax(fabs(from), fabs(to));
    double first, last;

    if (!(to - from > fmax(1e-9 * size, 1e-100))) {
        /* one value, or hardly more: around it */
        const bool near = size < (whole ? 1e9 : 1e-100);
        const double half = near ? 1 : size / 2;

        t.from = from >= 0 ? fmax(from - half, 0) : from - half;
        t.to = to + half;
    }
    most = most < 2 ? 2 : most; /* -1, 0 and 1 */
    t.step = pow(10, floor(log10((t.to - t.from) / most)));
    if (whole)
        t.step = fmax(t.step, 1);
    for (;; t.step = next_step(t.step)) {
        /* a little less or more, against rounding */
        first = widen ? floor(t.from / t.step + 1e-6)
                      : ceil(t.from / t.step - 1e-6);
        last = widen ? ceil(t.to / t.step - 1e-6) : floor(t.to / t.step + 1e-6);
        if (last - first <= most)
            break;
    }
    if (widen && last <= first) /* a step of 1, but far less to show */
        last = first + 1;
    t.first = first * t.step;
    t.count = last < first ? 0 : (int)(last - first) + 1;
    if (widen) {
        t.from = t.first;
        t.to = last * t.step;
    }
    *out = t;
}

double vt_ticks_at(const vt_ticks *t, int index)
{
    const double v = t->first + index * t->step;

    return fabs(v) < t->step / 2 ? 0 : v; /* no -0 */
}

void vt_ticks_label(char out[VT_TICK_ROOM], const vt_ticks *t, int index)
{
    const double most = fmax(fabs(t->from), fabs(t->to));
    const int decimals = (int)ceil(-log10(t->step) - 1e-9);

    if (most < 1e7 && decimals <= 6)
        snprintf(out, VT_TICK_ROOM, "%.*f", decimals > 0 ? decimals : 0,
                 vt_ticks_at(t, index));
    else
        snprintf(out, VT_TICK_ROOM, "%.*g",
                 (int)fmin(1 + ceil(log10(most / t->step)), 16),
                 vt_ticks_at(t, index));
}
