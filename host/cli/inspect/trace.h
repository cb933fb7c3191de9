/*
 * trace.h - the steps of a run over time.
 */
#ifndef VT_CLI_TRACE_H
#define VT_CLI_TRACE_H
#include <vitcl.h>

/* Writes the steps of the last run, with the times that `profile` measured, for
 * chrome://tracing and Perfetto. Prints why not. */
int trace_write(const char *path, const vitcl_session *session,
                const char *model, const char *device);

#endif
