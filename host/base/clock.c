/*
 * clock.c - time for measurements.
 */
#include "base/clock.h"

#include <time.h>

double vt_now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}
