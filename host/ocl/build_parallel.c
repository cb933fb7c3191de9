/*
 * build_parallel.c - builds the programs of a plan on all cores, for a first
 * start.
 *
 * PoCL compiles under one lock per process, so threads gain nothing: two take
 * as long as one. Processes do gain. Forked children build what is on the list,
 * save it in the program cache and end; we load it from there. We compile
 * nothing ourselves: the compiler keeps PoCL's library in small pieces, which
 * a child need not free, but we would take 0.1 s to do so at the end.
 *
 * Reading that library takes as long as all else before machine code, so it is
 * read once: by one child, while the others compile without it. Then it forks,
 * and its children link what was compiled and make machine code of it.
 *
 * To fork is safe if no other thread of the process uses the driver during the
 * fork, which only the program can know: it opts in with VITCL_BUILD_FORK=1, as
 * vitcl does. A library in another program never forks. Programs that can be
 * compiled as one are (join.c), as far as every process has something to do.
 *
 * This was tested with PoCL, so it is used with PoCL only. Other drivers build
 * one program after the other, when they are needed or, where somebody watches
 * (vt_dev_watch()), before, so that their number is known. So does PoCL without
 * a cache, or if a child fails or stays silent for too long.
 */
#define _GNU_SOURCE /* dup3() */
#include "ocl/cache.h"
#include "ocl/objects.h"

#include "base/environment.h"
#include "base/log.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
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
    CHILDREN = 8,
    PATIENCE_MS = 60000 /* for one group */
};

/* The list in groups, each compiled as one program. */
typedef struct work_list {
    vt_program *list[PROGRAMS];
    unsigned ends[PROGRAMS], groups, n;
} work_list;

/* Shared by all of the processes; next: a group to build, half: one to compile
 * without the library, built: programs. */
typedef struct board {
    atomic_uint next, half, built;
    unsigned told; /* of the built ones; the parent's alone */
    unsigned processes;
    vt_half halves[]; /* of each group */
} board;

static bool is_pocl(const vt_dev *dev)
{
    return dev->class == VT_CLASS_CPU && vt_dev_pocl(dev);
}

static bool may_fork(const vt_dev *dev)
{
    const char *wanted = vt_getenv("VITCL_BUILD_FORK");

    return wanted && strcmp(wanted, "1") == 0 && is_pocl(dev);
}

/* Reports the programs that were built since the last call. */
static void tell(board *b, vt_dev *dev)
{
    const unsigned built = atomic_load(&b->built);

    vt_watch(dev, 0, built - b->told);
    b->told = built;
}

/* Compiles a group; one program after the other if not as one. */
static void build_group(board *b, vt_dev *dev, vt_program *const *list,
                        unsigned n, vt_half *half)
{
    cl_program program;

    if (n > 1 && vt_programs_join(dev, list, n, half)) {
        atomic_fetch_add(&b->built, n);
        n = 0;
    }
    for (unsigned i = 0; i < n; i++)
        if (vt_program_get(&program, dev, list[i]) == VITCL_OK)
            atomic_fetch_add(&b->built, 1);
    if (dev->report)
        tell(b, dev);
}

static unsigned start_of(const work_list *w, unsigned group)
{
    return group ? w->ends[group - 1] : 0;
}

/* Takes groups until none is left. */
static void work(board *b, vt_dev *dev, const work_list *w)
{
    unsigned i;

    vt_watch_list(true);
    while ((i = atomic_fetch_add(&b->next, 1)) < w->groups) {
        const unsigned from = start_of(w, i);

        build_group(b, dev, w->list + from, w->ends[i] - from,
                    b->processes > 1 ? &b->halves[i] : NULL);
    }
    vt_watch_list(false);
}

static void compile_halves(board *b, vt_dev *dev, const work_list *w)
{
    /* PoCL prints that a text needs more than cl/declared.cl */
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (nowhere >= 0)
        (void)dup3(nowhere, STDERR_FILENO, O_CLOEXEC);
    for (unsigned i; (i = atomic_fetch_add(&b->half, 1)) < w->groups;) {
        const unsigned from = start_of(w, i), n = w->ends[i] - from;

        if (n > 1) /* nobody waits for others */
            vt_half_compile(&b->halves[i], dev, w->list + from, n);
    }
}

/* Runs the function in a child; its id, or -1. */
static pid_t begin(void (*run)(board *b, vt_dev *dev, const work_list *w),
                   board *b, vt_dev *dev, const work_list *w)
{
    const pid_t parent = getpid(), pid = fork();

    if (pid != 0)
        return pid;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    vt_ocl_adopt();
    vt_log_forked();
    vt_watch_forked(dev);
    if (getppid() == parent)
        run(b, dev, w);
    _exit(0); /* run no exit handlers, flush no buffers */
}

