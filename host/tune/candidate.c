/*
 * candidate.c - a candidate of the tuner as text, and its measurement in a
 * process of vitcl-try.
 */
#include "tune/candidate.h"

#include "base/attempt.h"

#include <stdio.h>

void vt_candidate_format(char *out, size_t size, const char *entry,
                         const char *provider, const vt_candidate_product *x,
                         int n)
{
    size_t used = (size_t)snprintf(out, size, "%s: %s", entry, provider);

    for (int i = 0; i < n && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, " %dx%dx%dx%d",
                                 x[i].M, x[i].N, x[i].K, x[i].count);
}

vitcl_status vt_candidate_try(double *ratio, const char *select,
                              const char *candidate, double seconds,
                              vitcl_progress progress, void *context)
{
    const vt_attempt a = {.words = {"measure", select ? select : "", candidate},
                          .seconds = seconds,
                          .stop = progress,
                          .stop_context = context};
    char answer[32];
    double r;

    VT_RET(vt_attempt_run(answer, sizeof answer, &a));
    r = vt_attempt_number(answer);
    if (!(r > 0))
        return vt_fail(VITCL_EDEVICE,
                       "the time measured for the candidate is zero");
    *ratio = r;
    return VITCL_OK;
}
