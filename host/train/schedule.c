/*
 * schedule.c - the learning rate: warm-up, then decay.
 */
#include "train/schedule.h"

#include <math.h>

double vt_learning_rate(const vt_schedule *s, long step)
{
    double t;

    if (step < s->warmup)
        return s->lr * (double)(step + 1) / (double)s->warmup;
    if (s->decay == VT_CONSTANT || s->steps <= s->warmup + 1)
        return s->lr;
    t = (double)(step - s->warmup) / (double)(s->steps - s->warmup - 1);
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    if (s->decay == VT_COSINE)
        t = 0.5 - 0.5 * cos(3.141592653589793 * t);
    return s->lr + (s->floor - s->lr) * t;
}
