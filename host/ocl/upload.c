/*
 * upload.c - sends data to a device while it computes.
 *
 * A second queue writes from pinned host memory into a buffer, from which the
 * computing queue copies when it begins the next run. Events make a copy wait
 * for its transfer, and the next transfer for that copy. Where a driver has no
 * pinned memory left, it writes from memory of our own.
 */
#include "ocl/objects.h"

#include "base/log.h"
#include "base/memory.h"

#include <string.h>

struct vt_upload {
    vt_queue *queue;
    cl_mem pinned, landing; /* host memory or NULL; its image on the device */
    uint8_t *host;          /* pinned and mapped, or plain */
    uint8_t *plain;         /* NULL: it is pinned */
    size_t bytes, sent_bytes;
    cl_event sent, taken; /* NULL: nothing was sent; not taken yet */
};

static void forget(cl_event *event)
{
    if (*event)
        clReleaseEvent(*event);
    *event = NULL;
}

/* Leaves both NULL if there is no such memory. */
static void pin(vt_upload *u, const vt_dev *dev)
{
    cl_int e;

    u->pinned =
        clCreateBuffer(dev->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                       u->bytes, NULL, &e);
    if (u->pinned)
        u->host =
            clEnqueueMapBuffer(u->queue->queue, u->pinned, CL_TRUE,
                               CL_MAP_WRITE, 0, u->bytes, 0, NULL, NULL, &e);
    if (u->host)
        return;
    vt_log("no pinned memory for transfers: %s", vt_cl_name(e));
    if (u->pinned)
        clReleaseMemObject(u->pinned);
    u->pinned = NULL;
}

vitcl_status vt_upload_new(vt_upload **out, vt_dev *dev, size_t bytes)
{
    vt_upload *u = NULL;
    cl_int e;
    vitcl_status st;

    VT_TRY(VT_NEW(&u, 1));
    u->bytes = bytes;
    VT_TRY(vt_queue_new(&u->queue, dev, VT_TIMES_NONE));
    pin(u, dev);
    if (!u->host) {
        VT_TRY(VT_NEW(&u->plain, bytes));
        u->host = u->plain;
    }
    u->landing =
        clCreateBuffer(dev->context, CL_MEM_READ_WRITE, bytes, NULL, &e);
    if (!u->landing) {
        st = vt_cl_fail(dev, e, "cannot allocate %zu bytes for transfers",
                        bytes);
        goto done;
    }
    atomic_fetch_add(&dev->buffers_made, u->pinned ? 2 : 1);
    *out = u, u = NULL;
done:
    vt_upload_free(u);
    return st;
}

void vt_upload_free(vt_upload *u)
{
    if (!u)
        return;
    if (u->queue && !vt_dev_gone(u->queue->dev)) {
        clFinish(u->queue->queue);
        if (u->pinned)
            clEnqueueUnmapMemObject(u->queue->queue, u->pinned, u->host, 0,
                                    NULL, NULL);
        forget(&u->sent);
        forget(&u->taken);
        if (u->landing)
            clReleaseMemObject(u->landing);
        if (u->pinned)
            clReleaseMemObject(u->pinned);
        free(u->plain); /* a driver that failed may still read it */
    }
    vt_queue_free(u->queue);
    free(u);
}

/* Waits until that memory may be written again. */
static vitcl_status arrived(vt_upload *u)
{
    const cl_int e = u->sent ? clWaitForEvents(1, &u->sent) : CL_SUCCESS;

    if (e == CL_SUCCESS) {
        forget(&u->sent);
        return VITCL_OK;
    }
    return vt_queue_fail(u->queue, e, "a transfer to the device failed");
}

vitcl_status vt_upload_send(vt_upload *u, const void *data, size_t bytes)
{
    cl_int e;
    vitcl_status st;

    VT_TRY(vt_dev_alive(u->queue->dev));
    if (bytes > u->bytes)
        return vt_fail(VITCL_EINVAL, "%zu bytes for transfers of %zu", bytes,
                       u->bytes);
    st = arrived(u);
    if (st != VITCL_OK)
        goto done;
    memcpy(u->host, data, bytes);
    e = clEnqueueWriteBuffer(u->queue->queue, u->landing, CL_FALSE, 0, bytes,
                             u->host, u->taken != NULL,
                             u->taken ? &u->taken : NULL, &u->sent);
    if (e == CL_SUCCESS)
        e = clFlush(u->queue->queue);
    if (e != CL_SUCCESS) {
        st = vt_queue_fail(u->queue, e, "cannot send %zu bytes to the device",
                           bytes);
        goto done;
    }
    u->sent_bytes = bytes;
done:
    if (st != VITCL_OK && !vt_dev_gone(u->queue->dev)) {
        clFinish(u->queue->queue); /* it may still read that memory */
        forget(&u->sent);
        forget(&u->taken);
    }
    return st;
}

vitcl_status vt_upload_take(vt_queue *q, vt_buf *b, vt_upload *u)
{
    cl_event taken = NULL;
    cl_int e;

    VT_RET(vt_dev_alive(q->dev));
    if (!u->sent || u->sent_bytes > b->bytes)
        return vt_fail(VITCL_EINVAL, "nothing that fits was sent");
    e = clEnqueueCopyBuffer(q->queue, u->landing, b->mem, 0, 0, u->sent_bytes,
                            1, &u->sent, &taken);
    if (e == CL_SUCCESS)
        e = clFlush(q->queue); /* the other queue waits for it */
    if (taken) {
        forget(&u->taken);
        u->taken = taken;
    }
    if (e != CL_SUCCESS)
        return vt_queue_fail(q, e, "cannot copy %zu bytes on the device",
                             u->sent_bytes);
    return VITCL_OK;
}
