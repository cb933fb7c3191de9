/*
 * choices.c - decisions from measurements, kept in the user's file of lines
 * (base/kept.h):
 *
 *   vitcl choices 1
 *   # version <tab> question <tab> answer
 *
 * A line counts if its version is this one; the last of several for a question
 * does. Where there are too many lines, the older half is dropped. Who asks
 * accepts only answers that it could have given.
 */
#include "product/choices.h"

#include "base/environment.h"
#include "base/kept.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

void vt_choice_variables(char *out, size_t size)
{
    static const char *const names[] = {"VITCL_DOT", "VITCL_MMA"};

    for (size_t i = 0; i < VT_COUNT(names); i++) {
        const char *value = vt_getenv(names[i]);
        const size_t used = strlen(out);

        if (value && *value)
            snprintf(out + used, size - used, ", %s %.60s", names[i], value);
    }
}

/* The next line of this version, cut; false: there is none. */
static bool next(vt_lines *l, char **question, char **answer)
{
    static const char version[] = VITCL_VERSION "\t";
    char *line, *tab;

    while ((line = vt_lines_next(l))) {
        *question = line + strlen(version);
        if (strncmp(line, version, strlen(version)) != 0 ||
            !(tab = strchr(*question, '\t')) || strlen(tab + 1) >= VT_CHOICE)
            continue;
        *tab = '\0';
        *answer = tab + 1;
        return true;
    }
    return false;
}

static bool find(char out[VT_CHOICE], vt_lines *l, const char *question)
{
    char *q, *a;
    bool found = false;

    while (next(l, &q, &a))
        if (strcmp(q, question) == 0) {
            snprintf(out, VT_CHOICE, "%s", a);
            found = true;
        }
    return found;
}

bool vt_choice_load(char out[VT_CHOICE], const char *question)
{
    vt_lines l;
    bool found;

    vt_lines_open(&l, VT_LINES_CHOICES);
    found = find(out, &l, question);
    vt_lines_close(&l);
    return found;
}

bool vt_choices_possible(void)
{
    return vt_lines_check(VT_LINES_CHOICES) == VITCL_OK;
}

bool vt_choice_save(char answer[VT_CHOICE], const char *question,
                    const char *rejected)
{
    char start[2 * VT_CHOICE], line[3 * VT_CHOICE], kept[VT_CHOICE];
    vt_lines l;
    bool good = false;

    if (vt_lines_change(&l, VT_LINES_CHOICES) == VITCL_OK) {
        snprintf(start, sizeof start, VITCL_VERSION "\t%s\t", question);
        snprintf(line, sizeof line, "%s%s", start, answer);
        if (find(kept, &l, question) &&
            (!rejected || strcmp(kept, rejected) != 0)) {
            snprintf(answer, VT_CHOICE, "%s", kept);
            good = true;
        } else {
            good = vt_lines_put(&l, start, line) == VITCL_OK;
        }
    }
    vt_lines_close(&l);
    return good;
}

void vt_choices_each(const char *begin,
                     void (*visit)(void *context, const char *question,
                                   const char *answer),
                     void *context)
{
    char *q, *a;
    vt_lines l;

    vt_lines_open(&l, VT_LINES_CHOICES);
    while (next(&l, &q, &a))
        if (strncmp(q, begin, strlen(begin)) == 0)
            visit(context, q + strlen(begin), a);
    vt_lines_close(&l);
}
