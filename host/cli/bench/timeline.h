/*
 * timeline.h - where the time of a whole run goes: bench --timeline.
 *
 * Kernels are enqueued as in any run, and their times are read afterwards: the
 * sum of the kernels in a row, and the gaps between them. A step of several
 * kernels counts as one; its gaps are its own.
 */
#ifndef VT_CLI_BENCH_TIMELINE_H
#define VT_CLI_BENCH_TIMELINE_H
#include "cli/setup/setup.h"

enum { TIMELINE_GAPS = 10 };

typedef struct gap {
    double ms;
    uint32_t step; /* the gaps before it and in it */
    char name[112], op[24];
} gap;

typedef struct timeline {
    double run_ms;     /* on the host, from the call to the answers */
    double first_ms;   /* until the first kernel began */
    double kernels_ms; /* all, added up */
    double gaps_ms;    /* between the first and the last, added up */
    double rest_ms;    /* what the host took in addition */
    uint32_t steps;
    gap gaps[TIMELINE_GAPS]; /* the largest, in descending order */
    int count;
} timeline;

/* Of the last run of a session with profile 2, which took run_ms. */
void timeline_read(timeline *t, const vitcl_session *session, double run_ms);
void timeline_print(const timeline *t);
void timeline_json(const timeline *t); /* an object */

#endif