/* Reads the library, and works in as many processes as there are. */
static void work_with_library(board *b, vt_dev *dev, const work_list *w)
{
    if (b->processes > 1)
        vt_library_load(dev);
    for (unsigned i = 1; i < b->processes; i++)
        (void)begin(work, b, dev, w);
    work(b, dev, w);
    while (wait(NULL) > 0 || errno == EINTR)
        ;
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

/* In `processes` children; 0: here. */
static void build_list(vt_dev *dev, const work_list *w, unsigned processes)
{
    pid_t pids[CHILDREN];
    unsigned n = 0, before, own;
    const size_t size =
        sizeof(board) + (processes > 1 ? w->groups * sizeof(vt_half) : 0);
    board *b = mmap(NULL, size, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (b == MAP_FAILED)
        return;
    b->processes = processes;
    while (n + 1 < processes &&
           (pids[n] = begin(compile_halves, b, dev, w)) > 0)
        n++;
    if (processes > 0 && (pids[n] = begin(work_with_library, b, dev, w)) > 0)
        n++;
    if (n == 0) /* nobody compiles halves */
        b->processes = 0;
    vt_watch(dev, w->n, 0); /* after the forks: its owner may start a thread */
    before = (unsigned)atomic_load(&dev->programs_built);
    for (unsigned i = 0; i < n; i++) {
        if (i + 1 == n) /* nobody compiles what is still missing */
            for (unsigned k = 0; processes > 1 && k < w->groups; k++)
                vt_half_end(&b->halves[k], false);
        await(pids[i], b, dev);
    }
    work(b, dev, w);                  /* what no child has begun */
    vt_watch(dev, 0, w->n - b->told); /* failed ones, too */
    /* programs that the children built count as built */
    own = (unsigned)atomic_load(&dev->programs_built) - before;
    if (atomic_load(&b->built) > own)
        atomic_fetch_add(&dev->programs_built, atomic_load(&b->built) - own);
    munmap(b, size);
}

/* Which group each program is in, and what the groups weigh. */
typedef struct shares {
    unsigned of[PROGRAMS], weight[PROGRAMS];
} shares;

/* The lightest group that the program can join; a new one if each process has
 * no group yet, or if there is none. */
static unsigned group_for(const work_list *w, const shares *s, unsigned at,
                          unsigned processes)
{
    unsigned best = w->groups;

    if (w->groups < processes)
        return best;
    for (unsigned g = 0; g < w->groups; g++) {
        vt_program *group[VT_JOINED];
        unsigned n = 0;

        if (best < w->groups && s->weight[g] >= s->weight[best])
            continue;
        for (unsigned i = 0; i < at && n < VT_JOINED; i++)
            if (s->of[i] == g)
                group[n++] = w->list[i];
        if (vt_program_fits(w->list[at], group, n))
            best = g;
    }
    return best;
}

/* The slow ones first; else the order stays. */
static void sort_list(work_list *w, unsigned *weight)
{
    for (unsigned i = 0; i < w->n; i++) {
        vt_program *const p = w->list[i];
        const unsigned mine = vt_program_weight(p);
        unsigned k = i;

        for (; k > 0 && weight[k - 1] < mine; k--)
            w->list[k] = w->list[k - 1], weight[k] = weight[k - 1];
        w->list[k] = p, weight[k] = mine;
    }
}

/* One group for each process, or more where programs cannot be compiled as one:
 * the slowest program first, each to the group that has the least to do. Only
 * PoCL's fixed cost for each program is known; others get groups of one. */
static void make_groups(work_list *w, const vt_dev *dev, unsigned processes)
{
    unsigned weight[PROGRAMS], n = 0;
    vt_program *list[PROGRAMS] = {NULL};
    shares s = {.weight = {0}};

    sort_list(w, weight);
    w->groups = 0;
    for (unsigned i = 0; i < w->n; i++) {
        s.of[i] = group_for(w, &s, i, is_pocl(dev) ? processes : w->n);
        s.weight[s.of[i]] += weight[i];
        w->groups = VT_MAX(w->groups, s.of[i] + 1);
    }
    for (unsigned g = 0; g < w->groups; w->ends[g++] = n)
        for (unsigned i = 0; i < w->n; i++)
            if (s.of[i] == g)
                list[n++] = w->list[i];
    memcpy(w->list, list, n * sizeof *list);
}

void vt_programs_build(vt_dev *dev)
{
    work_list w;
    const uint32_t units = dev->info.compute_units;
    const bool forks = may_fork(dev) && units > 1 && vt_kept_on();
    unsigned processes;

    if (!is_pocl(dev) && !dev->report)
        return;
    w.n = vt_programs_missing(w.list, PROGRAMS, dev);
    if (w.n < 2)
        return;
    processes = forks ? VT_MIN(VT_MIN(units, w.n), (unsigned)CHILDREN) : 1;
    make_groups(&w, dev, processes);
    if (!forks && !dev->report) { /* single ones are built when needed */
        for (unsigned i = 0, from = 0; i < w.groups; from = w.ends[i++])
            if (w.ends[i] - from > 1)
                (void)vt_programs_join(dev, w.list + from, w.ends[i] - from,
                                       NULL);
        return;
    }
    build_list(dev, &w, forks ? VT_MIN(processes, w.groups) : 0);
}
