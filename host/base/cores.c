/*
 * cores.c - how many threads this process should use.
 */
#define _GNU_SOURCE /* sched_getaffinity() */
#include "base/cores.h"

#include "base/environment.h"

#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST = 4096 };

unsigned vt_cores(void)
{
    const char *const text = vt_getenv("VITCL_THREADS");
    cpu_set_t set;
    long n = text ? strtol(text, NULL, 10) : 0;

    if (n < 1 || n > MOST)
        n = sched_getaffinity(0, sizeof set, &set) == 0
                ? CPU_COUNT(&set)
                : sysconf(_SC_NPROCESSORS_ONLN); /* more than the set holds */
    return n < 1 ? 1 : n > MOST ? MOST : (unsigned)n;
}
