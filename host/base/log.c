/*
 * log.c - the host's log callback: one per process, called by one thread at a
 * time.
 */
#include "base/log.h"

#include <vitcl.h>

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static vitcl_log callback;
static void *callback_context;
static atomic_bool on;
static _Thread_local bool inside; /* the callback may call vitcl */

void vitcl_log_set(vitcl_log log, void *context)
{
    if (inside)
        return;
    pthread_mutex_lock(&lock);
    callback = log;
    callback_context = context;
    atomic_store(&on, log != NULL);
    pthread_mutex_unlock(&lock);
}

bool vt_logs(void)
{
    return atomic_load(&on) && !inside;
}

void vt_log_forked(void)
{
    atomic_store(&on, false);
}

/* Ends the line at its newline; returns what follows it, or NULL. */
static char *cut(char *line)
{
    char *const end = strchr(line, '\n');

    if (end)
        *end = '\0';
    for (; *line; line++)
        if ((unsigned char)*line < ' ' || *line == 127)
            *line = ' ';
    return end ? end + 1 : NULL;
}

void vt_log(const char *format, ...)
{
    char some[512], *all = NULL, *text = some;
    va_list args;
    int n;

    if (!vt_logs())
        return;
    va_start(args, format);
    n = vsnprintf(some, sizeof some, format, args);
    va_end(args);
    /* A compiler's log may be long; out of memory, only its start is kept. */
    if (n >= (int)sizeof some && (all = malloc((size_t)n + 1))) {
        va_start(args, format);
        vsnprintf(all, (size_t)n + 1, format, args);
        va_end(args);
        text = all;
    }
    pthread_mutex_lock(&lock);
    inside = true;
    for (char *line = text, *next; callback && line && *line; line = next) {
        next = cut(line);
        if (*line)
            callback(callback_context, line);
    }
    inside = false;
    pthread_mutex_unlock(&lock);
    free(all);
}
