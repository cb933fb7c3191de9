/*
 * names.c - match and make names by the patterns of dialects.h.
 */
#include "base/memory.h"
#include "weights/dialects.h"

#include <stdio.h>
#include <string.h>

static const char *const words[] = {"weight", "bias", "kernel", "scale"};

bool vt_name_fits(const char *pattern, const char *name, unsigned numbers[2],
                  const char **word)
{
    size_t n = 0;

    *word = NULL;
    for (; *pattern; pattern++) {
        if (*pattern == '*')
            return true;
        if (*pattern == '%') {
            for (size_t i = 0; i < VT_COUNT(words); i++)
                if (strcmp(name, words[i]) == 0)
                    *word = words[i];
            return *word != NULL;
        }
        if (*pattern == '#') {
            unsigned v = 0;
            const char *start = name;
            while (*name >= '0' && *name <= '9' && name - start < 5)
                v = v * 10 + (unsigned)(*name++ - '0');
            if (name == start || (*start == '0' && name - start > 1) || n == 2)
                return false;
            numbers[n++] = v;
        } else if (*pattern != *name++) {
            return false;
        }
    }
    return *name == '\0';
}

bool vt_name_make(char *out, size_t size, const char *pattern,
                  const unsigned numbers[2], const char *word)
{
    size_t at = 0, n = 0;

    for (; *pattern; pattern++) {
        int wrote = 1;
        if (at + 1 >= size)
            return false;
        if (*pattern == '#' || *pattern == '@')
            wrote = snprintf(out + at, size - at, "%u",
                             numbers[n++] - (*pattern == '@'));
        else if (*pattern == '%')
            wrote = snprintf(out + at, size - at, "%s", word);
        else
            out[at] = *pattern;
        at += (size_t)wrote;
    }
    if (at >= size)
        return false;
    out[at] = '\0';
    return true;
}
