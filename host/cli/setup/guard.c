/*
 * guard.c - keeps the program working despite problems with a driver's cache or
 * compiler. The library does not do this: both belong to the host program.
 *
 * Caches: PoCL stores compiled code, which will be executed, below
 * XDG_CACHE_HOME or ~/.cache, and without these in /tmp/pocl, whoever created
 * that. If it cannot write, it offers no device. A folder that the user named
 * must be writable and not full; PoCL's default must also be writable by this
 * user only. Otherwise the program sets another folder: in our own cache, else
 * $TMPDIR/vitcl-UID, which our cache then uses too.
 *
 * Crashes: a driver compiles and loads between opening the device and the end
 * of the first run. If it crashes then (SIGABRT of an assertion, SIGSEGV,
 * SIGBUS of a truncated file), the program restarts once with an empty folder
 * as PoCL's cache; there are no results yet. After a second crash, or if
 * standard input was already read, it ends with a message. What a command has
 * already printed is not printed again (guard_tell()). A crash of our own code
 * at that time looks like the driver's: VITCL_RETRY=off disables the handling.
 *
 * PoCL's cache itself is never emptied: other processes may be compiling in it,
 * and PoCL aborts where a folder or file disappears under it. At its end the
 * second start moves its files over those of the same name, so a damaged one is
 * replaced.
 */
#define _XOPEN_SOURCE 700 /* nftw() */
#include "setup.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define AGAIN "VITCL_AGAIN" /* for the restart: 1; after guard_tell() 2 */
#define ROOM (16 << 20)     /* bytes that compiled programs need */

extern char **environ;

/* ---- folders ---- */

/* Is the folder writable, with enough free space? */
static bool usable(int fd)
{
    struct statvfs v;

    return faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) == 0 &&
           fstatvfs(fd, &v) == 0 &&
           (double)v.f_bavail * (double)v.f_frsize >= ROOM &&
           (v.f_files == 0 || v.f_favail > 0);
}

/* Creates the folder if necessary; false: not usable. ours: only this user may
 * own it and write to it. */
static bool folder(const char *path, bool ours)
{
    struct stat st;
    bool good;
    int fd;

    mkdir(path, 0700);
    fd = open(path,
              O_RDONLY | O_DIRECTORY | O_CLOEXEC | (ours ? O_NOFOLLOW : 0));
    if (fd < 0)
        return false;
    good = usable(fd) &&
           (!ours || (fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
                      (st.st_mode & (S_IWGRP | S_IWOTH)) == 0));
    close(fd);
    return good;
}

static char kcache[4096]; /* where PoCL stores programs */
static char aside[160];   /* what -v prints about it */

static bool below(char *out, const char *base, const char *name)
{
    const int n = snprintf(out, sizeof kcache, "%s/%s", base, name);

    return n > 0 && (size_t)n < sizeof kcache;
}

/* The user's cache folder, if it is usable. */
static bool own_base(char *base)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

    if (xdg && xdg[0] == '/')
        snprintf(base, sizeof kcache, "%s", xdg);
    else if (!home || home[0] != '/' || !below(base, home, ".cache"))
        return false;
    return folder(base, false);
}

static bool temporary_base(char *base)
{
    const char *tmp = getenv("TMPDIR");
    const char *const roots[] = {tmp && tmp[0] == '/' ? tmp : "/tmp", "/tmp",
                                 "/dev/shm"};

    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        char name[32];

        snprintf(name, sizeof name, "vitcl-%lu", (unsigned long)geteuid());
        if (below(base, roots[i], name) && folder(base, true))
            return true;
    }
    return false;
}

/* Sets PoCL's cache folder if its default is not usable. */
static void choose_caches(void)
{
    const char *named = getenv("POCL_CACHE_DIR");
    char base[sizeof kcache], ours[sizeof kcache];

    if (named && named[0] && folder(named, false)) { /* as the user set it */
        snprintf(kcache, sizeof kcache, "%s", named);
        return;
    }
    if (own_base(base)) {
        if (!(named && named[0]) && below(ours, base, "pocl") &&
            folder(ours, true)) {
            if (!below(kcache, ours, "kcache"))
                kcache[0] = '\0';
            return;
        }
        if (below(ours, base, "vitcl") && folder(ours, true) &&
            below(kcache, ours, "pocl") && folder(kcache, true)) {
            setenv("POCL_CACHE_DIR", kcache, 1);
            snprintf(aside, sizeof aside, "PoCL's cache: %.120s", kcache);
            return;
        }
    }
    if (temporary_base(base) && below(kcache, base, "pocl") &&
        folder(kcache, true)) {
        setenv("XDG_CACHE_HOME", base, 1);
        setenv("POCL_CACHE_DIR", kcache, 1);
        snprintf(aside, sizeof aside,
                 "no folder of yours can hold a cache: %.100s does", base);
        return;
    }
    kcache[0] = '\0';
    snprintf(aside, sizeof aside, "no folder can hold a cache");
}

/* ---- the second start's folder ---- */

#define FRESH "again-"

static char fresh[sizeof kcache];
static pid_t fresh_owner;

static int remove_one(const char *path, const struct stat *st, int type,
                      struct FTW *at)
{
    (void)st, (void)type, (void)at;
    (void)remove(path);
    return 0;
}

