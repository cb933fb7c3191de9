/*
 * user_dir.c - the user's own folders. user_dir.h says what is trusted there
 * and why.
 */
#include "base/user_dir.h"

#include "base/environment.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static bool ours(int fd, mode_t type)
{
    struct stat st;

    return fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == type &&
           st.st_uid == geteuid() && (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool vt_user_file(int fd)
{
    return ours(fd, S_IFREG);
}

/* The folder that contains the folder "vitcl". */
static bool parent(char *out, size_t size, vt_user_dir dir)
{
    const bool cache = dir == VT_USER_CACHE;
    const char *base = vt_getenv(cache ? "XDG_CACHE_HOME" : "XDG_CONFIG_HOME");
    const char *home = vt_getenv("HOME");
    int n;

    if (base && base[0] == '/')
        n = snprintf(out, size, "%s", base);
    else if (home && home[0] == '/')
        n = snprintf(out, size, "%s/%s", home, cache ? ".cache" : ".config");
    else
        return false;
    return n > 0 && (size_t)n + sizeof "/vitcl" <= size;
}

bool vt_user_path(char *out, size_t size, vt_user_dir dir)
{
    if (!parent(out, size, dir))
        return false;
    strcat(out, "/vitcl");
    return true;
}

int vt_user_folder(vt_user_dir dir, bool make)
{
    char path[4096];
    int fd, why = 0; /* errno of a failed mkdir() */

    errno = 0;
    if (!parent(path, sizeof path, dir))
        return -1;
    if (make && mkdir(path, 0700) != 0 && errno != EEXIST)
        why = errno;
    strcat(path, "/vitcl");
    if (make && mkdir(path, 0700) != 0 && errno != EEXIST && !why)
        why = errno;
    fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        errno = why ? why : errno;
    } else if (!ours(fd, S_IFDIR)) {
        close(fd);
        fd = -1, errno = 0;
    }
    return fd;
}

/* Non-blocking: it may be a pipe. */
int vt_user_open(int folder, const char *name)
{
    return openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
}

/* Once a day is enough, and avoids disk writes. */
void vt_user_used(int fd)
{
    struct stat st;

    if (fstat(fd, &st) == 0 && st.st_mtime < time(NULL) - 86400)
        (void)futimens(fd, NULL);
}

bool vt_user_write(int folder, const char *name, const vt_user_part *parts,
                   size_t n)
{
    static atomic_uint count;
    char temporary[128];
    unsigned tries = 0;
    uint64_t at = 0;
    int fd, error = 0;

    do { /* in a container, a killed process had the same number */
        snprintf(temporary, sizeof temporary, "%.80s.%ld.%u", name,
                 (long)getpid(), atomic_fetch_add(&count, 1));
        fd = openat(folder, temporary,
                    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    } while (fd < 0 && errno == EEXIST && ++tries < 100);
    if (fd < 0)
        return false;
    for (size_t i = 0; i < n && !error; at += parts[i++].size)
        error = vt_write_at(fd, parts[i].data, parts[i].size, at);
    if (!error &&
        (fsync(fd) != 0 || renameat(folder, temporary, folder, name) != 0))
        error = errno;
    if (error)
        unlinkat(folder, temporary, 0);
    close(fd);
    errno = error == VT_SHORT ? ENOSPC : error;
    return !error;
}
