/*
 * update.c - compares each file's size and time with its row, finds the
 * rows that nobody names, and puts them between the others.
 */
#include "index/update.h"

#include "base/memory.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static vt_stamp stamp_of(const struct stat *st)
{
    return (vt_stamp){.size = (int64_t)st->st_size,
                      .changed = (int64_t)st->st_mtim.tv_sec * 1000000000 +
                                 (int64_t)st->st_mtim.tv_nsec};
}

static uint64_t none(const vt_update *u)
{
    return u->old ? vt_index_count(u->old) : 0;
}

/* ---- the earlier index ---- */

vitcl_status vt_update_open(vt_update *u, const char *index)
{
    size_t width = 1;

    if (access(index, F_OK) == 0) {
        VT_RET(vt_index_open(&u->old, index));
        VT_RET(vt_index_sort(u->old));
        width = vt_index_width(u->old);
        vt_places_open(&u->places, u->old);
    }
    VT_RET(VT_NEW(&u->row, width));
    return VT_NEW(&u->narrow, width);
}

/* ---- names ---- */

/* The name in the new index of a path from the current folder. */
static const char *name_from_here(vt_update *u, const char *path)
{
    const char *base = u->places.base, *full;
    const size_t n = strlen(base);

    if (!n || path[0] == '/')
        return path;
    full = vt_place_absolute(u->path, path);
    return strncmp(full, base, n) == 0 && full[n] == '/' ? full + n + 1 : full;
}

static bool is_lost(const vt_update *u, uint64_t row)
{
    return !u->places.known && vt_index_path(u->old, row)[0] != '/';
}

/* ---- the pictures of this run ---- */

static vitcl_status add(vt_update_entry **out, vt_update_entry **list,
                        size_t *count, size_t *room)
{
    VT_RET(vt_grow(list, room, *count + 1, sizeof **list));
    (*list)[*count] = (vt_update_entry){.path = NULL};
    *out = &(*list)[(*count)++];
    return VITCL_OK;
}

static bool same_stamp(vt_stamp a, vt_stamp b)
{
    return a.size >= 0 && a.size == b.size && a.changed == b.changed;
}

static void forget(vt_update_entry *e)
{
    free(e->path);
    free(e->name);
    free(e->place);
}

/* What tells the names of a file apart; NULL: it has one, or no memory. */
static char *place_of(const char *path, const struct stat *st)
{
    char *place = st->st_nlink > 1 ? realpath(path, NULL) : NULL;

    return place || st->st_nlink <= 1 ? place : strdup(path);
}

vitcl_status vt_update_name(vt_update *u, const char *path, const char *error)
{
    vt_update_entry *e;
    struct stat st_file;

    VT_RET(add(&e, &u->entry, &u->count, &u->room));
    e->row = none(u);
    e->stamp = (vt_stamp){-1, -1};
    VT_RET(vt_strdup(&e->path, path));
    if (error || stat(path, &st_file) != 0) {
        u->broken = true;
        VT_RET(vt_strdup(&e->place, path));
    } else {
        e->stamp = stamp_of(&st_file);
        e->device = st_file.st_dev, e->inode = st_file.st_ino;
        e->place = place_of(path, &st_file);
    }
    if (u->old)
        e->row = vt_index_find(u->old, name_from_here(u, path));
    if (e->row != none(u) && e->stamp.size < 0)
        u->lost |= e->lost = is_lost(u, e->row);
    e->todo = error || e->row == none(u) ||
              !same_stamp(e->stamp, vt_index_stamp(u->old, e->row));
    return VITCL_OK;
}

static int by_file(const void *a, const void *b)
{
    const vt_update_entry *x = *(vt_update_entry *const *)a,
                          *y = *(vt_update_entry *const *)b;

    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    if (x->inode != y->inode)
        return x->inode < y->inode ? -1 : 1;
    return strcmp(x->place ? x->place : "", y->place ? y->place : "");
}

/* Of two names of a picture: the one that the index has, else the first. */
static vt_update_entry *better(const vt_update *u, vt_update_entry *a,
                               vt_update_entry *b)
{
    const bool has_a = a->row != none(u), has_b = b->row != none(u);

    return has_a != has_b ? (has_a ? a : b) : a < b ? a : b;
}

/* Leaves one name of each picture. */
static vitcl_status name_once(vt_update *u)
{
    vt_update_entry **file = NULL;
    size_t n = 0;
    vitcl_status st;

    VT_TRY(VT_NEW(&file, u->count + 1));
    for (size_t i = 0; i < u->count; i++)
        file[i] = &u->entry[i];
    qsort(file, u->count, sizeof *file, by_file);
    for (size_t i = 1; i < u->count; i++)
        if (by_file(&file[i - 1], &file[i]) == 0) {
            vt_update_entry *one = better(u, file[i - 1], file[i]);

            (one == file[i] ? file[i - 1] : file[i])->again = true;
            file[i] = one;
        }
    for (size_t i = 0; i < u->count; i++)
        if (u->entry[i].again)
            forget(&u->entry[i]);
        else
            u->entry[n++] = u->entry[i];
    u->count = u->named = n;
done:
    free(file);
    return st;
}

