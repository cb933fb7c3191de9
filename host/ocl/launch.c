/*
 * launch.c - launches of kernels.
 */
#include "ocl/objects.h"

/* A kernel that crashed has not reset its counters: the tiles that it had taken
 * would never be computed again. */
static vitcl_status reset_counters(vt_queue *q, vt_kernel *k)
{
    const unsigned faults = atomic_load(&k->dev->faults);
    const cl_int none = 0;
    cl_int e;

    if (!k->taken || k->faults == faults)
        return VITCL_OK;
    e = clEnqueueFillBuffer(q->queue, k->taken, &none, sizeof none, 0,
                            k->shares * sizeof none, 0, NULL, NULL);
    if (e != CL_SUCCESS)
        return vt_queue_fail(q, e, "cannot reset the counters of kernel %s",
                             k->name);
    k->faults = faults;
    return VITCL_OK;
}

/* What CUDA refuses with a code that names no cause. Only for groups of more
 * than one work-item: the others are for processors, which have no such limit.
 */
static vitcl_status check_size(vt_kernel *k)
{
    const size_t most = 65535; /* CUDA's, in dimensions 1 and 2 */
    size_t items = 1;

    if (k->checked || k->driver_local)
        return VITCL_OK;
    for (unsigned i = 0; i < k->dims; i++)
        items *= k->local[i];
    for (unsigned i = 1; items > 1 && i < k->dims; i++)
        if (k->global[i] / k->local[i] > most)
            return vt_fail(VITCL_EUNSUPPORTED,
                           "kernel %s needs %zu work-groups in dimension %u; "
                           "%zu is the most: use a smaller batch",
                           k->name, k->global[i] / k->local[i], i, most);
    k->checked = true;
    return VITCL_OK;
}

/* The driver decides: what it says of a kernel's largest group can be less than
 * what it launches (Mesa's rusticl says 32). */
static vitcl_status refused(vt_queue *q, const vt_kernel *k, cl_int e)
{
    size_t items = 1, most = 0;

    for (unsigned i = 0; i < k->dims; i++)
        items *= k->driver_local ? 1 : k->local[i];
    if (e == CL_INVALID_WORK_GROUP_SIZE && items > 1 &&
        clGetKernelWorkGroupInfo(k->kernel, k->dev->id,
                                 CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most,
                                 NULL) == CL_SUCCESS)
        return vt_queue_fail(
            q, e,
            "cannot launch kernel %s with groups of %zu work-items; "
            "%zu are possible",
            k->name, items, most);
    return vt_queue_fail(q, e, "cannot launch kernel %s", k->name);
}

void vt_kernel_work(vt_kernel *k, double macs)
{
    k->macs = macs;
}

/* In how many parts a launch is divided, and in which dimension: that with the
 * most groups. */
static size_t parts(unsigned *dim, const vt_kernel *k)
{
    size_t groups = 0;

    *dim = 0;
    if (k->driver_local)
        return 1;
    for (unsigned i = 0; i < k->dims; i++)
        if (k->global[i] / k->local[i] > groups)
            groups = k->global[i] / k->local[i], *dim = i;
    return vt_launch_parts(k->dev, k->macs, groups);
}

unsigned vt_kernel_launches(const vt_kernel *k)
{
    unsigned dim;

    return (unsigned)parts(&dim, k);
}

/* offset: NULL for a whole launch. */
static vitcl_status enqueue(vt_queue *q, vt_kernel *k, const size_t *offset,
                            const size_t global[3])
{
    cl_event *event;
    cl_int e;
    bool alone;
    vitcl_status st = VITCL_OK;

    if (q->record) {
        e = vt_record_add(q->record, k, offset, global);
        return e == CL_SUCCESS ? VITCL_OK : refused(q, k, e);
    }
    VT_TRY(vt_queue_event(&event, q));
    alone = vt_alone_begin(q, !k->launched);
    e = clEnqueueNDRangeKernel(q->queue, k->kernel, k->dims, offset, global,
                               k->driver_local ? NULL : k->local, 0, NULL,
                               event);
    vt_alone_end(q, alone);
    if (e == CL_SUCCESS)
        vt_queue_event_done(q);
    else
        st = refused(q, k, e);
done:
    return st;
}

vitcl_status vt_kernel_launch(vt_queue *q, vt_kernel *k)
{
    size_t global[3] = {k->global[0], k->global[1], k->global[2]}, n, groups;
    unsigned dim;
    vitcl_status st;

    VT_TRY(vt_dev_alive(q->dev));
    VT_TRY(vt_kernel_ready(k));
    VT_TRY(check_size(k));
    VT_TRY(reset_counters(q, k));
    n = parts(&dim, k);
    if (n == 1) {
        VT_TRY(enqueue(q, k, NULL, global));
        k->launched = !q->record;
        return VITCL_OK;
    }
    groups = k->global[dim] / k->local[dim];
    for (size_t i = 0; i < n; i++) {
        const size_t first = groups * i / n, end = groups * (i + 1) / n;
        size_t offset[3] = {0};

        offset[dim] = first; /* of groups, see vt_group() */
        global[dim] = (end - first) * k->local[dim];
        VT_TRY(enqueue(q, k, offset, global));
    }
    k->launched = !q->record;
done:
    return st;
}
