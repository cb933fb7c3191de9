/*
 * place.c - whether a file can be written later: said before hours of work.
 */
#include "base/file.h"
#include "setup.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Splits a path into its folder and the last name, "" behind a slash. */
static bool folder_of(char out[PATH_MAX], const char **name, const char *path)
{
    const char *slash = strrchr(path, '/');
    const size_t n = slash ? (size_t)(slash - path) : 1;

    *name = slash ? slash + 1 : path;
    if (n >= PATH_MAX)
        return false;
    memcpy(out, slash ? path : ".", n);
    out[n] = '\0';
    if (n == 0)
        strcpy(out, "/");
    return true;
}

/* The path without slashes at its end. */
static bool trim(char out[PATH_MAX], const char *path)
{
    size_t n = strlen(path);

    while (n > 1 && path[n - 1] == '/')
        n--;
    if (n >= PATH_MAX)
        return false;
    memcpy(out, path, n);
    out[n] = '\0';
    return true;
}

/* Do two paths of a folder that does not exist yet name the same? */
static bool is_same_folder(const char *a, const char *b)
{
    const char *path[2] = {a, b}, *name[2];
    char copy[2][PATH_MAX], folder[2][PATH_MAX], real[2][PATH_MAX];

    for (int i = 0; i < 2; i++)
        if (!trim(copy[i], path[i]) ||
            !folder_of(folder[i], &name[i], copy[i]) ||
            !realpath(folder[i], real[i]))
            return false;
    return strcmp(real[0], real[1]) == 0 && strcmp(name[0], name[1]) == 0;
}

int place_folder(const char *path)
{
    char folder[PATH_MAX], own[PATH_MAX];
    const char *name;
    struct stat st;

    if (!trim(own, path) || !folder_of(folder, &name, own))
        return fail("%.200s..: the path is too long", path);
    if (stat(own, &st) == 0 && !S_ISDIR(st.st_mode))
        return fail("%s: is not a folder", path);
    if (access(access(own, F_OK) == 0 ? own : folder, W_OK | X_OK) == 0)
        return EXIT_OK;
    return fail("%s: cannot make the folder: %s", path, strerror(errno));
}

int place_ready(const char *path, const char *made)
{
    char folder[PATH_MAX], *target = NULL;
    const char *name;
    struct stat st;
    bool fits;
    int why;

    RET(vt_newfile_target(&target, path));
    fits = folder_of(folder, &name, target);
    free(target);
    if (!fits)
        return fail("%.200s..: the path is too long", path);
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return fail("%s: is a folder, not a file", path);
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return EXIT_OK; /* a device, or a pipe */
    if (access(folder, W_OK | X_OK) == 0)
        return EXIT_OK;
    why = errno;
    if (made && why == ENOENT && is_same_folder(folder, made))
        return EXIT_OK;
    return fail("%s: cannot write: %s", path, strerror(why));
}
