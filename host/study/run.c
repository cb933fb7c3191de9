/*
 * run.c - trains all runs of a study, some at a time.
 */
#include "base/memory.h"
#include "study/private.h"

#include <string.h>

enum { JOBS = 64 };

static void say(const vt_experiment *e, const char *line)
{
    if (e->options.say)
        e->options.say(e->options.context, line);
}

static bool stopped(const vt_experiment *e)
{
    return e->options.stop && e->options.stop(e->options.context);
}

/* Where `run` is after runs were listed again. */
static bool is_running(const vt_run_job *jobs, size_t count, const char *id)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(jobs[i].run->id, id) == 0)
            return true;
    return false;
}

typedef struct pool {
    vt_run_job job[JOBS];
    vt_run run[JOBS]; /* copies: the list may be made again */
    size_t count, most;
} pool;

static size_t done_runs(const vt_experiment *e)
{
    size_t n = 0;

    for (size_t i = 0; i < e->runs; i++)
        n += e->run[i].done;
    return n;
}

/* Fills the pool with runs that wait for nothing. */
static vitcl_status start_runs(pool *p, vt_experiment *e)
{
    for (size_t i = 0; i < e->runs && p->count < p->most; i++) {
        const vt_run *r = &e->run[i];
        char line[VT_RUN_NAME + 64];

        if (r->done || r->waits || is_running(p->job, p->count, r->id))
            continue;
        p->run[p->count] = *r;
        snprintf(line, sizeof line, "run %zu of %zu: %s", i + 1, e->runs,
                 r->name);
        say(e, line);
        VT_RET(vt_run_job_begin(&p->job[p->count], e, &p->run[p->count]));
        p->count++;
    }
    return VITCL_OK;
}

/* Removes the job at this place. */
static void leave(pool *p, size_t at)
{
    p->count--;
    if (at == p->count)
        return;
    p->run[at] = p->run[p->count];
    p->job[at] = p->job[p->count];
    p->job[at].run = &p->run[at];
}

static vitcl_status poll_runs(pool *p, vt_experiment *e)
{
    bool any = false;

    for (size_t i = p->count; i-- > 0;) {
        bool done;

        VT_RET(vt_run_job_poll(&done, &p->job[i], e));
        if (done)
            leave(p, i), any = true;
    }
    if (any)
        VT_RET(vt_experiment_list(e));
    else
        vt_process_pause();
    return VITCL_OK;
}

vitcl_status vt_experiment_run(vt_experiment *e)
{
    vitcl_status st;
    pool *p = NULL;

    if (e->study->measure)
        return e->study->measure(e);
    VT_TRY(VT_NEW(&p, 1));
    p->most = VT_MIN(VT_MAX(e->options.jobs, 1u), (uint32_t)JOBS);
    VT_TRY(vt_experiment_list(e));
    for (;;) {
        if (stopped(e))
            VT_TRY(vt_fail(VITCL_ESTOPPED, "stopped"));
        VT_TRY(start_runs(p, e));
        if (!p->count)
            break;
        VT_TRY(poll_runs(p, e));
    }
    if (done_runs(e) < e->runs)
        st = vt_fail(VITCL_EINVAL,
                     "study %s: %zu of %zu runs wait for what never comes",
                     e->study->name, e->runs - done_runs(e), e->runs);
done:
    for (size_t i = 0; p && i < p->count; i++)
        if (p->job[i].pid)
            vt_process_stop(p->job[i].pid);
    free(p);
    return st;
}