/* ---- the other rows ---- */

typedef struct others {
    vt_update *u;
    vt_update_entry **file; /* the pictures of this run, sorted by file */
    size_t files;
    bool *named;            /* [rows] */
    uint64_t *gone;         /* rows whose files are */
    size_t away;            /* how many */
    vt_update_entry *entry; /* those that stay */
    size_t count, room;
    bool prune, whole; /* whole: all pictures of this run are known */
} others;

/* A row without numbers is that of a picture that could not be read. */
static bool has_numbers(vt_update *u, uint64_t row)
{
    return vt_index_rows(u->row, u->narrow, u->old, row, 1) != VITCL_OK ||
           !isnan(u->row[0]);
}

/* Where the row does not say the picture's size, it may have come from standard
 * input, where nobody can look for it, or be a broken one of an archive, which
 * is there (ENOTDIR): it stays. */
static bool is_gone(vt_update *u, uint64_t row, int error, mode_t mode)
{
    const vt_stamp then = vt_index_stamp(u->old, row);

    if (error ? error != ENOENT && error != ENOTDIR : S_ISREG(mode))
        return false;
    if (then.size < 0)
        return error != ENOTDIR && !has_numbers(u, row);
    return error == ENOENT || then.changed >= 0; /* else in an archive */
}

/* The picture of this run that is this file; NULL: none. */
static vt_update_entry *find_file(const others *o, const char *path,
                                  const struct stat *st)
{
    const vt_update_entry key = {
        .device = st->st_dev, .inode = st->st_ino, .place = place_of(path, st)};
    const vt_update_entry *at = &key;
    vt_update_entry **found =
        o->files ? bsearch(&at, o->file, o->files, sizeof *o->file, by_file)
                 : NULL;

    free(key.place);
    return found ? *found : NULL;
}

/* Has this run the picture under another name? Then that one gets the row.
 * moved: the row's name no longer leads to it. */
static bool is_renamed(const others *o, uint64_t row, const char *path,
                       bool moved, const struct stat *st)
{
    vt_update *u = o->u;
    vt_update_entry *e = find_file(o, path, st);

    if (!e)
        return false;
    if (e->row != none(u))
        return true;
    if (moved && !(e->name = strdup(name_from_here(u, e->path))))
        return false;
    e->row = row;
    e->todo = !same_stamp(e->stamp, vt_index_stamp(u->old, row));
    return true;
}

/* A row that this run does not name. */
static vitcl_status add_other(others *o, uint64_t row)
{
    vt_update *u = o->u;
    vt_update_entry *e;
    struct stat file;
    char full[VT_PLACE], place[VT_PLACE];
    bool moved, gone, lost;
    const char *at = vt_place(place, &moved, &u->places, row);
    const int error = stat(at, &file) == 0 ? 0 : errno;

    if (!error && is_renamed(o, row, at, moved, &file))
        return VITCL_OK;
    gone = is_gone(u, row, error, error ? 0 : file.st_mode);
    if (gone && vt_index_stamp(u->old, row).size >= 0)
        o->gone[o->away++] = row;
    lost = (gone || (error && error != ENOTDIR)) && is_lost(u, row);
    gone = gone && !lost;
    if ((gone || o->prune) && o->whole) {
        *(gone ? &u->gone : &u->drop) += 1;
        return VITCL_OK;
    }
    u->spared = u->spared || gone || o->prune;
    VT_RET(add(&e, &o->entry, &o->count, &o->room));
    e->row = row;
    u->lost |= e->lost = lost;
    if (moved)
        VT_RET(vt_strdup(&e->name, vt_place_absolute(full, at)));
    return VITCL_OK;
}

static vitcl_status find_others(others *o)
{
    vt_update *u = o->u;

    for (size_t i = 0; i < u->count; i++) {
        if (u->entry[i].row != none(u))
            o->named[u->entry[i].row] = true;
        if (u->entry[i].stamp.size >= 0)
            o->file[o->files++] = &u->entry[i];
    }
    qsort(o->file, o->files, sizeof *o->file, by_file);
    for (uint64_t row = 0; row < none(u); row++)
        if (!o->named[vt_index_find(u->old, vt_index_path(u->old, row))])
            VT_RET(add_other(o, row));
    u->stay = o->count;
    return VITCL_OK;
}

/* Puts the others between the pictures of this run: before the first that has a
 * later row, so that an index without changes keeps its order. */
static vitcl_status merge(others *o)
{
    vt_update *u = o->u;
    const size_t all = u->count + o->count;
    vt_update_entry *to = NULL;
    uint64_t next = UINT64_MAX;
    size_t at = all, k = o->count;

    VT_RET(VT_NEW(&to, all + 1));
    for (size_t i = u->count; i-- > 0;) { /* from the end */
        if (u->entry[i].row != none(u))
            next = u->entry[i].row;
        while (k > 0 && o->entry[k - 1].row >= next)
            to[--at] = o->entry[--k];
        to[--at] = u->entry[i];
    }
    while (k > 0)
        to[--at] = o->entry[--k];
    free(u->entry);
    u->entry = to;
    u->count = all;
    o->count = 0; /* whose paths are theirs now */
    return VITCL_OK;
}

