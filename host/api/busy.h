/*
 * busy.h - handles that one call at a time may use. A second call, of another
 * thread or of a callback, is refused before it mixes up the two.
 */
#ifndef VT_API_BUSY_H
#define VT_API_BUSY_H
#include "base/status.h"

#include <stdatomic.h>
#include <stdbool.h>

static inline vitcl_status vt_in_use(const char *function, const char *what)
{
    return vt_fail(VITCL_EBUSY,
                   "%s: the %s is in use, by another thread or by the call "
                   "that this callback belongs to",
                   function, what);
}

/* Returns what `call` returns, with handle->busy set meanwhile. */
#define VT_RETURN_ALONE(handle, what, call)                                    \
    do {                                                                       \
        vitcl_status alone_;                                                   \
                                                                               \
        if (atomic_exchange(&(handle)->busy, true))                            \
            return vt_in_use(__func__, what);                                  \
        alone_ = (call);                                                       \
        atomic_store(&(handle)->busy, false);                                  \
        return alone_;                                                         \
    } while (0)

#endif
