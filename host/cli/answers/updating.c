/*
 * updating.c - compares each file's size and time with its row, finds the
 * rows that nobody names, and puts them between the others.
 */
#include "updating.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static vt_stamp stamp_of(const struct stat *st)
{
    return (vt_stamp){.size = (int64_t)st->st_size,
                      .changed = (int64_t)st->st_mtim.tv_sec * 1000000000 +
                                 (int64_t)st->st_mtim.tv_nsec};
}

static uint64_t none(const updating *u)
{
    return u->old ? vt_index_count(u->old) : 0;
}

/* ---- the earlier index ---- */

/* Two runs at once would lose the rows of one. */
static int hold(updating *u, const char *index)
{
    bool busy;

    RET(vt_newfile_hold(&busy, &u->held, index, false));
    if (!busy)
        return EXIT_OK;
    note("%s: another run updates it; waiting for it to end", index);
    return code_of(vt_newfile_hold(&busy, &u->held, index, true));
}

int updating_open(updating *u, const char *index)
{
    size_t width = 1;

    *u = (updating){.count = 0};
    RET(hold(u, index));
    if (access(index, F_OK) == 0) {
        RET(vt_index_open(&u->old, index));
        RET(vt_index_sort(u->old));
        width = vt_index_width(u->old);
        vt_places_open(&u->places, u->old);
    }
    u->row = malloc(width * sizeof *u->row);
    u->narrow = malloc(width * sizeof *u->narrow);
    return u->row && u->narrow ? EXIT_OK : fail("out of memory");
}

/* ---- names ---- */

/* The name in the new index of a path from the current folder. */
static const char *name_from_here(updating *u, const char *path)
{
    const char *base = u->places.base, *full;
    const size_t n = strlen(base);

    if (!n || path[0] == '/')
        return path;
    full = vt_place_absolute(u->path, path);
    return strncmp(full, base, n) == 0 && full[n] == '/' ? full + n + 1 : full;
}

static bool is_lost(const updating *u, uint64_t row)
{
    return !u->places.known && vt_index_path(u->old, row)[0] != '/';
}

/* ---- the pictures of this run ---- */

static updating_entry *add(updating_entry **list, size_t *count, size_t *room)
{
    if (*count == *room) {
        const size_t more = *room ? 2 * *room : 1024;
        updating_entry *larger = realloc(*list, more * sizeof *larger);

        if (!larger) {
            fail("out of memory");
            return NULL;
        }
        *list = larger, *room = more;
    }
    (*list)[*count] = (updating_entry){.path = NULL};
    return &(*list)[(*count)++];
}

static bool same_stamp(vt_stamp a, vt_stamp b)
{
    return a.size >= 0 && a.size == b.size && a.changed == b.changed;
}

static void forget(updating_entry *e)
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

static int add_named(updating *u, const char *path, const char *error)
{
    updating_entry *e = add(&u->entry, &u->count, &u->room);
    struct stat st;

    if (!e)
        return EXIT_FAILED;
    *e = (updating_entry){
        .path = strdup(path), .row = none(u), .stamp = {-1, -1}};
    if (error || stat(path, &st) != 0) {
        u->broken = true;
        e->place = strdup(path);
    } else {
        e->stamp = stamp_of(&st);
        e->device = st.st_dev, e->inode = st.st_ino;
        e->place = place_of(path, &st);
    }
    if (!e->path || (e->stamp.size < 0 && !e->place))
        return fail("out of memory");
    if (u->old)
        e->row = vt_index_find(u->old, name_from_here(u, path));
    if (e->row != none(u) && e->stamp.size < 0)
        u->lost |= e->lost = is_lost(u, e->row);
    e->todo = error || e->row == none(u) ||
              !same_stamp(e->stamp, vt_index_stamp(u->old, e->row));
    return EXIT_OK;
}

static int by_file(const void *a, const void *b)
{
    const updating_entry *x = *(updating_entry *const *)a,
                         *y = *(updating_entry *const *)b;

    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    if (x->inode != y->inode)
        return x->inode < y->inode ? -1 : 1;
    return strcmp(x->place ? x->place : "", y->place ? y->place : "");
}

/* Of two names of a picture: the one that the index has, else the first. */
static updating_entry *better(const updating *u, updating_entry *a,
                              updating_entry *b)
{
    const bool has_a = a->row != none(u), has_b = b->row != none(u);

    return has_a != has_b ? (has_a ? a : b) : a < b ? a : b;
}

