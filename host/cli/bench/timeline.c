/*
 * timeline.c - where the time of a whole run goes: bench --timeline.
 */
#include "api/program.h"

#include "cli/bench/timeline.h"

#include <stdio.h>
#include <string.h>

/* Keeps the largest ones. */
static void add_gap(timeline *t, const vt_step_info *s, uint32_t step,
                    double ms)
{
    int at = t->count < TIMELINE_GAPS ? t->count++ : TIMELINE_GAPS;

    while (at > 0 && t->gaps[at - 1].ms < ms) {
        if (at < TIMELINE_GAPS)
            t->gaps[at] = t->gaps[at - 1];
        at--;
    }
    if (at == TIMELINE_GAPS)
        return;
    t->gaps[at] = (gap){.ms = ms, .step = step};
    snprintf(t->gaps[at].name, sizeof t->gaps[at].name, "%s", s->name);
    snprintf(t->gaps[at].op, sizeof t->gaps[at].op, "%s", s->op);
}

void timeline_read(timeline *t, const vitcl_session *session, double run_ms)
{
    vt_step_info s;
    double end = 0;

    *t = (timeline){.run_ms = run_ms};
    for (uint32_t i = 0; vt_session_step(&s, session, i); i++) {
        double ms = 0;

        if (s.to_ms <= 0)
            continue; /* it launched nothing */
        if (t->steps++ == 0)
            t->first_ms = s.from_ms;
        else
            ms = s.from_ms - end;
        ms += s.to_ms - s.from_ms - s.time_ms;
        add_gap(t, &s, i, ms);
        t->kernels_ms += s.time_ms;
        end = s.to_ms;
    }
    t->gaps_ms = end - t->first_ms - t->kernels_ms;
    t->rest_ms = run_ms - end;
}

void timeline_print(const timeline *t)
{
    if (t->steps == 0) {
        puts("timeline    the driver gives no times of a whole run");
        return;
    }
    put_cells("timeline    %.3f ms: %.3f until the first kernel began, %.3f in "
              "kernels, %.3f between them, %.3f on the host before and after",
              t->run_ms, t->first_ms, t->kernels_ms, t->gaps_ms, t->rest_ms);
    printf("\n%-9s %5s  %s\n", "gap, ms", "step", "before or in");
    for (int i = 0; i < t->count; i++)
        put_cells("%9.3f %5u  %s %s", t->gaps[i].ms, t->gaps[i].step,
                  t->gaps[i].op, t->gaps[i].name);
    putchar('\n');
}

void timeline_json(const timeline *t)
{
    json_put("timeline:{run_ms:%.4f first_ms:%.4f kernels_ms:%.4f gaps_ms:%.4f "
             "rest_ms:%.4f steps:%u gaps:[",
             t->run_ms, t->first_ms, t->kernels_ms, t->gaps_ms, t->rest_ms,
             (unsigned)t->steps);
    for (int i = 0; i < t->count; i++)
        json_put("{ms:%.4f step:%u op:%s name:%s}", t->gaps[i].ms,
                 (unsigned)t->gaps[i].step, t->gaps[i].op, t->gaps[i].name);
    json_put("]}");
}
