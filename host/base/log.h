/*
 * log.h - what is done and decided, a line at a time, for whoever listens
 * (vitcl_set_log()). It never prints, and formats nothing for nobody.
 */
#ifndef VT_BASE_LOG_H
#define VT_BASE_LOG_H
#include <stdbool.h>

/* Does anybody listen? For what is only worth finding out then. */
bool vt_logs(void);
/* One line a call, or each line of a longer text. Leaves vt_message() alone. */
void vt_log(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* In a child of ours by fork(): another thread may have held the lock. */
void vt_log_forked(void);

#endif