/* Leaves one name of each picture. */
static int name_once(updating *u)
{
    updating_entry **file = calloc(u->count + 1, sizeof *file);
    size_t n = 0;

    if (!file)
        return fail("out of memory");
    for (size_t i = 0; i < u->count; i++)
        file[i] = &u->entry[i];
    qsort(file, u->count, sizeof *file, by_file);
    for (size_t i = 1; i < u->count; i++)
        if (by_file(&file[i - 1], &file[i]) == 0) {
            updating_entry *one = better(u, file[i - 1], file[i]);

            (one == file[i] ? file[i - 1] : file[i])->again = true;
            file[i] = one;
        }
    free(file);
    for (size_t i = 0; i < u->count; i++)
        if (u->entry[i].again)
            forget(&u->entry[i]);
        else
            u->entry[n++] = u->entry[i];
    u->count = n;
    return EXIT_OK;
}

static int list(updating *u, const words *operands, const picture_options *how)
{
    picture_paths *s = paths_open(operands, how);
    const char *path, *error = NULL;
    size_t size;
    int code;

    if (!s)
        return fail("out of memory");
    while ((path = paths_next(s, &error))) {
        if (paths_picture(s, &size)) {
            TRY(fail("standard input is a picture, which --update would not "
                     "find again; name files, or - for a list of them"));
        } else if (error && strcmp(path, "-") == 0) { /* the list's own error */
            fail("%s", error);
            u->broken = u->cut = true;
        } else {
            TRY(add_named(u, path, error));
        }
    }
    TRY(error ? fail("%s", error) : name_once(u));
done:
    paths_left(&u->left, s);
    paths_close(s);
    u->named = u->count;
    return code;
}

/* ---- the other rows ---- */

typedef struct others {
    updating *u;
    updating_entry **file; /* the pictures of this run, sorted by file */
    size_t files;
    bool *named;           /* [rows] */
    uint64_t *gone;        /* rows whose files are */
    size_t away;           /* how many */
    updating_entry *entry; /* those that stay */
    size_t count, room;
    bool prune, whole; /* whole: all pictures of this run are known */
} others;

/* A row without numbers is that of a picture that could not be read. */
static bool has_numbers(updating *u, uint64_t row)
{
    return vt_index_rows(u->row, u->narrow, u->old, row, 1) != VITCL_OK ||
           !isnan(u->row[0]);
}

/* Where the row does not say the picture's size, it may have come from standard
 * input, where nobody can look for it, or be a broken one of an archive, which
 * is there (ENOTDIR): it stays. */
static bool is_gone(updating *u, uint64_t row, int error, mode_t mode)
{
    const vt_stamp then = vt_index_stamp(u->old, row);

    if (error ? error != ENOENT && error != ENOTDIR : S_ISREG(mode))
        return false;
    if (then.size < 0)
        return error != ENOTDIR && !has_numbers(u, row);
    return error == ENOENT || then.changed >= 0; /* else in an archive */
}

