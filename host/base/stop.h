/*
 * stop.h - a flag by which a program asks for the end of long work on texts.
 *
 * The handler of a signal may set it. It stays set.
 */
#ifndef VT_BASE_STOP_H
#define VT_BASE_STOP_H
#include "base/status.h"

#include <signal.h>

extern volatile sig_atomic_t vt_stop_asked;

/* For loops over texts and vocabularies. */
static inline vitcl_status vt_stop_look(void)
{
    return vt_stop_asked ? vt_fail(VITCL_ESTOPPED, "stopped") : VITCL_OK;
}

#endif
