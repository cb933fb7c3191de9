/*
 * studies.c - the table of all studies. A new one is a file and a row here.
 */
#include "study/study.h"

#include <string.h>

/* In the order of the list that users see. */
#define STUDIES(X)                                                             \
    X(cost)                                                                    \
    X(positions)                                                               \
    X(data_size)                                                               \
    X(scaling)                                                                 \
    X(masked)                                                                  \
    X(transfer)                                                                \
    X(inductive_bias)                                                          \
    X(few_shot)                                                                \
    X(optimizer)                                                               \
    X(shape)                                                                   \
    X(head)                                                                    \
    X(axial)                                                                   \
    X(resolution)

#define DECLARE(name) extern const vt_study vt_study_##name;
STUDIES(DECLARE)
#define ROW(name) &vt_study_##name,
static const vt_study *const table[] = {STUDIES(ROW) NULL};
enum { COUNT = sizeof table / sizeof *table - 1 };

const vt_study *vt_study_at(size_t index)
{
    return index < COUNT ? table[index] : NULL;
}

const vt_study *vt_study_find(const char *name)
{
    for (size_t i = 0; i < COUNT; i++)
        if (strcmp(table[i]->name, name) == 0)
            return table[i];
    return NULL;
}