static vitcl_status add_others(vt_update *u, bool prune)
{
    others o = {.u = u, .prune = prune, .whole = u->named && !u->broken};
    vitcl_status st;

    VT_TRY(VT_NEW(&o.file, u->count + 1));
    VT_TRY(VT_NEW(&o.named, (size_t)none(u) + 1));
    VT_TRY(VT_NEW(&o.gone, (size_t)none(u) + 1));
    VT_TRY(find_others(&o));
    VT_TRY(vt_update_match(u, o.gone, o.away));
    VT_TRY(merge(&o));
done:
    for (size_t i = 0; i < o.count; i++)
        free(o.entry[i].name);
    free(o.entry);
    free(o.file);
    free(o.named);
    free(o.gone);
    return st;
}

/* ---- the whole ---- */

static vitcl_status choose(vt_update *u)
{
    free(u->todo);
    u->todos = 0;
    VT_RET(VT_NEW(&u->todo, u->named + 1));
    for (size_t i = 0; i < u->count; i++)
        if (u->entry[i].todo)
            u->todo[u->todos++] = u->entry[i].path;
    return VITCL_OK;
}

vitcl_status vt_update_list(vt_update *u, bool prune)
{
    VT_RET(name_once(u));
    if (u->old)
        VT_RET(add_others(u, prune));
    return choose(u);
}

vitcl_status vt_update_take_over(vt_update *u)
{
    for (size_t i = 0; i < u->count; i++) {
        vt_update_entry *e = &u->entry[i];

        if (!e->matched)
            continue;
        VT_RET(vt_strdup(&e->name, name_from_here(u, e->path)));
        e->row = e->from;
        e->todo = false;
        u->renamed++;
        u->gone -= u->named && !u->broken && !is_lost(u, e->row);
    }
    return choose(u);
}

static const char *name_of(vt_update *u, const vt_update_entry *e)
{
    const char *name = e->name             ? e->name
                       : e->row != none(u) ? vt_index_path(u->old, e->row)
                                           : name_from_here(u, e->path);

    return u->lost && !e->lost ? vt_place_absolute(u->path, name) : name;
}

/* Writes a row as it was. */
static vitcl_status write_row(vt_update *u, vt_vectors *to,
                              const vt_update_entry *e)
{
    vt_vectors_row row = {.numbers = u->row};

    if (e->row == none(u)) /* it was not embedded */
        return VITCL_OK;
    row.path = name_of(u, e);
    row.stamp = vt_index_stamp(u->old, e->row);
    VT_RET(vt_index_rows(u->row, u->narrow, u->old, e->row, 1));
    return vt_vectors_add(to, &row);
}

vitcl_status vt_update_keep(vt_update *u, vt_vectors *to, const char *path)
{
    const vt_update_entry *e;
    size_t end = u->at;

    while (end < u->count && !(path && u->entry[end].todo &&
                               strcmp(u->entry[end].path, path) == 0))
        end++;
    if (path && end == u->count) { /* a folder has changed since the list */
        u->name = name_from_here(u, path);
        if (u->lost)
            u->name = vt_place_absolute(u->path, u->name);
        return VITCL_OK;
    }
    for (; u->at < end; u->at++)
        VT_RET(write_row(u, to, &u->entry[u->at]));
    if (!path)
        return VITCL_OK;
    e = &u->entry[u->at++];
    u->name = e->stamp.size >= 0 ? name_of(u, e) : NULL;
    if (!u->name) /* it was not there */
        VT_RET(write_row(u, to, e));
    return VITCL_OK;
}

void vt_update_close(vt_update *u)
{
    for (size_t i = 0; i < u->count; i++)
        forget(&u->entry[i]);
    free(u->entry);
    free(u->todo);
    free(u->row);
    free(u->narrow);
    vt_index_free(u->old);
}

/* ---- a picture ---- */

bool vt_update_same(const float *a, const float *b, size_t n)
{
    double apart = 0, length = 0;

    for (size_t i = 0; i < n; i++) {
        const double d = (double)a[i] - (double)b[i];

        apart += d * d;
        length += (double)b[i] * (double)b[i];
    }
    return apart <= 1e-6 * length;
}

int64_t vt_update_clock(void)
{
    struct timespec t = {0};

    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + (int64_t)t.tv_nsec;
}

vt_stamp vt_update_stamp(int64_t size, int64_t changed, int64_t began)
{
    const int64_t now_or_soon = vt_update_clock() + 1000000000;

    return changed >= began && changed <= now_or_soon
               ? (vt_stamp){.size = -1, .changed = -1}
               : (vt_stamp){.size = size, .changed = changed};
}
