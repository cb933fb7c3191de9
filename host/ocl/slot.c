/*
 * slot.c - memory that the host fills and kernels read, in turns.
 *
 * The driver allocates it, and the host has it while it is mapped. On PoCL it
 * is the memory in which kernels compute, and mapping it costs nothing. Other
 * drivers may copy: Intel's for processors does where an address is not a
 * multiple of 128. So the host has no address of it while kernels have it.
 */
#include "ocl/objects.h"

#include "base/memory.h"

struct vt_slot {
    vt_queue *queue;
    vt_buf *buf;
    void *host;      /* NULL: kernels have it */
    cl_event mapped; /* NULL: host may be written now */
};

bool vt_slot_new(vt_slot **out, vt_queue *q, size_t bytes)
{
    vt_dev *dev = q->dev;
    vt_slot *s = NULL;
    cl_int e;

    if (dev->class != VT_CLASS_CPU || !dev->info.unified_memory || bytes == 0 ||
        vt_dev_alive(dev) != VITCL_OK || VT_NEW(&s, 1) != VITCL_OK)
        return false;
    s->queue = q;
    if (VT_NEW(&s->buf, 1) != VITCL_OK)
        goto none;
    atomic_init(&s->buf->refs, 1);
    s->buf->dev = vt_dev_ref(dev);
    s->buf->bytes = bytes;
    s->buf->mem =
        clCreateBuffer(dev->context, CL_MEM_READ_ONLY | CL_MEM_ALLOC_HOST_PTR,
                       bytes, NULL, &e);
    if (!s->buf->mem)
        goto none;
    atomic_fetch_add(&dev->buffers_made, 1);
    *out = s;
    return true;
none:
    vt_slot_free(s);
    return false;
}

vt_buf *vt_slot_buf(vt_slot *s)
{
    return s->buf;
}

vitcl_status vt_slot_back(vt_slot *s)
{
    cl_int e;

    VT_RET(vt_dev_alive(s->queue->dev));
    if (!s->host)
        s->host = clEnqueueMapBuffer(s->queue->queue, s->buf->mem, CL_FALSE,
                                     CL_MAP_WRITE_INVALIDATE_REGION, 0,
                                     s->buf->bytes, 0, NULL, &s->mapped, &e);
    if (!s->host)
        return vt_queue_fail(s->queue, e, "cannot map %zu bytes of weights",
                             s->buf->bytes);
    return VITCL_OK;
}

vitcl_status vt_slot_fill(void **host, vt_slot *s)
{
    vitcl_status st;
    cl_int e = CL_SUCCESS;

    VT_TRY(vt_slot_back(s)); /* not yet after an error */
    if (s->mapped) {
        e = clWaitForEvents(1, &s->mapped);
        clReleaseEvent(s->mapped);
        s->mapped = NULL;
    }
    if (e != CL_SUCCESS) {
        s->host = NULL;
        st = vt_queue_fail(s->queue, e, "the device did not finish its work");
    }
    *host = s->host;
done:
    return st;
}

vitcl_status vt_slot_give(vt_slot *s)
{
    cl_int e;

    VT_RET(vt_dev_alive(s->queue->dev));
    e = clEnqueueUnmapMemObject(s->queue->queue, s->buf->mem, s->host, 0, NULL,
                                NULL);
    if (e == CL_SUCCESS)
        s->host = NULL;
    else
        return vt_queue_fail(s->queue, e, "cannot unmap %zu bytes of weights",
                             s->buf->bytes);
    return VITCL_OK;
}

void vt_slot_free(vt_slot *s)
{
    if (!s)
        return;
    if (!vt_dev_gone(s->queue->dev)) {
        if (s->host)
            clEnqueueUnmapMemObject(s->queue->queue, s->buf->mem, s->host, 0,
                                    NULL, NULL);
        if (s->mapped)
            clReleaseEvent(s->mapped);
    }
    vt_buf_free(s->buf);
    free(s);
}
