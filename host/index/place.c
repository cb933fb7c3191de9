/*
 * place.c - where the pictures of an index are, as seen from the current
 * folder.
 *
 * A relative path starts from the folder in which the index was written, or
 * from the current one where the index does not say, or where that folder is no
 * more. Where a picture is missing there, the index's own folder is tried: both
 * may have been moved together.
 */
#include "index/index.h"

#include "base/file.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool vt_same_folder(const char *a, const char *b)
{
    struct stat x, y;

    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

void vt_places_open(vt_places *p, const vt_index *x)
{
    const char *base = vt_index_about(x)->folder, *file = vt_index_file(x),
               *slash = strrchr(file, '/');
    const size_t n = slash ? (size_t)(slash - file) + (slash == file) : 0;

    p->x = x;
    p->base[0] = p->own[0] = '\0';
    p->known = base[0] && vt_path_is_folder(base);
    if (p->known && !vt_same_folder(base, "."))
        snprintf(p->base, sizeof p->base, "%s", base);
    if (n < sizeof p->own)
        snprintf(p->own, sizeof p->own, "%.*s", (int)n, file);
    p->is_own =
        vt_same_folder(p->own[0] ? p->own : ".", p->base[0] ? p->base : ".");
}

/* How many of the first n bytes of a folder's path are the folder above; n: the
 * path does not tell, as behind a link. */
static size_t above(const char *folder, size_t n)
{
    char parent[VT_PLACE], up[VT_PLACE];
    size_t all = n, end;

    while (all > 1 && folder[all - 1] == '/')
        all--;
    for (end = all; end && folder[end - 1] != '/';)
        end--;
    snprintf(parent, sizeof parent, "%.*s", (int)end, folder);
    return snprintf(up, sizeof up, "%.*s/..", (int)all, folder) < VT_PLACE &&
                   vt_same_folder(end ? parent : ".", up)
               ? end
               : n;
}

/* Below `folder`, "": the current one, without "X/..". The path itself, if that
 * is too long. */
static const char *join(char out[VT_PLACE], const char *folder,
                        const char *path)
{
    size_t n = strlen(folder), up;

    while (n && strncmp(path, "../", 3) == 0 && (up = above(folder, n)) < n)
        n = up, path += 3;
    if (!n || snprintf(out, VT_PLACE, "%.*s%s%s", (int)n, folder,
                       folder[n - 1] == '/' ? "" : "/", path) >= VT_PLACE)
        return path;
    return out;
}

static bool is_there(const char *path)
{
    struct stat st;

    /* An archive's member is below a file. */
    return stat(path, &st) == 0 || (errno != ENOENT && errno != ENAMETOOLONG);
}

bool vt_place_in_archive(const char *path)
{
    struct stat st;

    return stat(path, &st) != 0 && errno == ENOTDIR;
}

const char *vt_place(char out[VT_PLACE], bool *moved, const vt_places *p,
                     uint64_t row)
{
    const char *path = vt_index_path(p->x, row), *at;

    *moved = false;
    if (path[0] == '/' || !path[0])
        return path;
    at = join(out, p->base, path);
    if (p->is_own || is_there(at))
        return at;
    at = join(out, p->own, path);
    *moved = is_there(at);
    return *moved ? at : join(out, p->base, path);
}

const char *vt_place_absolute(char out[VT_PLACE], const char *path)
{
    const char *rest = strstr(path, "../") ? strrchr(path, '/') + 1 : path;
    char *folder;

    if (path[0] == '/')
        return path;
    snprintf(out, VT_PLACE, "./%.*s", (int)(rest - path), path);
    folder = realpath(out, NULL);
    if (!folder) {
        rest = path;
        folder = realpath(".", NULL);
    }
    if (!folder)
        return path;
    snprintf(out, VT_PLACE, "%s%s%s", folder, folder[1] ? "/" : "", rest);
    free(folder);
    return out;
}

void vt_place_here(char out[VT_INDEX_PATH])
{
    enum { LONGEST = 2048 };
    size_t n = 0;

    if (!getcwd(out, LONGEST))
        out[0] = '\0';
    for (const char *s = out; *s; s += n) {
        n = vt_utf8_character(s);
        if (vt_utf8_steers(s, n)) {
            out[0] = '\0';
            return;
        }
    }
}
