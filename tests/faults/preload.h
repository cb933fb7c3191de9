/*
 * preload.h - what preloaded libraries share: they define functions of other
 * libraries, call the real ones, and read what to do from the environment.
 *
 * _GNU_SOURCE must be defined before it is included.
 */
#ifndef VT_FAULTS_PRELOAD_H
#define VT_FAULTS_PRELOAD_H
#include <dlfcn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ISO C cannot convert an object pointer to a function pointer. */
static inline void preload_find(void *function, const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);

    if (!found)
        abort();
    memcpy(function, &found, sizeof found);
}

/* In the library's own `name`: the next definition of it, as `real`. */
#define REAL(name)                                                             \
    static __typeof__(&name) real;                                             \
    if (!real)                                                                 \
        preload_find(&real, #name);

/* scanf() on the variable's value; false: it is unset, or has fewer than
 * `least` values. */
__attribute__((format(scanf, 3, 4))) static inline bool
preload_told(const char *variable, int least, const char *format, ...)
{
    const char *const text = getenv(variable);
    va_list values;
    int n = 0;

    va_start(values, format);
    if (text)
        n = vsscanf(text, format, values);
    va_end(values);
    return n >= least;
}

/* The number of this call, from 1. */
static inline int preload_count(atomic_int *calls)
{
    return atomic_fetch_add(calls, 1) + 1;
}

#endif
