/*
 * attempt.c - start vitcl-try, read its answer, and end it.
 *
 * The process inherits the host's environment, which decides which drivers
 * exist and how they behave, but none of the host's descriptors, signal
 * handlers or signal mask. Its answer counts, not its exit status: a host that
 * ignores SIGCHLD or reaps every child leaves no exit status to read.
 */
#define _GNU_SOURCE /* environ, pipe2 */
#include "base/attempt.h"

#include "base/clock.h"
#include "base/helper.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECONDS 60

static vitcl_status find(char program[PATH_MAX])
{
    return vt_helper_find(program, PATH_MAX, "vitcl-try", "VITCL_TRY",
                          "tests instructions");
}

vitcl_status vt_attempt_possible(void)
{
    char program[PATH_MAX];

    return find(program);
}

static vitcl_status usual_seconds(uint64_t *out)
{
    *out = SECONDS;
    return vt_helper_number(out, "VITCL_TRY_SECONDS", 86400);
}

vitcl_status vt_attempt_setting(void)
{
    uint64_t seconds;

    return usual_seconds(&seconds);
}

/* ---- pipes ---- */

typedef struct listener { /* reads lines from one end of a pipe */
    int fd;               /* -1: closed */
    size_t used;
    bool whole; /* line[] is complete */
    char line[VT_ATTEMPT_ROOM];
} listener;

static void hush(listener *l)
{
    if (l->fd >= 0)
        close(l->fd);
    l->fd = -1;
}

/* Reads all that is available. The first line of the answer is kept; all other
 * lines are logged. */
static void hear(listener *l, bool answer)
{
    char some[512];
    ssize_t n;

    while (l->fd >= 0) {
        n = read(l->fd, some, sizeof some);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0)
            hush(l);
        for (ssize_t i = 0; i < n && !l->whole; i++) {
            const bool end = some[i] == '\n';

            if (!end && some[i] && l->used + 1 < sizeof l->line)
                l->line[l->used++] = some[i];
            l->line[l->used] = '\0';
            l->whole = end && answer;
            if (end && !answer) {
                vt_log("vitcl-try: %s", l->line);
                l->used = 0;
            }
        }
    }
}

/* ends[0] is ours, ends[1] is the child's. */
static bool open_pipe(int ends[2])
{
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    for (int i = 0; i < 2; i++)
        vt_above_two(&ends[i]);
    return ends[0] >= 0 && ends[1] >= 0 &&
           fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
}

static void close_ends(int ends[2])
{
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0)
            close(ends[i]);
}

/* ---- the process ---- */

/* log: the descriptor for its log lines; -1: none. */
static int start(vt_process *out, const char *program, char *const *argv,
                 int answer, int log)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t all, none;
    int error;

    sigfillset(&all);
    sigemptyset(&none);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&how);
    error = posix_spawn_file_actions_adddup2(&files, answer, 0);
    for (int fd = 1; fd <= 2 && !error; fd++)
        error = log >= 0 ? posix_spawn_file_actions_adddup2(&files, log, fd)
                         : posix_spawn_file_actions_addopen(
                               &files, fd, "/dev/null", O_WRONLY, 0);
    if (!error)
        error = posix_spawnattr_setsigmask(&how, &none);
    if (!error)
        error = posix_spawnattr_setsigdefault(&how, &all);
    if (!error)
        error = posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK |
                                                   POSIX_SPAWN_SETSIGDEF);
    if (!error)
        error = vt_process_start(out, program, &files, &how, argv, environ);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    return error;
}

/* Has the process ended? Used without a handle. Does not reap it. */
static bool gone(const vt_process *p)
{
    siginfo_t end = {0};

    return waitid(P_PID, (id_t)p->pid, &end, WEXITED | WNOHANG | WNOWAIT) < 0 ||
           end.si_pid == p->pid;
}

