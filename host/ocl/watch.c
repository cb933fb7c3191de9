/*
 * watch.c - tells the owner of a device how many programs are being compiled.
 *
 * Threads add to one pair of counts; after the last program both begin at zero.
 */
#include "ocl/objects.h"

static _Thread_local bool in_list;

void vt_dev_watch(vt_dev *dev, vt_compiling report, void *context)
{
    pthread_mutex_lock(&dev->watch_lock);
    dev->report = report;
    dev->report_context = context;
    pthread_mutex_unlock(&dev->watch_lock);
}

void vt_watch_forked(vt_dev *dev)
{
    dev->report = NULL; /* another thread may have held the lock */
}

void vt_watch(vt_dev *dev, uint32_t more, uint32_t done)
{
    if (!dev->report || more + done == 0)
        return;
    pthread_mutex_lock(&dev->watch_lock);
    dev->compiling += more;
    dev->compiled += done;
    dev->report(dev->report_context, dev->compiled, dev->compiling);
    if (dev->compiled == dev->compiling)
        dev->compiled = dev->compiling = 0;
    pthread_mutex_unlock(&dev->watch_lock);
}

void vt_watch_list(bool begin)
{
    in_list = begin;
}

void vt_watch_one(vt_dev *dev, uint32_t more, uint32_t done)
{
    if (!in_list)
        vt_watch(dev, more, done);
}
