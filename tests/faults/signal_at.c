/*
 * signal_at.c - raise a signal at an exact point of a program.
 *
 * Preloaded with VT_SIGNAL_AT="CALL N SIGNAL", it raises SIGNAL (a number) on
 * the thread that makes the N-th call (from 1) of CALL, before the call is
 * made. CALL is fsync, rename, or the name of a file: then write() to that file
 * is counted. With VT_SIGNAL_AGAIN it is raised twice. Unlike a delay and a
 * kill, this does not depend on the machine's speed.
 */
#define _GNU_SOURCE
#include "preload.h"

#include <signal.h>
#include <unistd.h>

static void count(const char *call)
{
    static atomic_int calls;
    char name[64];
    int n, number;

    if (!preload_told("VT_SIGNAL_AT", 3, "%63s %d %d", name, &n, &number) ||
        strcmp(name, call) != 0)
        return;
    if (preload_count(&calls) != n)
        return;
    raise(number);
    if (getenv("VT_SIGNAL_AGAIN"))
        raise(number);
}

static void count_file(int fd)
{
    char link[64], path[4096];
    ssize_t n;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof path - 1);
    if (n <= 0)
        return;
    path[n] = '\0';
    count(strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
}

ssize_t write(int fd, const void *from, size_t size)
{
    count_file(fd);
    REAL(write)
    return real(fd, from, size);
}

int fsync(int fd)
{
    count("fsync");
    REAL(fsync)
    return real(fd);
}

int rename(const char *from, const char *to)
{
    count("rename");
    REAL(rename)
    return real(from, to);
}
