/*
 * done.c - which of a batch's numbers are no answer.
 */
#include "done.h"

#include "answering.h"

#include <stdlib.h>
#include <string.h>

bool done_judge(char **wrong, const float *numbers, uint32_t n,
                vitcl_session *session, const answering *w)
{
    for (uint32_t i = 0; i < n; i++) {
        const char *why = numbers_wrong(numbers + i * w->share, w->used,
                                        session, w->tensor, i);

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
