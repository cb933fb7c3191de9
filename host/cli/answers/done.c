/*
 * done.c - which of a batch's numbers are no answer.
 */
#include "done.h"

#include "answering.h"
#include "api/program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Why n numbers, row `row` of `tensor`, are no answer; NULL: they are all
 * finite. Valid until the library's next failure in this thread. */
static const char *numbers_wrong(const float *numbers, size_t n,
                                 vitcl_session *session, const char *tensor,
                                 uint32_t row)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(numbers[i]))
            return vt_session_check(session, tensor, row) == VITCL_OK
                       ? "its numbers are not finite"
                       : vitcl_last_error();
    return NULL;
}

bool done_judge(char **wrong, const float *numbers, uint32_t n,
                vitcl_session *session, const answering *w)
{
    for (uint32_t i = 0; i < n; i++) {
        const char *why = numbers_wrong(numbers + i * w->share + w->skip,
                                        w->used, session, w->tensor, i);

        wrong[i] = why ? strdup(why) : NULL;
        if (why && !wrong[i])
            return false;
    }
    return true;
}

void done_forget(char **wrong, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        free(wrong[i]);
        wrong[i] = NULL;
    }
}
