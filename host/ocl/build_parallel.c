/*
 * build_parallel.c - builds the programs of a plan on all cores, for a first
 * start.
 *
 * PoCL compiles under one lock per process, so threads gain nothing: two take
 * as long as one. Processes do gain. A forked child builds from the same list
 * as we do, saves its programs in the program cache and ends; we load them from
 * there. That is safe if no other thread of the process uses the driver during
 * the fork, which only the program can know: it opts in with
 * VITCL_BUILD_FORK=1, as vitcl does. A library in another program never forks.
 * This was tested with PoCL, so it is used with PoCL only. Other drivers build
 * one program after the other, when they are needed or, where somebody watches
 * (vt_dev_watch()), before, so that their number is known. So does PoCL without
 * a cache, or if a child fails or stays silent for too long.
 */
#include "ocl/cache.h"
#include "ocl/objects.h"

#include "base/environment.h"
#include "base/log.h"
#include "base/memory.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    PROGRAMS = 256,
    CHILDREN = 7,
    PATIENCE_MS = 30000 /* for one program */
};

/* Shared by all of the processes. */
typedef struct board {
    atomic_uint next, built;
    unsigned told; /* of the built ones; the parent's alone */
} board;

static bool may_fork(const vt_dev *dev)
{
    const char *wanted = vt_getenv("VITCL_BUILD_FORK");

    return wanted && strcmp(wanted, "1") == 0 && dev->class == VT_CLASS_CPU &&
           strcmp(dev->info.platform, "Portable Computing Language") == 0;
}

/* Reports the programs that were built since the last call. */
static void tell(board *b, vt_dev *dev)
{
    const unsigned built = atomic_load(&b->built);

    vt_watch(dev, 0, built - b->told);
    b->told = built;
}

/* Takes programs from the list until it is empty. */
static void work(board *b, vt_dev *dev, vt_program *const *list, unsigned n)
{
    cl_program program;
    unsigned i;

    vt_watch_list(true);
    while ((i = atomic_fetch_add(&b->next, 1)) < n)
        if (vt_program_get(&program, dev, list[i]) == VITCL_OK) {
            atomic_fetch_add(&b->built, 1);
            if (dev->report)
                tell(b, dev);
        }
    vt_watch_list(false);
}

_Noreturn static void child(board *b, vt_dev *dev, vt_program *const *list,
                            unsigned n, pid_t parent)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    vt_ocl_adopt();
    vt_log_forked();
    vt_watch_forked(dev);
    if (getppid() == parent)
        work(b, dev, list, n);
    _exit(0); /* run no exit handlers, flush no buffers */
}

/* Waits for a child; one that finishes no program for too long is killed. */
static void await(pid_t pid, board *b, vt_dev *dev)
{
    const struct timespec pause = {0, 5000000};
    unsigned built = atomic_load(&b->built), waited = 0;
    int status;

    for (;;) {
        const pid_t got = waitpid(pid, &status, WNOHANG);

        if (got == pid || (got < 0 && errno != EINTR))
            return;
        if (atomic_load(&b->built) != built) {
            built = atomic_load(&b->built), waited = 0;
            tell(b, dev);
        }
        if ((waited += 5) >= PATIENCE_MS) {
            kill(pid, SIGKILL);
            while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
            return;
        }
        nanosleep(&pause, NULL);
    }
}

static void build_list(vt_dev *dev, vt_program *const *list, unsigned n,
                       unsigned most)
{
    pid_t pids[CHILDREN];
    const pid_t parent = getpid();
    unsigned children = 0, before, own;
    board *b = mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (b == MAP_FAILED)
        return;
    while (children < most && (pids[children] = fork()) >= 0) {
        if (pids[children] == 0)
            child(b, dev, list, n, parent);
        children++;
    }
    vt_watch(dev, n, 0); /* after the forks: its owner may start a thread */
    before = (unsigned)atomic_load(&dev->programs_built);
    work(b, dev, list, n);
    for (unsigned i = 0; i < children; i++)
        await(pids[i], b, dev);
    vt_watch(dev, 0, n - b->told); /* failed ones, too */
    /* programs that the children built count as built */
    own = (unsigned)atomic_load(&dev->programs_built) - before;
    if (atomic_load(&b->built) > own)
        atomic_fetch_add(&dev->programs_built, atomic_load(&b->built) - own);
    munmap(b, sizeof *b);
}

void vt_programs_build(vt_dev *dev)
{
    vt_program *list[PROGRAMS];
    const uint32_t units = dev->info.compute_units;
    const bool forks = may_fork(dev) && units > 1 && vt_cache_on();
    unsigned n;

    if (!forks && !dev->report)
        return;
    n = vt_programs_missing(list, PROGRAMS, dev);
    if (n > 1)
        build_list(dev, list, n,
                   forks ? VT_MIN(VT_MIN(units, n) - 1, (unsigned)CHILDREN)
                         : 0);
}
