/*
 * shared.c - only files of one size are compared: by inode, by the sum of
 * their last bytes, and if that is the same, by the sum of all.
 */
#include "data/shared.h"

#include "base/checksum.h"
#include "base/memory.h"

#include <string.h>
#include <sys/stat.h>

typedef struct entry {
    uint64_t device, inode, size, sum;
    uint32_t picture;
    bool second;   /* it is of the second dataset */
    bool readable; /* its sum is known */
} entry;

static int order(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int by_file(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    const int c = order(x->size, y->size), d = order(x->device, y->device);

    return c ? c : d ? d : order(x->inode, y->inode);
}

static int by_sum(const void *a, const void *b)
{
    const entry *x = a, *y = b;

    return order(x->sum, y->sum);
}

static void add(entry *list, size_t *n, const vt_dataset *d, bool second)
{
    struct stat st;

    for (uint32_t i = 0; i < vt_dataset_count(d); i++)
        if (stat(vt_dataset_path(d, i), &st) == 0 && st.st_size > 0)
            list[(*n)++] = (entry){.device = (uint64_t)st.st_dev,
                                   .inode = (uint64_t)st.st_ino,
                                   .size = (uint64_t)st.st_size,
                                   .picture = i,
                                   .second = second};
}

static bool both(const entry *list, size_t n)
{
    size_t second = 0;

    for (size_t i = 0; i < n; i++)
        second += list[i].second;
    return second && second < n;
}

/* Counts those of the second dataset among n equal pictures. */
static void count(vt_shared *s, const entry *list, size_t n)
{
    if (!both(list, n))
        return;
    for (size_t i = 0; i < n; i++)
        if (list[i].second) {
            s->first = s->count++ ? VT_MIN(s->first, list[i].picture)
                                  : list[i].picture;
        }
}

typedef struct comparing {
    const vt_dataset *a, *b;
    uint32_t read, most;
} comparing;

/* A file that cannot be read is no one's equal. */
static void sum(entry *list, size_t n, comparing *c, bool whole)
{
    for (size_t i = 0; i < n; i++) {
        entry *e = &list[i];
        const char *path = vt_dataset_path(e->second ? c->b : c->a, e->picture);
        size_t size;

        e->readable =
            (whole ? vt_checksum_file(&e->sum, path)
                   : vt_checksum_tail(&e->sum, &size, path)) == VITCL_OK;
        c->read++;
    }
    qsort(list, n, sizeof *list, by_sum);
}

static bool equal(const entry *a, const entry *b, bool reads)
{
    return reads ? a->readable && b->readable && a->sum == b->sum
                 : by_file(a, b) == 0;
}

/* n files of one size, of both datasets: the same file, or the same end, or,
 * where that is so, the same bytes. */
static void compare(vt_shared *s, entry *list, size_t n, comparing *c,
                    bool ends)
{
    const bool reads = !ends || n <= c->most - VT_MIN(c->read, c->most);

    if (reads)
        sum(list, n, c, !ends);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && equal(&list[i], &list[end], reads);)
            end++;
        if (!reads || !ends)
            count(s, list + i, end - i);
        else if (both(list + i, end - i))
            compare(s, list + i, end - i, c, false);
    }
}

vitcl_status vt_dataset_shared(vt_shared *out, const vt_dataset *a,
                               const vt_dataset *b, uint32_t most)
{
    comparing c = {.a = a, .b = b, .most = most};
    vitcl_status st = VITCL_OK;
    entry *list = NULL;
    size_t n = 0;

    *out = (vt_shared){0, 0, NULL};
    if (!vt_dataset_count(a) || !vt_dataset_count(b) ||
        !vt_dataset_path(a, 0) || !vt_dataset_path(b, 0))
        return VITCL_OK; /* pictures in files of records */
    VT_TRY(VT_NEW(&list, (size_t)vt_dataset_count(a) + vt_dataset_count(b)));
    add(list, &n, a, false);
    add(list, &n, b, true);
    qsort(list, n, sizeof *list, by_file);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && list[end].size == list[i].size;)
            end++;
        if (both(list + i, end - i))
            compare(out, list + i, end - i, &c, true);
    }
    if (out->count)
        out->name = vt_dataset_path(b, out->first);
done:
    free(list);
    return st;
}
