/*
 * choices.c - decisions from measurements, kept in the user's file:
 *
 *   vitcl choices 1
 *   # version <tab> question <tab> answer
 *
 * A line counts if its version is this one; the last of several for a question
 * does. A file of another format is as none, and stays as it is. Who asks
 * accepts only answers that it could have given.
 */
#include "gemm/choices.h"

#include "base/memory.h"
#include "base/user_dir.h"

#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define FORMAT "vitcl choices 1\n"
#define NAME "choices"
#define LIMIT ((size_t)256 << 10)

static int folder_of(bool make)
{
    return vt_user_folder("XDG_CONFIG_HOME", ".config", make);
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
    const int folder = folder_of(false);
    const bool found = find(out, folder, question);

    if (folder >= 0)
        close(folder);
    return found;
}

/* No other program's, nor that of another version with another format. */
static bool ours(const char *text)
{
    return !text || strncmp(text, FORMAT, strlen(FORMAT)) == 0;
}

bool vt_choices_possible(void)
{
    const int folder = folder_of(true);
    bool good = folder >= 0 && faccessat(folder, ".", W_OK, 0) == 0;
    char *text = NULL;
    const char *why;

    if (good && vt_user_text(&text, &why, folder, NAME, LIMIT))
        good = ours(text);
    free(text);
    if (folder >= 0)
        close(folder);
    return good;
}

bool vt_choice_save(char answer[VT_CHOICE], const char *question,
                    const char *rejected)
{
    static const char first[] =
        FORMAT "# version, question, answer: delete a line to measure again\n";
    const int folder = folder_of(true);
    char *text = NULL, *line = NULL, kept[VT_CHOICE];
    const char *why, *lines = first;
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
    if (vt_user_text(&text, &why, folder, NAME, LIMIT - 2 * VT_CHOICE))
        lines = text;
    if (ours(lines) && vt_format(&line, "%s\t%s\t%s\n", VITCL_VERSION, question,
                                 answer) == VITCL_OK)
        good = vt_user_write(folder, NAME, lines, strlen(lines), line,
                             strlen(line));
    close(folder);
    free(text);
    free(line);
    return good;
}

void vt_choices_each(const char *begin,
                     void (*visit)(void *context, const char *question,
                                   const char *answer),
                     void *context)
{
    const int folder = folder_of(false);
    char *text, *at = read_lines(&text, folder), *q, *a;

    while (next(&at, &q, &a))
        if (strncmp(q, begin, strlen(begin)) == 0)
            visit(context, q + strlen(begin), a);
    free(text);
    if (folder >= 0)
        close(folder);
}
