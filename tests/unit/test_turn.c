/*
 * test_turn.c - turns: threads with one subject wait for each other, threads
 * with different subjects do not.
 */
#include "base/turn.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

enum { THREADS = 4, TIMES = 200 };

static atomic_int inside, most, done;

static void *one_subject(void *context)
{
    vt_turn t;

    (void)context;
    for (int i = 0; i < TIMES; i++) {
        int now;

        vt_turn_begin(&t, "dot", "a device");
        now = atomic_fetch_add(&inside, 1) + 1;
        if (now > atomic_load(&most))
            atomic_store(&most, now);
        nanosleep(&(struct timespec){0, 1000}, NULL);
        atomic_fetch_sub(&inside, 1);
        vt_turn_end(&t);
        atomic_fetch_add(&done, 1);
    }
    return NULL;
}

Test(turn, one_subject, .timeout = 60)
{
    pthread_t thread[THREADS];

    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&thread[i], NULL, one_subject, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    cr_assert_eq(done, THREADS * TIMES);
    cr_assert_eq(most, 1, "%d threads had the turn at once", most);
}

static pthread_barrier_t both;

/* Reaches the barrier only if all have their turns at once. */
static void *own_subject(void *context)
{
    char name[16];
    vt_turn a, b;

    snprintf(name, sizeof name, "device %d", *(int *)context);
    vt_turn_begin(&a, "half", name);
    vt_turn_begin(&b, "dot", name);
    pthread_barrier_wait(&both);
    vt_turn_end(&a); /* not the last one that began */
    vt_turn_end(&b);
    return NULL;
}

Test(turn, own_subjects, .timeout = 60)
{
    int number[THREADS];
    pthread_t thread[THREADS];

    pthread_barrier_init(&both, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        number[i] = i;
        cr_assert_eq(pthread_create(&thread[i], NULL, own_subject, &number[i]),
                     0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    pthread_barrier_destroy(&both);
}
