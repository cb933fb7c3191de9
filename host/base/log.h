/*
 * log.h - log lines about what is done and decided, for the callback of
 * vitcl_log_set(). Nothing is printed, and nothing is formatted without a
 * callback.
 */
#ifndef VT_BASE_LOG_H
#define VT_BASE_LOG_H
#include <stdbool.h>

/* Is there a callback? For information that is costly to collect. */
bool vt_logs(void);
/* Logs each line of the text. Does not change vt_message(). */
void vt_log(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Call in a child after fork(): another thread may have held the lock. */
void vt_log_forked(void);

#endif
