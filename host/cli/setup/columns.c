/*
 * columns.c - --column and --sep, for tables of other programs.
 */
#include "options.h"

#include <stdio.h>
#include <string.h>

/* Adds a line; false: there is one of its key, or no room. */
static bool put(char out[TABLE_COLUMNS], const char *key, const char *value)
{
    const size_t n = strlen(out);
    const char *at = out;

    while (at && strncmp(at, key, strlen(key)) != 0) {
        at = strchr(at, '\n');
        at = at ? at + 1 : NULL;
    }
    return !at && snprintf(out + n, TABLE_COLUMNS - n, "%s%s%s", n ? "\n" : "",
                           key, value) < (int)(TABLE_COLUMNS - n);
}

int table_columns(char out[TABLE_COLUMNS], const table_options *t)
{
    const char *sep = t->separator;

    out[0] = '\0';
    for (size_t i = 0; i < t->column.count; i++) {
        const char *name = t->column.item[i],
                   *key = strncmp(name, "path=", 5) == 0    ? "path="
                          : strncmp(name, "split=", 6) == 0 ? "split="
                                                            : "label=";

        if (strncmp(name, key, strlen(key)) == 0)
            name += strlen(key);
        if (!*name || strchr(name, '\n'))
            return usage("--column '%s' names no column", t->column.item[i]);
        if (!put(out, key, name))
            return usage("--column '%s' is the second of its kind, or too long",
                         t->column.item[i]);
    }
    if (!sep)
        return EXIT_OK;
    if (strcmp(sep, "tab") == 0 || strcmp(sep, "\\t") == 0)
        sep = "\t";
    if (strlen(sep) != 1 || strchr("\"\r\n", *sep))
        return usage("--sep must be one character or tab, not '%s'", sep);
    return put(out, "sep=", sep) ? EXIT_OK : usage("--column is too long");
}
