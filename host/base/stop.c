/*
 * stop.c - the flag of stop.h.
 */
#include "base/stop.h"

volatile sig_atomic_t vt_stop_asked;
