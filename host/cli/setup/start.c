/*
 * start.c - what vitcl and vitcl-study do first; the one becomes the other.
 */
#define _GNU_SOURCE /* O_PATH */
#include "start.h"

#include "base/helper.h"
#include "setup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STARTER "VITCL_STARTER" /* vitcl's descriptor, for vitcl-study */

/* Opens closed standard streams so that every call on them fails: a file or
 * socket opened later must not become standard output. */
static void hold_streams(void)
{
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
            open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
            _exit(EXIT_FAILED);
}

int begin_program(char *const *argv)
{
    hold_streams();
    /* This thread prints numbers with a point, even if a driver changes the
     * process's locale. */
    uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
    note_signals();
    /* PoCL would compile each kernel again for the size of its launch, but ours
     * for CPUs have work-groups of one. Must be set before it is loaded. */
    setenv("POCL_WORK_GROUP_SPECIALIZATION", "0", 0);
    /* Only one thread uses a device, so the first start may build programs in
     * processes. */
    setenv("VITCL_BUILD_FORK", "1", 0);
    guard_arguments(argv);
    return usual_threads();
}

int become_study(char **argv)
{
    char path[PATH_MAX], name[] = "vitcl-study", number[16];
    int self;

    RET(vt_helper_find(path, sizeof path, name, "VITCL_STUDY", "runs studies"));
    /* It stays this file, even if another is installed meanwhile. */
    self = open("/proc/self/exe", O_PATH);
    snprintf(number, sizeof number, "%d", self);
    if (self < 0 || setenv(STARTER, number, 1) != 0)
        return fail("/proc/self/exe: %s", strerror(errno));
    argv[0] = name;
    execv(path, argv);
    return fail("%s: cannot be started: %s", path, strerror(errno));
}

int starter(void)
{
    const char *const text = getenv(STARTER);
    const int fd = text ? (int)strtol(text, NULL, 10) : -1;

    unsetenv(STARTER);
    return fd > 2 && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 ? fd : -1;
}
