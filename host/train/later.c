/*
 * later.c - work on a thread of its own.
 */
#include "train/later.h"

#include "base/memory.h"

#include <pthread.h>
#include <stdio.h>

struct vt_later {
    vt_later_work work;
    void *context;
    pthread_mutex_t lock;
    pthread_cond_t given_more, done_more;
    pthread_t thread;
    bool runs, stop;
    size_t given, done;
    vitcl_status failed;
    char message[512];
};

/* With the lock, which the work itself does not hold. */
static void work_once(vt_later *l)
{
    const size_t part = l->done;
    vitcl_status st;

    pthread_mutex_unlock(&l->lock);
    st = l->work(l->context, part);
    pthread_mutex_lock(&l->lock);
    if (st != VITCL_OK) {
        l->failed = st;
        snprintf(l->message, sizeof l->message, "%s", vt_message());
    }
    l->done++;
    pthread_cond_broadcast(&l->done_more);
}

static void *run(void *context)
{
    vt_later *l = context;

    pthread_mutex_lock(&l->lock);
    while (l->failed == VITCL_OK && (l->done < l->given || !l->stop))
        if (l->done < l->given)
            work_once(l);
        else
            pthread_cond_wait(&l->given_more, &l->lock);
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

vitcl_status vt_later_new(vt_later **out, bool thread, vt_later_work work,
                          void *context)
{
    vt_later *l = NULL;

    VT_RET(VT_NEW(&l, 1));
    l->work = work;
    l->context = context;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->given_more, NULL);
    pthread_cond_init(&l->done_more, NULL);
    l->runs = thread && pthread_create(&l->thread, NULL, run, l) == 0;
    *out = l;
    return VITCL_OK;
}

void vt_later_free(vt_later *l)
{
    if (!l)
        return;
    pthread_mutex_lock(&l->lock);
    l->stop = true;
    pthread_cond_broadcast(&l->given_more);
    pthread_mutex_unlock(&l->lock);
    if (l->runs)
        pthread_join(l->thread, NULL);
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->given_more);
    pthread_cond_destroy(&l->done_more);
    free(l);
}

vitcl_status vt_later_give(vt_later *l)
{
    vitcl_status st = VITCL_OK;

    pthread_mutex_lock(&l->lock);
    l->given++;
    if (l->runs)
        pthread_cond_broadcast(&l->given_more);
    else if (l->failed == VITCL_OK)
        work_once(l);
    if (l->failed != VITCL_OK)
        st = vt_fail(l->failed, "%s", l->message);
    pthread_mutex_unlock(&l->lock);
    return st;
}

vitcl_status vt_later_wait(vt_later *l, size_t parts)
{
    vitcl_status st = VITCL_OK;

    pthread_mutex_lock(&l->lock);
    while (l->failed == VITCL_OK && l->done < parts)
        pthread_cond_wait(&l->done_more, &l->lock);
    if (l->failed != VITCL_OK)
        st = vt_fail(l->failed, "%s", l->message);
    pthread_mutex_unlock(&l->lock);
    return st;
}

void vt_later_again(vt_later *l)
{
    pthread_mutex_lock(&l->lock);
    l->given = l->done = 0;
    pthread_mutex_unlock(&l->lock);
}
