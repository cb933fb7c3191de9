/*
 * alone.c - PoCL must run a kernel's first launch alone.
 *
 * PoCL (3.1, and perhaps others) loads a kernel's machine code again for each
 * larger grid that it meets, and counts the launches that use it. When a launch
 * ends, it is counted off the last code that was loaded for this kernel and
 * size of work-groups, whichever it used. So if launches of other queues end
 * while the first one with a larger grid runs, nobody seems to use its code any
 * more, and PoCL ends the process ("Assertion `found->ref_count > 0' failed").
 *
 * Hence a kernel's first launch with a size waits for all other queues of the
 * process, and their launches wait for it. A single queue does its launches one
 * after the other anyway.
 */
#include "ocl/objects.h"

#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static unsigned tickets, turn; /* turn: the ticket whose owner goes on */
static vt_queue *queues;       /* PoCL's, of all devices; the owner's alone */

bool vt_dev_pocl(const vt_dev *dev)
{
    return strcmp(dev->info.platform, "Portable Computing Language") == 0;
}

/* Waits for those who came before. A mutex alone would let one thread do all of
 * its first launches before another does one. */
static void take_turn(void)
{
    unsigned mine;

    pthread_mutex_lock(&lock);
    for (mine = tickets++; mine != turn;)
        pthread_cond_wait(&ended, &lock);
    pthread_mutex_unlock(&lock);
}

static void end_turn(void)
{
    pthread_mutex_lock(&lock);
    turn++;
    pthread_cond_broadcast(&ended);
    pthread_mutex_unlock(&lock);
}

void vt_alone_join(vt_queue *q)
{
    if (!vt_dev_pocl(q->dev))
        return;
    take_turn();
    q->next = queues;
    queues = q;
    end_turn();
}

void vt_alone_leave(vt_queue *q)
{
    vt_queue **at = &queues;

    /* in a fork, the owner may have stayed behind */
    if (!vt_dev_pocl(q->dev) || vt_ocl_forked())
        return;
    take_turn();
    while (*at && *at != q)
        at = &(*at)->next;
    if (*at)
        *at = q->next;
    end_turn();
}

bool vt_alone_begin(vt_queue *q, bool first)
{
    bool alone = false;

    if (!vt_dev_pocl(q->dev))
        return false;
    take_turn();
    for (vt_queue *other = queues; first && other; other = other->next)
        if (other != q) {
            alone = true;
            if (!vt_dev_gone(other->dev))
                clFinish(other->queue); /* its own thread sees errors */
        }
    return alone;
}

void vt_alone_end(vt_queue *q, bool alone)
{
    if (!vt_dev_pocl(q->dev))
        return;
    if (alone)
        clFinish(q->queue);
    end_turn();
}
