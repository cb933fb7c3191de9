/*
 * start.c - what vitcl does first; and how it becomes the package vitcl.study.
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

#define STARTER "VITCL_STARTER" /* vitcl's descriptor, for vitcl.study */

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

int become_study(char *const *argument, size_t count)
{
    enum { MOST = 64 };
    char path[PATH_MAX], number[16], python[] = "python3";
    char *argv[MOST + 3] = {python, path};
    int self;

    RET(vt_helper_find(path, sizeof path, "vitcl-study", "VITCL_STUDY",
                       "runs studies"));
    /* It stays this file, even if another is installed meanwhile. */
    self = open("/proc/self/exe", O_PATH);
    snprintf(number, sizeof number, "%d", self);
    if (self < 0 || setenv(STARTER, number, 1) != 0)
        return fail("/proc/self/exe: %s", strerror(errno));
    memcpy(argv + 2, argument,
           (count < MOST ? count : MOST) * sizeof *argument);
    execvp(python, argv);
    if (errno == ENOENT)
        return fail("studies need python3 with NumPy, and python3 is not "
                    "installed; on Debian: apt install python3-numpy");
    return fail("python3: cannot be started: %s", strerror(errno));
}
