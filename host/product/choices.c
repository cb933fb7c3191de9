/*
 * choices.c - decisions from measurements, kept in the user's file:
 *
 *   vitcl choices 1
 *   # version <tab> question <tab> answer
 *
 * A line counts if its version is this one; the last of several for a question
 * does. A file of another format, or that cannot be read, is as none, and stays
 * as it is. Where there are too many lines, the older half is dropped. Who asks
 * accepts only answers that it could have given.
 */
#include "product/choices.h"

#include "base/environment.h"
#include "base/memory.h"
#include "base/user_dir.h"

#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define FORMAT "vitcl choices 1\n"
#define NAME "choices"
#define LIMIT ((size_t)256 << 10)

void vt_choice_variables(char *out, size_t size)
{
    static const char *const names[] = {"VITCL_DOT", "VITCL_MMA",
                                        "VITCL_WGMMA"};

    for (size_t i = 0; i < VT_COUNT(names); i++) {
        const char *value = vt_getenv(names[i]);
        const size_t used = strlen(out);

        if (value && *value)
            snprintf(out + used, size - used, ", %s %.15s", names[i], value);
    }
}

/* The file's lines after the first; NULL: none. */
static char *read_lines(char **text, int folder)
{
    const char *why;

    *text = NULL;
    if (folder < 0 || !vt_user_text(text, &why, folder, NAME, LIMIT))
        return NULL;
    return strncmp(*text, FORMAT, strlen(FORMAT)) == 0 ? *text + strlen(FORMAT)
                                                       : NULL;
}

/* Cuts the next line of this version off; false: there is none. */
static bool next(char **at, char **question, char **answer)
{
    static const char version[] = VITCL_VERSION "\t";

    while (*at && **at) {
        char *line = *at, *tab;
        const size_t n = strcspn(line, "\n");

        *at = line + n + (line[n] != '\0');
        line[n] = '\0';
        if (strncmp(line, version, strlen(version)) != 0)
            continue;
        *question = line + strlen(version);
        tab = strchr(*question, '\t');
        if (!tab || strlen(tab + 1) >= VT_CHOICE)
            continue;
        *tab = '\0';
        *answer = tab + 1;
        return true;
    }
    return false;
}

static bool find(char out[VT_CHOICE], int folder, const char *question)
{
    char *text, *at = read_lines(&text, folder), *q, *a;
    bool found = false;

    while (next(&at, &q, &a))
        if (strcmp(q, question) == 0) {
            snprintf(out, VT_CHOICE, "%s", a);
            found = true;
        }
    free(text);
    return found;
}

bool vt_choice_load(char out[VT_CHOICE], const char *question)
{
    const int folder = vt_user_folder(VT_USER_CONFIG, false);
    const bool found = find(out, folder, question);

    if (folder >= 0)
        close(folder);
    return found;
}

/* The file's text; NULL: it is absent. False: it is there, and is another
 * program's, or another version's with another format, or cannot be read. */
static bool ours(char **text, int folder)
{
    const char *why;

    *text = NULL;
    if (!vt_user_text(text, &why, folder, NAME, LIMIT))
        return !why;
    return strncmp(*text, FORMAT, strlen(FORMAT)) == 0;
}

bool vt_choices_possible(void)
{
    const int folder = vt_user_folder(VT_USER_CONFIG, true);
    bool good = folder >= 0 && faccessat(folder, ".", W_OK, 0) == 0;
    char *text = NULL;

    good = good && ours(&text, folder);
    free(text);
    if (folder >= 0)
        close(folder);
    return good;
}

/* The lines to keep before another one: all, or the newer half. */
static const char *kept_lines(const char *text)
{
    const char *from;

    if (!text)
        return "";
    from = text + strlen(FORMAT);
    if (strlen(text) > LIMIT - 2 * VT_CHOICE) {
        from = strchr(text + LIMIT / 2, '\n');
        from = from ? from + 1 : "";
    }
    return from;
}

bool vt_choice_save(char answer[VT_CHOICE], const char *question,
                    const char *rejected)
{
    static const char note[] =
        "# version, question, answer: delete a line to measure again\n";
    const int folder = vt_user_folder(VT_USER_CONFIG, true);
    char *text = NULL, *lines = NULL, kept[VT_CHOICE];
    const char *old;
    bool good = false;

    if (folder < 0)
        return false;
    (void)flock(folder, LOCK_EX); /* until it is closed */
    if (find(kept, folder, question) &&
        (!rejected || strcmp(kept, rejected) != 0)) {
        snprintf(answer, VT_CHOICE, "%s", kept);
        close(folder);
        return true;
    }
    if (ours(&text, folder)) {
        old = kept_lines(text);
        if (vt_format(&lines, "%s%s%s%s\t%s\t%s\n", text ? "" : note, old,
                      *old && old[strlen(old) - 1] != '\n' ? "\n" : "",
                      VITCL_VERSION, question, answer) == VITCL_OK)
            good = vt_user_write(folder, NAME,
                                 (vt_user_part[]){{FORMAT, strlen(FORMAT)},
                                                  {lines, strlen(lines)}},
                                 2);
    }
    close(folder);
    free(text);
    free(lines);
    return good;
}

void vt_choices_each(const char *begin,
                     void (*visit)(void *context, const char *question,
                                   const char *answer),
                     void *context)
{
    const int folder = vt_user_folder(VT_USER_CONFIG, false);
    char *text, *at = read_lines(&text, folder), *q, *a;

    while (next(&at, &q, &a))
        if (strncmp(q, begin, strlen(begin)) == 0)
            visit(context, q + strlen(begin), a);
    free(text);
    if (folder >= 0)
        close(folder);
}
