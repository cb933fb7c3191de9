/*
 * updating.c - see updating.h.
 */
#include "updating.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

vt_stamp stamp_of(const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return (vt_stamp){.size = -1, .changed = -1};
    return (vt_stamp){.size = (int64_t)st.st_size,
                      .changed = (int64_t)st.st_mtim.tv_sec * 1000000000 +
                                 (int64_t)st.st_mtim.tv_nsec};
}

/* The row of a picture that has not changed since. */
static uint64_t find(const vt_index *old, const char *path, vt_stamp now_)
{
    const uint64_t none = old ? vt_index_count(old) : 0,
                   row = old ? vt_index_find(old, path) : none;
    vt_stamp then;

    if (row == none || now_.size < 0)
        return none;
    then = vt_index_stamp(old, row);
    return then.size == now_.size && then.changed == now_.changed ? row : none;
}

static int add(updating *u, const char *path, const char *error)
{
    updating_entry *e;

    if (u->count == u->room) {
        const size_t room = u->room ? 2 * u->room : 1024;
        updating_entry *more = realloc(u->entry, room * sizeof *more);

        if (!more)
            return fail("out of memory");
        u->entry = more, u->room = room;
    }
    e = &u->entry[u->count];
    *e = (updating_entry){.path = strdup(path), .stamp = stamp_of(path)};
    if (!e->path)
        return fail("out of memory");
    u->count++;
    e->row = error ? (u->old ? vt_index_count(u->old) : 0)
                   : find(u->old, path, e->stamp);
    return EXIT_OK;
}

static int list(updating *u, const words *operands, const picture_options *how)
{
    picture_paths *s = paths_open(operands, how);
    const char *path, *error = NULL;
    int code = s ? EXIT_OK : fail("out of memory");

    while (code == EXIT_OK && (path = paths_next(s, &error))) {
        if (error && strcmp(path, "-") == 0) { /* the list's own error */
            note("%s", error);
            u->broken = true;
        } else {
            code = add(u, path, error);
        }
    }
    if (code == EXIT_OK && error)
        code = fail("%s", error);
    if (s)
        paths_left(&u->left, s);
    paths_close(s);
    return code;
}

static int choose(updating *u)
{
    const uint64_t none = u->old ? vt_index_count(u->old) : 0;

    u->todo.item = calloc(u->count + 1, sizeof *u->todo.item);
    if (!u->todo.item)
        return fail("out of memory");
    for (size_t i = 0; i < u->count; i++)
        if (u->entry[i].row == none)
            u->todo.item[u->todo.count++] = u->entry[i].path;
    return EXIT_OK;
}

int updating_open(updating *u, const char *index)
{
    size_t width = 1;

    *u = (updating){.count = 0};
    if (access(index, F_OK) == 0) {
        if (vt_index_open(&u->old, index) != VITCL_OK ||
            vt_index_sort(u->old) != VITCL_OK)
            return failed();
        width = vt_index_width(u->old);
    }
    u->row = malloc(width * sizeof *u->row);
    u->narrow = malloc(width * sizeof *u->narrow);
    return u->row && u->narrow ? EXIT_OK : fail("out of memory");
}

int updating_list(updating *u, const words *operands,
                  const picture_options *how)
{
    const int code = list(u, operands, how);

    return code == EXIT_OK ? choose(u) : code;
}

int updating_keep(updating *u, vt_vectors *to, bool all)
{
    const uint64_t none = u->old ? vt_index_count(u->old) : 0;

    for (; u->at < u->count; u->at++) {
        const updating_entry *e = &u->entry[u->at];
        const vt_vectors_row row = {
            .path = e->path, .stamp = e->stamp, .numbers = u->row};

        if (e->row == none && all)
            continue;
        if (e->row == none)
            return EXIT_OK;
        if (vt_index_rows(u->row, u->narrow, u->old, e->row, 1) != VITCL_OK ||
            vt_vectors_add(to, &row) != VITCL_OK)
            return failed();
    }
    return EXIT_OK;
}

vt_stamp updating_take(updating *u)
{
    if (u->at < u->count)
        return u->entry[u->at++].stamp;
    return (vt_stamp){.size = -1, .changed = -1};
}

void updating_close(updating *u)
{
    for (size_t i = 0; i < u->count; i++)
        free(u->entry[i].path);
    free(u->entry);
    free(u->todo.item);
    free(u->row);
    free(u->narrow);
    vt_index_free(u->old);
}
