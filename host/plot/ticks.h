/*
 * ticks.h - where an axis has its ticks, and what is written there.
 */
#ifndef VT_PLOT_TICKS_H
#define VT_PLOT_TICKS_H
#include <stdbool.h>
#include <stddef.h>

enum { VT_TICK_ROOM = 32 }; /* for a label */

typedef struct vt_ticks {
    double from, to; /* ends of the axis */
    double first, step;
    int count;
} vt_ticks;

/* Chooses a step of 1, 2 or 5 times a power of ten, with at most `most`
 * intervals (at least 2). widen: the axis then begins and ends at a tick. With
 * `whole` the step is a whole number. Ends are finite, |v| <= 1e100. */
void vt_ticks_choose(vt_ticks *out, double from, double to, int most,
                     bool whole, bool widen);
double vt_ticks_at(const vt_ticks *t, int index);
/* All labels of an axis have equally many decimals. */
void vt_ticks_label(char out[VT_TICK_ROOM], const vt_ticks *t, int index);

#endif
