/*
 * process.c - vitcl in processes of its own: one trains or scores.
 *
 * A process ends with this one, however this one ends, so that a study that was
 * killed can be started again at once.
 */
#define _GNU_SOURCE
#include "base/memory.h"
#include "study/private.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_WORDS = 64 };

/* In the new process; only async-signal-safe calls. */
static void become(int program, char *const *argv, int in, int out,
                   int messages, pid_t parent)
{
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent ||
        dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
        dup2(messages, STDERR_FILENO) < 0)
        _exit(126);
    fexecve(program, argv, environ);
    _exit(127);
}

/* Has this command --precision? */
static bool multiplies(const char *command)
{
    static const char *const all[] = {"train", "finetune", "eval", "fewshot"};

    for (size_t i = 0; i < VT_COUNT(all); i++)
        if (strcmp(command, all[i]) == 0)
            return true;
    return false;
}

vitcl_status vt_process_begin(int *pid, const vt_experiment *e,
                              const char *const *words, const char *out,
                              const char *messages)
{
    const char *more[] = {"--precision", e->options.precision};
    char name[] = "vitcl", *argv[MOST_WORDS + 4] = {name};
    const pid_t parent = getpid();
    const int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const int to = open(out ? out : "/dev/null",
                        O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    const int also =
        open(messages, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    vitcl_status st = VITCL_OK;
    pid_t child = -1;
    int error;

    size_t n = 0;

    for (; n < MOST_WORDS && words[n]; n++)
        memcpy(&argv[n + 1], &words[n], sizeof *argv); /* exec's char * */
    if (e->options.precision && multiplies(words[0]))
        memcpy(&argv[n + 1], more, sizeof more);
    if (in >= 0 && to >= 0 && also >= 0)
        child = fork();
    error = errno;
    if (child == 0)
        become(e->options.program, argv, in, to, also, parent);
    if (child < 0)
        st = vt_fail(VITCL_EIO, "%s: no process could be started: %s",
                     to < 0 && out ? out : messages, strerror(error));
    if (in >= 0)
        close(in);
    if (to >= 0)
        close(to);
    if (also >= 0)
        close(also);
    *pid = child > 0 ? child : 0;
    return st;
}

vitcl_status vt_process_poll(bool *ended, int *code, int pid)
{
    int how = 0;
    const pid_t got = waitpid(pid, &how, WNOHANG);

    *ended = got == pid;
    if (got < 0 && errno != EINTR)
        return vt_fail(VITCL_EIO, "a process of the study was lost: %s",
                       strerror(errno));
    if (*ended)
        *code = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
    return VITCL_OK;
}

void vt_process_stop(int pid)
{
    int how;

    kill(pid, SIGTERM);
    while (waitpid(pid, &how, 0) < 0 && errno == EINTR)
        ;
}

void vt_process_pause(void)
{
    const struct timespec t = {.tv_nsec = 20 * 1000 * 1000};

    nanosleep(&t, NULL);
}

void vt_study_last_line(char *out, size_t room, const char *path)
{
    FILE *f = fopen(path, "re");
    char *line = NULL;
    size_t size = 0;

    out[0] = '\0';
    while (f && getline(&line, &size, f) > 0) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0])
            snprintf(out, room, "%s", line);
    }
    free(line);
    if (f)
        fclose(f);
}

vitcl_status vt_process_run(const vt_experiment *e, const char *const *words,
                            const char *out, const char *messages,
                            const char *what)
{
    bool ended = false;
    int pid, code = 0;

    VT_RET(vt_process_begin(&pid, e, words, out, messages));
    while (!ended) {
        if (e->options.stop && e->options.stop(e->options.context)) {
            vt_process_stop(pid);
            return vt_fail(VITCL_ESTOPPED, "stopped");
        }
        VT_RET(vt_process_poll(&ended, &code, pid));
        if (!ended)
            vt_process_pause();
    }
    if (code != 0) {
        char line[512];

        vt_study_last_line(line, sizeof line, messages);
        return vt_fail(VITCL_EIO, "%s failed (exit status %d): %s", what, code,
                       line);
    }
    return VITCL_OK;
}
