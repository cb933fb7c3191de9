/*
 * threads.c - how many threads the drivers of processors use. Each has a
 * variable of its own, which it reads when it is loaded.
 */
#define _GNU_SOURCE /* sched_getaffinity() */
#include "cmd.h"

#include <sched.h>
#include <stdlib.h>
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

int usual_threads(void)
{
    const char *const ours = getenv("VITCL_THREADS");
    const char *const text = ours ? ours : getenv("OMP_NUM_THREADS");
    char *end;
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const long here = /* processes of an mpirun on this machine */
        larger("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS");
    cpu_set_t set;
    const long n = text ? strtol(text, &end, 10) : 0;
    const bool valid = text && end != text && n >= 1 && n <= MOST;

    if (ours && (!valid || *end))
        return fail("VITCL_THREADS=%.40s: must be a number from 1 to %d", ours,
                    MOST);
    if (valid)
        use(n, false);
    else if (sched_getaffinity(0, sizeof set, &set) == 0 &&
             CPU_COUNT(&set) < cores)
        tell_drivers(CPU_COUNT(&set), false);
    else if (here > 1)
        use(cores > here ? cores / here : 1, false);
    return EXIT_OK;
}
