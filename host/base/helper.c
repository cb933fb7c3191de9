/*
 * helper.c - find, start and end our helper programs.
 *
 * They are started with posix_spawn(), not fork(), so that nothing of the host
 * is copied, whatever threads run here. A pidfd identifies the process: if the
 * host reaps children that it did not start, we never signal an unrelated
 * process.
 */
#define _GNU_SOURCE /* dladdr */
#include "base/helper.h"

#include "base/environment.h"
#include "base/memory.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

vitcl_status vt_helper_number(uint64_t *out, const char *variable,
                              uint64_t most)
{
    const char *text = vt_getenv(variable);
    unsigned long long v;
    char *end;

    if (!text || !*text)
        return VITCL_OK;
    errno = 0;
    v = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || v == 0 || v > most)
        return vt_fail(VITCL_EINVAL,
                       "%s=%.40s: must be a number from 1 to %llu", variable,
                       text, (unsigned long long)most);
    *out = v;
    return VITCL_OK;
}

/* ---- where the program is ----------------------------------------------- */

/* A module is loaded, not executed, and need not be executable. */
static int mode_of(const char *name)
{
    const size_t n = strlen(name);

    return n > 3 && strcmp(name + n - 3, ".so") == 0 ? R_OK : X_OK;
}

/* out: folder of `file` + `rest` + `name`; false: no such file. */
static bool path_from(char *out, size_t room, const char *file,
                      const char *rest, const char *name)
{
    const char *slash = strrchr(file, '/');
    const int n = slash ? (int)(slash - file) : 0;

    return slash &&
           (size_t)snprintf(out, room, "%.*s/%s%s", n, file, rest, name) <
               room &&
           access(out, mode_of(name)) == 0;
}

/* The file that this code was loaded from; "": unknown. dladdr() says it as
 * dlopen() was told: a relative path may be one of a former working directory,
 * so the kernel is asked. */
static void own_file(char out[PATH_MAX])
{
    static const char here[] = "";
    char line[PATH_MAX + 128];
    Dl_info code;
    FILE *maps;

    out[0] = '\0';
    if (dladdr(here, &code) && code.dli_fname && code.dli_fname[0] == '/') {
        snprintf(out, PATH_MAX, "%s", code.dli_fname);
        return;
    }
    maps = fopen("/proc/self/maps", "re");
    while (maps && !out[0] && fgets(line, sizeof line, maps)) {
        char *end, *path = strchr(line, '/');
        const uintptr_t from = (uintptr_t)strtoull(line, &end, 16);

        if (path && *end == '-' && from <= (uintptr_t)here &&
            (uintptr_t)here < (uintptr_t)strtoull(end + 1, NULL, 16))
            snprintf(out, PATH_MAX, "%.*s", (int)strcspn(path, "\n"), path);
    }
    if (maps)
        fclose(maps);
}

/* Searches relative to the running program and to this library. */
static bool near(char *out, size_t room, const char *name)
{
    static const char *const folders[] = {"", "../libexec/", "../../libexec/"};
    char program[PATH_MAX] = "", library[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    const char *started = (const char *)getauxval(AT_EXECFN);

    program[n > 0 ? n : 0] = 0;
    if (n <= 0 && started && !realpath(started, program)) /* no /proc */
        program[0] = '\0';
    own_file(library);
    for (size_t i = 0; i < VT_COUNT(folders); i++)
        if (path_from(out, room, program, folders[i], name) ||
            path_from(out, room, library, folders[i], name))
            return true;
    return false;
}

vitcl_status vt_helper_find(char *out, size_t room, const char *name,
                            const char *variable, const char *purpose)
{
    const char *said = vt_getenv(variable);

    if (said && *said) {
        if ((size_t)snprintf(out, room, "%s", said) < room &&
            access(out, mode_of(name)) == 0)
            return VITCL_OK;
        return vt_fail(VITCL_EIO, "%s=%.200s: no such %s", variable, said,
                       mode_of(name) == X_OK ? "program" : "module");
    }
    /* a set-user-id program may be reached by a link from any folder */
    if (!getauxval(AT_SECURE) && near(out, room, name))
        return VITCL_OK;
    if ((size_t)snprintf(out, room, "%s/%s", VT_LIBEXEC_DIR, name) < room &&
        access(out, mode_of(name)) == 0)
        return VITCL_OK;
    return vt_fail(VITCL_EIO,
                   "cannot find %s, which %s: reinstall vitcl or set %s to "
                   "its path",
                   name, purpose, variable);
}

/* ---- the process -------------------------------------------------------- */

void vt_above_two(int *fd)
{
    if (*fd >= 0 && *fd <= 2) {
        const int other = fcntl(*fd, F_DUPFD_CLOEXEC, 3);

        close(*fd);
        *fd = other;
    }
}

int vt_process_start(vt_process *out, const char *program,
                     const posix_spawn_file_actions_t *files,
                     const posix_spawnattr_t *how, char *const *argv,
                     char *const *environment)
{
    vt_process p = VT_PROCESS_NONE;
    const int error =
        posix_spawn(&p.pid, program, files, how, argv, environment);

    if (error)
        return error;
#ifdef SYS_pidfd_open
    p.handle = (int)syscall(SYS_pidfd_open, p.pid, 0);
    vt_above_two(&p.handle);
#endif
    *out = p;
    return 0;
}

int vt_process_start_bare(vt_process *out, const char *program, int zero,
                          int one, char *const *argv)
{
    static const char *const kept[] = {"LD_LIBRARY_PATH", "ASAN_OPTIONS",
                                       "UBSAN_OPTIONS", "LSAN_OPTIONS",
                                       "TSAN_OPTIONS"};
    char *environment[VT_COUNT(kept) + 1] = {NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t all;
    size_t n = 0;
    int error;

    for (size_t i = 0; i < VT_COUNT(kept); i++) {
        const char *value = vt_getenv(kept[i]);

        if (value &&
            vt_format(&environment[n], "%s=%s", kept[i], value) == VITCL_OK)
            n++;
    }
    sigfillset(&all); /* blocked until it has set its own handlers */
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&how);
    error = posix_spawn_file_actions_adddup2(&files, zero, 0);
    if (!error)
        error = posix_spawn_file_actions_adddup2(&files, one, 1);
    if (!error)
        error = posix_spawnattr_setsigmask(&how, &all);
    if (!error)
        error = posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK);
    if (!error)
        error = vt_process_start(out, program, &files, &how, argv, environment);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    while (n-- > 0)
        free(environment[n]);
    return error;
}

siginfo_t vt_process_end(vt_process *p)
{
    siginfo_t end = {0};
    int n;

    if (p->pid > 0) {
#ifdef SYS_pidfd_send_signal
        if (p->handle >= 0)
            (void)syscall(SYS_pidfd_send_signal, p->handle, SIGKILL, NULL, 0);
        else
#endif
            kill(p->pid, SIGKILL);
        do {
            n = p->handle >= 0
                    ? waitid((idtype_t)P_PIDFD, (id_t)p->handle, &end, WEXITED)
                    : waitid(P_PID, (id_t)p->pid, &end, WEXITED);
        } while (n < 0 && errno == EINTR);
        if (n < 0)
            end = (siginfo_t){0};
    }
    if (p->handle >= 0)
        close(p->handle);
    *p = VT_PROCESS_NONE;
    return end;
}
