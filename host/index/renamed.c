/*
 * renamed.c - pictures that have another name than in an index: which rows are
 * theirs. A row says the size and the time of its file, not which file it was.
 */
#include "base/file.h"
#include "base/memory.h"
#include "index/update.h"

#include <stdlib.h>
#include <string.h>

/* A row whose file is gone, or a picture without a row. */
typedef struct side {
    vt_stamp stamp;
    const char *name;   /* in its folder */
    vt_update_entry *e; /* NULL: a row */
    uint64_t row;
} side;

static int by_stamp(const side *x, const side *y)
{
    if (x->stamp.size != y->stamp.size)
        return x->stamp.size < y->stamp.size ? -1 : 1;
    if (x->stamp.changed != y->stamp.changed)
        return x->stamp.changed < y->stamp.changed ? -1 : 1;
    return 0;
}

static int by_stamp_and_name(const void *a, const void *b)
{
    const side *x = a, *y = b;
    const int order = by_stamp(x, y);

    return order ? order : strcmp(x->name, y->name);
}

/* How many of n, from the first on, are alike? */
static size_t alike(const side *s, size_t n, bool named)
{
    size_t i = 1;

    while (i < n &&
           (named ? by_stamp_and_name(s, &s[i]) == 0 : by_stamp(s, &s[i]) == 0))
        i++;
    return i;
}

/* Are these a row and a picture? */
static bool pair(const side *s, size_t n, bool named)
{
    vt_update_entry *e = n == 2 ? s[0].e ? s[0].e : s[1].e : NULL;

    if (!e || (s[0].e && s[1].e))
        return false;
    e->from = s[s[0].e != NULL].row;
    e->matched = true;
    e->by_name = named;
    return true;
}

static void match(const side *s, size_t n)
{
    for (size_t i = 0, same; i < n; i += same) {
        same = alike(s + i, n - i, false);
        if (pair(s + i, same, false))
            continue;
        for (size_t k = i, few; k < i + same; k += few) {
            few = alike(s + k, i + same - k, true);
            pair(s + k, few, true);
        }
    }
}

vitcl_status vt_update_match(vt_update *u, const uint64_t *gone, size_t n)
{
    side *s = NULL;
    size_t at = 0;
    vitcl_status st;

    VT_TRY(VT_NEW(&s, u->count + n + 1));
    for (size_t i = 0; i < n; i++)
        s[at++] = (side){.stamp = vt_index_stamp(u->old, gone[i]),
                         .name = vt_path_name(vt_index_path(u->old, gone[i])),
                         .row = gone[i]};
    for (size_t i = 0; i < u->count; i++) {
        vt_update_entry *e = &u->entry[i];

        if (e->row == vt_index_count(u->old) && e->stamp.size >= 0)
            s[at++] = (side){e->stamp, vt_path_name(e->path), e, e->row};
    }
    qsort(s, at, sizeof *s, by_stamp_and_name);
    match(s, at);
done:
    free(s);
    return st;
}

/* If there is one, a picture that only its name told apart: these may have
 * exchanged their names. */
const vt_update_entry *vt_update_probe(const vt_update *u)
{
    const vt_update_entry *probe = NULL;
    size_t found = 0;

    for (size_t i = 0; i < u->count; i++) {
        const vt_update_entry *e = &u->entry[i];

        found += e->matched;
        if (e->matched && (!probe || (e->by_name && !probe->by_name)))
            probe = e;
    }
    return found > 1 ? probe : NULL;
}