/* The picture of this run that is this file; NULL: none. */
static updating_entry *find_file(const others *o, const char *path,
                                 const struct stat *st)
{
    const updating_entry key = {
        .device = st->st_dev, .inode = st->st_ino, .place = place_of(path, st)};
    const updating_entry *at = &key;
    updating_entry **found =
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
    updating *u = o->u;
    updating_entry *e = find_file(o, path, st);

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
static int add_other(others *o, uint64_t row)
{
    updating *u = o->u;
    updating_entry *e;
    struct stat st;
    char full[VT_PLACE], place[VT_PLACE];
    bool moved, gone, lost;
    const char *at = vt_place(place, &moved, &u->places, row);
    const int error = stat(at, &st) == 0 ? 0 : errno;

    if (!error && is_renamed(o, row, at, moved, &st))
        return EXIT_OK;
    gone = is_gone(u, row, error, error ? 0 : st.st_mode);
    if (gone && vt_index_stamp(u->old, row).size >= 0)
        o->gone[o->away++] = row;
    lost = (gone || (error && error != ENOTDIR)) && is_lost(u, row);
    gone = gone && !lost;
    if ((gone || o->prune) && o->whole) {
        *(gone ? &u->gone : &u->drop) += 1;
        return EXIT_OK;
    }
    u->spared = u->spared || gone || o->prune;
    if (!(e = add(&o->entry, &o->count, &o->room)))
        return EXIT_FAILED;
    e->row = row;
    u->lost |= e->lost = lost;
    if (moved && !(e->name = strdup(vt_place_absolute(full, at))))
        return fail("out of memory");
    return EXIT_OK;
}

static int find_others(others *o)
{
    updating *u = o->u;

    for (size_t i = 0; i < u->count; i++) {
        if (u->entry[i].row != none(u))
            o->named[u->entry[i].row] = true;
        if (u->entry[i].stamp.size >= 0)
            o->file[o->files++] = &u->entry[i];
    }
    qsort(o->file, o->files, sizeof *o->file, by_file);
    for (uint64_t row = 0; row < none(u); row++)
        if (!o->named[vt_index_find(u->old, vt_index_path(u->old, row))] &&
            add_other(o, row) != EXIT_OK)
            return EXIT_FAILED;
    u->stay = o->count;
    return EXIT_OK;
}

/* Puts the others between the pictures of this run: before the first that has a
 * later row, so that an index without changes keeps its order. */
static int merge(others *o)
{
    updating *u = o->u;
    const size_t all = u->count + o->count;
    updating_entry *to = calloc(all + 1, sizeof *to);
    uint64_t next = UINT64_MAX;
    size_t at = all, k = o->count;

    if (!to)
        return fail("out of memory");
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
    return EXIT_OK;
}

static int add_others(updating *u, bool prune)
{
    others o = {.u = u, .prune = prune, .whole = u->named && !u->broken};
    int code = EXIT_OK;

    o.file = calloc(u->count + 1, sizeof *o.file);
    o.named = calloc(none(u) + 1, sizeof *o.named);
    o.gone = calloc(none(u) + 1, sizeof *o.gone);
    if (!o.file || !o.named || !o.gone)
        TRY(fail("out of memory"));
    TRY(find_others(&o));
    TRY(updating_match(u, o.gone, o.away));
    TRY(merge(&o));
done:
    for (size_t i = 0; i < o.count; i++)
        free(o.entry[i].name);
    free(o.entry);
    free(o.file);
    free(o.named);
    free(o.gone);
    return code;
}

/* ---- the whole ---- */

static int choose(updating *u)
{
    free(u->todo.item);
    u->todo = (words){.item = calloc(u->named + 1, sizeof *u->todo.item)};
    if (!u->todo.item)
        return fail("out of memory");
    for (size_t i = 0; i < u->count; i++)
        if (u->entry[i].todo)
            u->todo.item[u->todo.count++] = u->entry[i].path;
    return EXIT_OK;
}

int updating_list(updating *u, const words *operands,
                  const picture_options *how, bool prune)
{
    RET(list(u, operands, how));
    if (u->old)
        RET(add_others(u, prune));
    return choose(u);
}

int updating_take_over(updating *u)
{
    for (size_t i = 0; i < u->count; i++) {
        updating_entry *e = &u->entry[i];

        if (!e->matched)
            continue;
        e->name = strdup(name_from_here(u, e->path));
        if (!e->name)
            return fail("out of memory");
        e->row = e->from;
        e->todo = false;
        u->renamed++;
        u->gone -= u->named && !u->broken && !is_lost(u, e->row);
    }
    return choose(u);
}

static const char *name_of(updating *u, const updating_entry *e)
{
    const char *name = e->name             ? e->name
                       : e->row != none(u) ? vt_index_path(u->old, e->row)
                                           : name_from_here(u, e->path);

    return u->lost && !e->lost ? vt_place_absolute(u->path, name) : name;
}

/* Writes a row as it was. */
static int write_row(updating *u, vt_vectors *to, const updating_entry *e)
{
    vt_vectors_row row = {.numbers = u->row};

    if (e->row == none(u)) /* it was not embedded */
        return EXIT_OK;
    row.path = name_of(u, e);
    row.stamp = vt_index_stamp(u->old, e->row);
    return vt_index_rows(u->row, u->narrow, u->old, e->row, 1) == VITCL_OK &&
                   vt_vectors_add(to, &row) == VITCL_OK
               ? EXIT_OK
               : failed();
}

int updating_keep(updating *u, vt_vectors *to, const char *path)
{
    const updating_entry *e;
    size_t end = u->at;

    while (end < u->count && !(path && u->entry[end].todo &&
                               strcmp(u->entry[end].path, path) == 0))
        end++;
    if (path && end == u->count) { /* a folder has changed since the list */
        u->name = name_from_here(u, path);
        if (u->lost)
            u->name = vt_place_absolute(u->path, u->name);
        return EXIT_OK;
    }
    for (; u->at < end; u->at++)
        RET(write_row(u, to, &u->entry[u->at]));
    if (!path)
        return EXIT_OK;
    e = &u->entry[u->at++];
    u->name = e->stamp.size >= 0 ? name_of(u, e) : NULL;
    return u->name ? EXIT_OK : write_row(u, to, e); /* it was not there */
}

void updating_close(updating *u)
{
    for (size_t i = 0; i < u->count; i++)
        forget(&u->entry[i]);
    free(u->entry);
    free(u->todo.item);
    free(u->row);
    free(u->narrow);
    vt_index_free(u->old);
    if (u->held.path)
        vt_newfile_discard(&u->held);
}
