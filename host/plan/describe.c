/*
 * describe.c - log a summary of a plan: one line for each kernel with its
 * number of steps, and one line of totals.
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "plan/plan.h"

#include <string.h>

/* Does an earlier step have the same op and note? */
static bool told(const vt_plan *p, int at)
{
    const vt_step *s = vt_plan_step(p, at);

    for (int i = 0; i < at; i++) {
        const vt_step *t = vt_plan_step(p, i);

        if (t->op == s->op && strcmp(t->note, s->note) == 0)
            return true;
    }
    return false;
}

unsigned vt_plan_launches(const vt_plan *p)
{
    unsigned n = 0;

    for (int i = 0; i < vt_plan_steps(p); i++) {
        const vt_step *s = vt_plan_step(p, i);

        if (s->passed)
            continue;
        for (size_t k = 0; k < VT_COUNT(s->kernel); k++)
            n += s->kernel[k] ? vt_kernel_launches(s->kernel[k]) : 0;
        n += s->gemm ? vt_gemm_launches(s->gemm) : 0;
    }
    return n;
}

void vt_plan_tell(const vt_plan *p, double from_ms)
{
    const int steps = vt_plan_steps(p);
    const vt_plan_memory m = vt_plan_memory_of(p);
    char gemms[64];

    if (!vt_logs())
        return;
    for (int i = 0; i < steps; i++) {
        const vt_step *s = vt_plan_step(p, i);
        int n = 0;

        for (int k = i; k < steps; k++)
            n += vt_plan_step(p, k)->op == s->op &&
                 strcmp(vt_plan_step(p, k)->note, s->note) == 0;
        if (!told(p, i))
            vt_log("form: %d %s by %s", n, s->op->name, s->note);
    }
    vt_plan_gemms(gemms, sizeof gemms, p);
    vt_log("plan: %d steps in %s, multiplied by %s, %u launches; "
           "%.1f MB of activations, %.1f MB of states; ready after %.0f ms",
           steps, vt_precision_name(vt_plan_settings(p)->precision), gemms,
           vt_plan_launches(p), (double)m.arena / 1e6, (double)m.states / 1e6,
           vt_now_ms() - from_ms);
}
