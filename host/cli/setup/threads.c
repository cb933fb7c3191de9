/*
 * threads.c - how many threads the drivers of processors use. Each has a
 * variable of its own, which it reads when it is loaded.
 */
#define _GNU_SOURCE /* sched_getaffinity() */
#include "setup.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 4096 };

/* force: also where the user has set a driver's own variable. */
static void tell_drivers(long n, bool force)
{
    static const char *const variables[] = {
        "POCL_MAX_PTHREAD_COUNT",        /* PoCL up to 3 */
        "POCL_CPU_MAX_CU_COUNT",         /* PoCL from 4 */
        "CL_CONFIG_CPU_TBB_NUM_WORKERS", /* Intel */
        "LP_NUM_THREADS",                /* Mesa's llvmpipe */
    };
    char text[24];

    snprintf(text, sizeof text, "%ld", n);
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        setenv(variables[i], text, force);
}

/* The library's own threads and the drivers'. */
static void use(long n, bool force)
{
    char text[24];

    snprintf(text, sizeof text, "%ld", n);
    setenv("VITCL_THREADS", text, 1);
    tell_drivers(n, force);
}

int limit_threads(uint32_t n)
{
    if (n > MOST)
        return usage("--threads must be at most %d", MOST);
    use(n, true);
    return EXIT_OK;
}

/* The larger of two variables, from 0. */
static long larger(const char *a, const char *b)
{
    const char *const x = getenv(a), *const y = getenv(b);
    const long n = x ? strtol(x, NULL, 10) : 0, m = y ? strtol(y, NULL, 10) : 0;

    return n > m ? n : m > 0 ? m : 0;
}

/* The cores that a process may run on; 0: unknown. */
static long cores_of(pid_t pid)
{
    cpu_set_t set;

    return sched_getaffinity(pid, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

/* Reads a process's name and parent. */
static bool look_up(char name[32], pid_t *parent, pid_t pid)
{
    char path[48], line[128];
    long number = 0;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
    f = fopen(path, "re");
    name[0] = '\0';
    while (f && number == 0 && fgets(line, sizeof line, f)) {
        if (sscanf(line, "Name: %31s", name) != 1)
            (void)sscanf(line, "PPid: %ld", &number);
    }
    if (f)
        fclose(f);
    *parent = (pid_t)number;
    return number > 0;
}

/* The cores of the launcher that started this process, perhaps by way of a
 * script; 0: unknown. */
static long launcher_cores(void)
{
    static const char *const launchers[] = {"mpirun", "mpiexec", "orte", "prte",
                                            "hydra_"}; /* and more behind */
    char name[32];
    pid_t pid = getppid(), parent;

    for (int i = 0; i < 8 && look_up(name, &parent, pid); i++, pid = parent)
        for (size_t k = 0; k < sizeof launchers / sizeof *launchers; k++)
            if (strncmp(name, launchers[k], strlen(launchers[k])) == 0)
                return cores_of(pid);
    return 0;
}

/* This process's part of the cores of `here` processes; own: those that it may
 * run on, perhaps bound to them by the launcher. */
static long part_of(long own, long here)
{
    const long all = here > 1 ? launcher_cores() : 0;
    const long part = all > here ? all / here : 1;

    return all == 0 || part > own ? own : part;
}

int usual_threads(void)
{
    const char *const given = getenv("VITCL_THREADS");
    const char *const ours = given && *given ? given : NULL;
    const char *const text = ours ? ours : getenv("OMP_NUM_THREADS");
    char *end;
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const long here = /* processes of an mpirun on this machine */
        larger("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS");
    const long own = cores_of(0);
    const long n = text ? strtol(text, &end, 10) : 0;
    const bool valid = text && end != text && n >= 1 && n <= MOST;

    if (ours && (!valid || *end))
        return fail("VITCL_THREADS=%.40s: must be a number from 1 to %d", ours,
                    MOST);
    if (valid)
        use(n, false);
    else if (own > 0 && own < cores)
        use(part_of(own, here), false);
    else if (here > 1)
        use(cores > here ? cores / here : 1, false);
    return EXIT_OK;
}
