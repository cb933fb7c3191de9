/*
 * child.c - this program once more, as a child that may crash or hang: for
 * kernels that nobody has run here before.
 */
#include "cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static pid_t start(int *out, char *const *argv)
{
    posix_spawn_file_actions_t actions;
    int ends[2];
    pid_t pid = -1;

    if (pipe(ends) != 0)
        return -1;
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    if (posix_spawn_file_actions_init(&actions) == 0) {
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
        /* A driver that crashes may have much to say. */
        if (!is_verbose())
            posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY,
                                             0);
        if (posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv,
                        environ) != 0)
            pid = -1;
        posix_spawn_file_actions_destroy(&actions);
    }
    close(ends[1]);
    if (pid < 0)
        close(ends[0]);
    *out = ends[0];
    return pid;
}

/* Until the child closes its end; false: it took too long. */
static bool listen_to(char *out, size_t size, int fd, double seconds)
{
    const double end = now() + seconds;
    size_t used = 0;

    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        const double left = end - now();
        char rest[256];
        ssize_t n;

        if (left <= 0 || stopped())
            return false;
        if (poll(&p, 1, left < 0.2 ? (int)(1e3 * left) + 1 : 200) <= 0)
            continue;
        n = used + 1 < size ? read(fd, out + used, size - 1 - used)
                            : read(fd, rest, sizeof rest);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return true;
        if (used + 1 < size)
            used += (size_t)n, out[used] = '\0';
    }
}

int child_run(char *out, size_t size, const char *const *argv, double seconds)
{
    char *list[16] = {(char *)(uintptr_t) "vitcl"};
    int fd = -1, status = 0, n = 1;
    bool ended;
    pid_t pid, dead;

    out[0] = '\0';
    for (; argv[n - 1] && n < 15; n++)
        list[n] = (char *)(uintptr_t)argv[n - 1];
    pid = start(&fd, list);
    if (pid < 0)
        return CHILD_NONE;
    ended = listen_to(out, size, fd, seconds);
    close(fd);
    if (!ended)
        kill(pid, SIGKILL);
    while ((dead = waitpid(pid, &status, 0)) < 0 && errno == EINTR)
        ;
    /* with SIGCHLD ignored by whoever started us, no status is to be had */
    return dead == pid && WIFEXITED(status) ? WEXITSTATUS(status)
                                            : CHILD_CRASHED;
}