/* Moves what PoCL stored, which is in folders whose names are two letters. */
static int move_one(const char *path, const struct stat *st, int type,
                    struct FTW *at)
{
    const char *const inside = path + strlen(fresh) + 1;
    char to[sizeof kcache];

    (void)st;
    if (at->level == 0 || strcspn(inside, "/") != 2 ||
        !below(to, kcache, inside))
        return 0;
    if (type == FTW_D)
        (void)mkdir(to, 0700);
    else if (type == FTW_F)
        (void)rename(path, to);
    return 0;
}

/* A lock on the folder lasts as long as its process. */
static bool lock(const char *path)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
        return true; /* it stays open */
    if (fd >= 0)
        close(fd);
    return false;
}

/* Removes the folders of processes that crashed again. */
static void remove_stale(void)
{
    DIR *d = opendir(kcache);
    char path[sizeof kcache];

    for (const struct dirent *e; d && (e = readdir(d));)
        if (strncmp(e->d_name, FRESH, strlen(FRESH)) == 0 &&
            below(path, kcache, e->d_name) && lock(path))
            (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    if (d)
        closedir(d);
}

static void leave_fresh(void)
{
    if (getpid() != fresh_owner)
        return;
    (void)nftw(fresh, move_one, 16, FTW_PHYS);
    (void)nftw(fresh, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void enter_fresh(void)
{
    remove_stale();
    if (!below(fresh, kcache, FRESH "XXXXXX") || !mkdtemp(fresh))
        return;
    fresh_owner = getpid();
    if (lock(fresh) && atexit(leave_fresh) == 0)
        setenv("POCL_CACHE_DIR", fresh, 1);
    else
        (void)rmdir(fresh);
}

/* ---- crashes ---- */

/* AddressSanitizer reports the others. */
#ifdef __SANITIZE_ADDRESS__
static const int signals[] = {SIGABRT};
#else
static const int signals[] = {SIGABRT, SIGSEGV, SIGBUS};
#endif
#define SIGNALS (sizeof signals / sizeof *signals)

static char *const *words_again;
static char **environment_again;
static char again[] = AGAIN "=1";
static bool told;
static volatile sig_atomic_t armed, second, spent;
static pid_t process;

static void say_plainly(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        return;
}

static sigset_t mask_again; /* of the main thread, at its start */

/* Only async-signal-safe calls. */
static void crashed(int number)
{
    (void)number;
    if (!armed || getpid() != process)
        return; /* the default action comes next: SA_RESETHAND */
    armed = 0;
    if (!second && !spent && environment_again) {
        say_plainly("vitcl: the OpenCL driver crashed; trying again with "
                    "an empty PoCL cache\n");
        /* A device's thread blocks signals, and execve() keeps that. */
        sigprocmask(SIG_SETMASK, &mask_again, NULL);
        execve("/proc/self/exe", words_again, environment_again);
    }
    if (second || !kcache[0]) {
        say_plainly("vitcl: the OpenCL driver crashed; -v shows where, another "
                    "-d may work\n");
    } else { /* the input cannot be read again: only the user can retry */
        say_plainly("vitcl: the OpenCL driver crashed; delete ");
        say_plainly(kcache);
        say_plainly(" and run it again; -v shows where\n");
    }
    _exit(EXIT_FAILED);
}

void guard_arguments(char *const *argv)
{
    const char *before = getenv(AGAIN);

    sigprocmask(SIG_SETMASK, NULL, &mask_again);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigdelset(&mask_again, signals[i]);
    words_again = argv;
    second = before != NULL;
    told = before && strcmp(before, "2") == 0;
    unsetenv(AGAIN);
}

static void copy_environment(void)
{
    size_t n = 0;

    while (environ && environ[n])
        n++;
    environment_again = calloc(n + 2, sizeof *environment_again);
    if (!environment_again)
        return;
    if (n)
        memcpy(environment_again, environ, n * sizeof *environ);
    environment_again[n] = again;
}

/* Before a driver is loaded: chooses a trusted folder for its cache. */
static void guard_caches(void)
{
    static bool done;

    if (done)
        return;
    done = true;
    choose_caches();
    if (second && kcache[0])
        enter_fresh();
    if (aside[0] && is_verbose())
        note("%s", aside);
}

/* Did the user set VITCL_RETRY=off? */
static bool off(void)
{
    const char *word = getenv("VITCL_RETRY");

    return word && strcmp(word, "off") == 0;
}

void guard_begin(void)
{
    guard_caches();
    if (off())
        return;
    struct sigaction action = {.sa_handler = crashed};
    sigemptyset(&action.sa_mask);
    action.sa_flags = (int)SA_RESETHAND;
    process = getpid();
    free(environment_again);
    copy_environment();
    for (size_t i = 0; i < SIGNALS; i++)
        sigaction(signals[i], &action, NULL);
    armed = 1;
}

void guard_end(void)
{
    if (!armed)
        return;
    armed = 0;
    for (size_t i = 0; i < SIGNALS; i++)
        signal(signals[i], SIG_DFL);
    free(environment_again);
    environment_again = NULL;
}

void guard_spent(void)
{
    spent = 1;
}

bool guard_told(void)
{
    return told;
}

void guard_tell(void)
{
    again[sizeof again - 2] = '2';
}