/* Waits until there is an answer or the process has ended. */
static vitcl_status listen_to(const vt_process *p, listener *answer,
                              listener *talk, const vt_attempt *a,
                              double seconds)
{
    const double from = vt_now_ms();

    while (!answer->whole) {
        struct pollfd fds[] = {{.fd = p->handle, .events = POLLIN},
                               {.fd = answer->fd, .events = POLLIN},
                               {.fd = talk->fd, .events = POLLIN}};
        const double done = 1e-3 * (vt_now_ms() - from);
        bool over;

        if (done >= seconds)
            return vt_fail(VITCL_EDEVICE, "it took longer than %g s", seconds);
        if (a->stop &&
            a->stop(a->stop_context, (uint64_t)done, (uint64_t)seconds))
            return vt_fail(VITCL_ESTOPPED, "stopped by the caller");
        poll(fds, VT_COUNT(fds), p->handle >= 0 ? 100 : 20);
        over = p->handle >= 0 ? fds[0].revents != 0 : gone(p);
        hear(talk, false);
        hear(answer, true); /* all it wrote before it ended */
        if (over)
            break;
    }
    return VITCL_OK;
}

/* Explains from its exit why there is no answer. A signal from outside says
 * nothing about the driver. */
static vitcl_status judge(siginfo_t end)
{
    const bool killed = end.si_code == CLD_KILLED || end.si_code == CLD_DUMPED;
    const int s = end.si_status;

    if (killed && (s == SIGINT || s == SIGTERM || s == SIGHUP || s == SIGQUIT ||
                   s == SIGKILL))
        return vt_fail(VITCL_ESTOPPED, "it was killed by signal %d", s);
    if (killed)
        return vt_fail(VITCL_EDEVICE, "it crashed with signal %d", s);
    return vt_fail(VITCL_EDEVICE, "it ended without an answer");
}

static vitcl_status take(char *answer, size_t size, const char *line)
{
    int status, used = 0;

    if (strncmp(line, "ok ", 3) == 0) {
        snprintf(answer, size, "%s", line + 3);
        return VITCL_OK;
    }
    if (sscanf(line, "no %d %n", &status, &used) == 1 && used > 0 && status < 0)
        return vt_fail((vitcl_status)status, "%s", line + used);
    return vt_fail(VITCL_EDEVICE, "unexpected answer \"%.40s\"", line);
}

vitcl_status vt_attempt_run(char *answer, size_t size, const vt_attempt *a)
{
    char program[PATH_MAX], limit[24], logs[2] = "0";
    char *argv[4 + VT_COUNT(a->words)] = {program, limit, logs};
    listener said = {.fd = -1}, talk = {.fd = -1};
    int pipes[2][2] = {{-1, -1}, {-1, -1}}, error;
    vt_process p = VT_PROCESS_NONE;
    uint64_t seconds;
    siginfo_t end;
    vitcl_status st;

    VT_TRY(find(program));
    VT_TRY(usual_seconds(&seconds));
    if (a->seconds > 0)
        seconds = (uint64_t)a->seconds + 1;
    snprintf(limit, sizeof limit, "%llu", (unsigned long long)seconds + 5);
    logs[0] = vt_logs() ? '1' : '0';
    for (size_t i = 0; i < VT_COUNT(a->words) && a->words[i]; i++)
        argv[3 + i] = (char *)(uintptr_t)a->words[i];
    if (!open_pipe(pipes[0]) || (vt_logs() && !open_pipe(pipes[1])))
        VT_TRY(vt_fail(VITCL_ENOMEM, "cannot create a pipe for vitcl-try: %s",
                       strerror(errno)));
    error = start(&p, program, argv, pipes[0][1], pipes[1][1]);
    if (error)
        VT_TRY(vt_fail(VITCL_EIO, "cannot start %s: %s", program,
                       strerror(error)));
    said.fd = pipes[0][0], talk.fd = pipes[1][0];
    close(pipes[0][1]), pipes[0][0] = pipes[0][1] = -1;
    if (pipes[1][1] >= 0)
        close(pipes[1][1]), pipes[1][0] = pipes[1][1] = -1;
    st = listen_to(&p, &said, &talk, a,
                   a->seconds > 0 ? a->seconds : (double)seconds);
    end = vt_process_end(&p);
    hear(&talk, false);
    if (st == VITCL_OK)
        st = said.whole ? take(answer, size, said.line) : judge(end);
done:
    hush(&said);
    hush(&talk);
    close_ends(pipes[0]);
    close_ends(pipes[1]);
    return st;
}

double vt_attempt_number(const char *answer)
{
    const locale_t before = vt_point_begin();
    const double x = strtod(answer, NULL);

    vt_point_end(before);
    return x;
}
