/*
 * entities.c - looks up HTML's entities.
 */
#include "text/clean.h"
#include "text/entities_table.h"

#include <stdlib.h>
#include <string.h>

/* Where the row that has s[at] begins. */
static size_t row_of(const char *s, size_t at)
{
    while (at > 0 && s[at - 1] != ' ')
        at--;
    return at;
}

static int compare(const char *name, size_t n, const char *row)
{
    const size_t size = strcspn(row, "=!");
    const int order = memcmp(name, row, VT_MIN(n, size));

    return order ? order : (n > size) - (n < size);
}

bool vt_entity(vt_entity_text *out, const char *name, size_t n)
{
    const bool small = n > 0 && *name >= 'a' && *name <= 'z';
    const char *s, *row = NULL;
    char *end;
    size_t low = 0, high;
    int order = 1;

    if (n == 0 || !(small || (*name >= 'A' && *name <= 'Z')))
        return false;
    s = entities[*name - (small ? 'a' - 26 : 'A')];
    high = strlen(s);
    while (low < high && order != 0) {
        const size_t middle = row_of(s, low + (high - low) / 2);

        row = s + middle;
        order = compare(name + 1, n - 1, row);
        if (order < 0)
            high = middle;
        else
            low = middle + strcspn(row, " ") + 1;
    }
    if (order != 0)
        return false;
    row += strcspn(row, "=!");
    out->legacy = *row == '!';
    out->code[0] = (uint32_t)strtoul(row + 1, &end, 16);
    out->code[1] = *end == ',' ? (uint32_t)strtoul(end + 1, NULL, 16) : 0;
    return true;
}
