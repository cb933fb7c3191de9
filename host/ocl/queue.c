/*
 * queue.c - queues, what was enqueued last, and the time that it took.
 */
#include "ocl/objects.h"

#include "base/memory.h"

vitcl_status vt_queue_new(vt_queue **out, vt_dev *dev, vt_times times)
{
    vt_queue *q = NULL;
    cl_int e;
    vitcl_status st;

    VT_TRY(vt_dev_alive(dev));
    VT_TRY(VT_NEW(&q, 1));
    q->dev = vt_dev_ref(dev);
    q->times = times;
    q->queue = clCreateCommandQueue(dev->context, dev->id,
                                    times ? CL_QUEUE_PROFILING_ENABLE : 0, &e);
    if (!q->queue) {
        st = vt_cl_fail(dev, e, "cannot create a command queue");
        goto done;
    }
    vt_alone_join(q);
    *out = q, q = NULL;
done:
    vt_queue_free(q);
    return st;
}

vt_dev *vt_queue_dev(vt_queue *q)
{
    return q->dev;
}

vitcl_status vt_queue_flush(vt_queue *q)
{
    const cl_int e = clFlush(q->queue);

    return e == CL_SUCCESS
               ? VITCL_OK
               : vt_queue_fail(q, e, "cannot begin the work of a queue");
}

vitcl_status vt_queue_finish(vt_queue *q)
{
    vitcl_status st = vt_dev_alive(q->dev);
    cl_int e;

    if (st == VITCL_OK && (e = clFinish(q->queue)) != CL_SUCCESS) {
        st = vt_queue_fail(q, e, "the device did not finish its work");
        /* What has begun may still use host memory, which is freed next. */
        if (e != CL_OUT_OF_RESOURCES) /* else it was called again */
            (void)clFinish(q->queue);
    }
    return st;
}

void vt_queue_forget(vt_queue *q)
{
    for (size_t i = 0; i < q->n_events; i++)
        if (!vt_dev_gone(q->dev))
            clReleaseEvent(q->events[i]);
    q->n_events = 0;
}

void vt_queue_free(vt_queue *q)
{
    if (!q)
        return;
    vt_alone_leave(q);
    vt_queue_forget(q);
    if (q->queue && !vt_dev_gone(q->dev)) {
        clFinish(q->queue);
        clReleaseCommandQueue(q->queue);
    }
    vt_dev_free(q->dev);
    free(q->events);
    free(q);
}

vitcl_status vt_queue_event(cl_event **out, vt_queue *q)
{
    *out = NULL;
    if (q->times) {
        VT_RET(vt_grow(&q->events, &q->cap_events, q->n_events + 1,
                       sizeof *q->events));
        q->events[q->n_events] = NULL;
        *out = &q->events[q->n_events];
    }
    return VITCL_OK;
}

void vt_queue_event_done(vt_queue *q)
{
    if (q->times && q->events[q->n_events])
        q->n_events++;
}

size_t vt_queue_launched(const vt_queue *q)
{
    return q->n_events;
}

static bool moment(uint64_t *out, cl_event event, cl_profiling_info which)
{
    cl_ulong ns = 0;

    if (clGetEventProfilingInfo(event, which, sizeof ns, &ns, NULL) !=
        CL_SUCCESS)
        return false;
    *out = ns;
    return true;
}

bool vt_queue_span(vt_span *out, const vt_queue *q, size_t i)
{
    const cl_event e = q->events[i];

    return moment(&out->queued, e, CL_PROFILING_COMMAND_QUEUED) &&
           moment(&out->from, e, CL_PROFILING_COMMAND_START) &&
           moment(&out->to, e, CL_PROFILING_COMMAND_END) && out->to > out->from;
}

double vt_queue_time_ms(vt_queue *q)
{
    double ns = 1e6 * q->host_ms;

    q->host_ms = 0;
    if (vt_queue_finish(q) != VITCL_OK)
        return 0;
    for (size_t i = 0; i < q->n_events; i++) {
        vt_span s;

        if (vt_queue_span(&s, q, i))
            ns += (double)(s.to - s.from);
    }
    vt_queue_forget(q);
    return ns * 1e-6;
}
