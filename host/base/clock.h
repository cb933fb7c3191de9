/*
 * clock.h - time for measurements.
 */
#ifndef VT_BASE_CLOCK_H
#define VT_BASE_CLOCK_H

/* Milliseconds of a clock that is never set. */
double vt_now_ms(void);

#endif
