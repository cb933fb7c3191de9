/*
 * buffer.c - device memory: reference counts, views, transfers.
 */
#include "ocl/objects.h"
#include "ocl/pages.h"

#include "base/memory.h"

#include <string.h>

static const struct {
    const char *name;
    size_t size;
} dtypes[] = {
    [VT_F32] = {"f32", 4}, [VT_F16] = {"f16", 2}, [VT_BF16] = {"bf16", 2},
    [VT_I8] = {"i8", 1},   [VT_U8] = {"u8", 1},   [VT_I32] = {"i32", 4},
};

size_t vt_dtype_size(vt_dtype t)
{
    return dtypes[t].size;
}

const char *vt_dtype_name(vt_dtype t)
{
    return dtypes[t].name;
}

/* ---- where a buffer is allocated ---- */

#define OWN_PAGES ((size_t)1 << 20) /* smaller ones come from the driver */

typedef struct pages {
    void *start;
    size_t bytes;
} pages;

static void CL_CALLBACK drop_pages(cl_mem mem, void *own)
{
    pages *p = own;

    (void)mem;
    vt_pages_free(p->start, p->bytes);
    free(p);
}

/* Allocates a buffer in our own pages, freed when the driver releases it. NULL:
 * let the driver allocate it. */
static cl_mem in_pages(void **start, const vt_dev *dev, size_t bytes)
{
    pages *p = NULL;
    cl_mem mem = NULL;
    cl_int e;

    if (dev->class != VT_CLASS_CPU || !dev->info.unified_memory ||
        bytes < OWN_PAGES || VT_NEW(&p, 1) != VITCL_OK)
        return NULL;
    p->bytes = bytes;
    p->start = vt_pages_new(bytes);
    if (p->start)
        mem = clCreateBuffer(dev->context,
                             CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, bytes,
                             p->start, &e);
    if (mem &&
        clSetMemObjectDestructorCallback(mem, drop_pages, p) == CL_SUCCESS) {
        *start = p->start;
        return mem;
    }
    if (mem)
        clReleaseMemObject(mem);
    vt_pages_free(p->start, bytes);
    free(p);
    return NULL;
}

vitcl_status vt_buf_new(vt_buf **out, vt_dev *dev, size_t bytes)
{
    vt_buf *b = NULL;
    size_t room;
    cl_int e;
    vitcl_status st;

    VT_TRY(vt_dev_alive(dev));
    /* Fills write whole words, so sizes are rounded up to whole words. */
    if (!vt_sum(&room, VT_MAX(bytes, (size_t)4), 3) ||
        !vt_dev_allows(dev, room & ~(size_t)3))
        VT_TRY(
            vt_fail(VITCL_ENOMEM,
                    "a buffer of %zu MiB exceeds the limit of %.60s (%zu MiB)",
                    bytes >> 20, dev->info.name,
                    (size_t)(dev->info.max_alloc_bytes >> 20)));
    VT_TRY(VT_NEW(&b, 1));
    atomic_init(&b->refs, 1);
    b->dev = vt_dev_ref(dev);
    b->bytes = bytes;
    b->mem = in_pages(&b->pages, dev, room & ~(size_t)3);
    if (!b->mem)
        b->mem = clCreateBuffer(dev->context, CL_MEM_READ_WRITE,
                                room & ~(size_t)3, NULL, &e);
    if (!b->mem) {
        st = vt_cl_fail(dev, e, "cannot allocate %zu bytes of device memory",
                        bytes);
        goto done;
    }
    atomic_fetch_add(&dev->buffers_made, 1);
    *out = b, b = NULL;
done:
    vt_buf_free(b);
    return st;
}

/* ---- views ----
 *
 * A view is a sub-buffer. Each part of a buffer has one, which all its views
 * share: a plan has few places for its many values. The sub-buffers are
 * released together with the buffer, the newest first: NVIDIA's driver
 * (580.159) crashes while some of a buffer's many sub-buffers are released
 * before others that overlap them.
 */

static pthread_mutex_t parting = PTHREAD_MUTEX_INITIALIZER;

/* The sub-buffer of that part of a root. */
static vitcl_status part_of(cl_mem *out, vt_buf *root, cl_buffer_region region)
{
    vitcl_status st = VITCL_OK;
    cl_mem mem;
    cl_int e;

    pthread_mutex_lock(&parting);
    for (size_t i = 0; i < root->parts; i++)
        if (root->part[i].region.origin == region.origin &&
            root->part[i].region.size == region.size) {
            *out = root->part[i].mem;
            goto done;
        }
    VT_TRY(vt_grow(&root->part, &root->cap_parts, root->parts + 1,
                   sizeof *root->part));
    mem = clCreateSubBuffer(root->mem, CL_MEM_READ_WRITE,
                            CL_BUFFER_CREATE_TYPE_REGION, &region, &e);
    if (!mem) {
        st = vt_cl_fail(root->dev, e, "cannot make a view of %zu bytes at %zu",
                        region.size, region.origin);
        goto done;
    }
    root->part[root->parts++] = (vt_sub_buffer){region, mem};
    *out = mem;
done:
    pthread_mutex_unlock(&parting);
    return st;
}

