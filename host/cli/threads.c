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
    char text[16];

    snprintf(text, sizeof text, "%ld", n);
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        setenv(variables[i], text, force);
}

/* The library's own threads and the drivers'. */
static void use(long n, bool force)
{
    char text[16];

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

int usual_threads(void)
{
    const char *const ours = getenv("VITCL_THREADS");
    const char *const text = ours ? ours : getenv("OMP_NUM_THREADS");
    char *end;
    cpu_set_t set;
    const long n = text ? strtol(text, &end, 10) : 0;
    const bool valid = text && end != text && n >= 1 && n <= MOST;

    if (ours && (!valid || *end))
        return fail("VITCL_THREADS=%.40s: must be a number from 1 to %d", ours,
                    MOST);
    if (valid)
        use(n, false);
    else if (sched_getaffinity(0, sizeof set, &set) == 0 &&
             CPU_COUNT(&set) < sysconf(_SC_NPROCESSORS_ONLN))
        tell_drivers(CPU_COUNT(&set), false);
    return EXIT_OK;
}
