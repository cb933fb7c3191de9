/*
 * turn.c - a list of the turns that run; a thread waits until no other has its
 * subject. The lock covers the list alone, never the work.
 */
#include "base/turn.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static vt_turn *turns; /* that have begun and not ended */

static bool taken(const char *subject)
{
    const vt_turn *t = turns;

    while (t && strcmp(t->subject, subject) != 0)
        t = t->next;
    return t != NULL;
}

void vt_turn_begin(vt_turn *t, const char *what, const char *whose)
{
    snprintf(t->subject, sizeof t->subject, "%s %s", what, whose);
    pthread_mutex_lock(&lock);
    while (taken(t->subject))
        pthread_cond_wait(&ended, &lock);
    t->next = turns;
    turns = t;
    pthread_mutex_unlock(&lock);
}

void vt_turn_end(vt_turn *t)
{
    vt_turn **at = &turns;

    pthread_mutex_lock(&lock);
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    pthread_cond_broadcast(&ended);
    pthread_mutex_unlock(&lock);
}