vitcl_status vt_buf_view(vt_buf **out, vt_buf *parent, size_t offset,
                         size_t bytes)
{
    vt_buf *root = parent->parent ? parent->parent : parent, *b = NULL;
    size_t end;
    cl_buffer_region region;
    vitcl_status st;

    VT_TRY(vt_dev_alive(parent->dev));
    if (bytes == 0 || !vt_sum(&end, offset, bytes) || end > parent->bytes ||
        offset % parent->dev->align)
        VT_TRY(vt_fail(VITCL_EINVAL,
                       "a view of %zu bytes at %zu is outside a buffer of "
                       "%zu",
                       bytes, offset, parent->bytes));
    VT_TRY(VT_NEW(&b, 1));
    atomic_init(&b->refs, 1);
    b->dev = vt_dev_ref(parent->dev);
    b->bytes = bytes;
    b->parent = vt_buf_ref(root);
    b->offset = parent->offset + offset;
    region.origin = b->offset;
    region.size = bytes + (-bytes & 3); /* fits: the root has whole words */
    VT_TRY(part_of(&b->mem, root, region));
    *out = b, b = NULL;
done:
    vt_buf_free(b);
    return st;
}

void vt_buf_large_pages(vt_buf *b)
{
    vt_pages_make_large(b->pages, b->bytes);
}

vt_buf *vt_buf_ref(vt_buf *b)
{
    atomic_fetch_add(&b->refs, 1);
    return b;
}

size_t vt_buf_size(const vt_buf *b)
{
    return b->bytes;
}

bool vt_buf_aligned(const vt_buf *b, size_t bytes)
{
    void *host = NULL; /* NULL also if the memory is the driver's */

    return clGetMemObjectInfo(b->mem, CL_MEM_HOST_PTR, sizeof host, &host,
                              NULL) == CL_SUCCESS &&
           (uintptr_t)host % bytes == 0;
}

void vt_buf_free(vt_buf *b)
{
    if (!b || atomic_fetch_sub(&b->refs, 1) != 1)
        return;
    if (b->mem && !b->parent && !vt_dev_gone(b->dev)) {
        for (size_t i = b->parts; i-- > 0;)
            clReleaseMemObject(b->part[i].mem);
        clReleaseMemObject(b->mem);
    }
    vt_buf_free(b->parent);
    vt_dev_free(b->dev);
    free(b->part);
    free(b);
}

static vitcl_status inside(const vt_buf *b, size_t offset, size_t bytes)
{
    if (offset <= b->bytes && bytes <= b->bytes - offset)
        return vt_dev_alive(b->dev);
    return vt_fail(VITCL_EINVAL, "%zu bytes at %zu are outside a buffer of %zu",
                   bytes, offset, b->bytes);
}

vitcl_status vt_buf_write(vt_queue *q, vt_buf *b, size_t offset,
                          const void *data, size_t bytes)
{
    cl_int e;
    vitcl_status st = inside(b, offset, bytes);

    if (st != VITCL_OK || bytes == 0)
        return st;
    e = clEnqueueWriteBuffer(q->queue, b->mem, CL_TRUE, offset, bytes, data, 0,
                             NULL, NULL);
    if (e != CL_SUCCESS)
        st = vt_queue_fail(q, e, "cannot write %zu bytes to the device", bytes);
    return st;
}

vitcl_status vt_buf_read(vt_queue *q, vt_buf *b, size_t offset, void *data,
                         size_t bytes)
{
    cl_int e;
    vitcl_status st = inside(b, offset, bytes);

    if (st != VITCL_OK || bytes == 0)
        return st;
    e = clEnqueueReadBuffer(q->queue, b->mem, CL_TRUE, offset, bytes, data, 0,
                            NULL, NULL);
    if (e != CL_SUCCESS)
        st =
            vt_queue_fail(q, e, "cannot read %zu bytes from the device", bytes);
    return st;
}

vitcl_status vt_buf_fill(vt_queue *q, vt_buf *b, uint32_t word)
{
    const size_t bytes = b->bytes + (-b->bytes & 3);
    cl_event *event;
    cl_int e;
    vitcl_status st;

    VT_TRY(inside(b, 0, 0));
    if (bytes == 0)
        goto done;
    VT_TRY(vt_queue_event(&event, q));
    e = clEnqueueFillBuffer(q->queue, b->mem, &word, sizeof word, 0, bytes, 0,
                            NULL, event);
    if (e == CL_SUCCESS)
        vt_queue_event_done(q);
    else
        st = vt_queue_fail(q, e, "cannot fill %zu bytes", bytes);
done:
    return st;
}
