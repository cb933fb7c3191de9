/*
 * launch.c - work-groups for which the driver has room, and launches.
 *
 * A driver can have room for fewer work-items of a kernel than the device has
 * for a group: each needs registers. It is asked before the first launch, and
 * where that is refused all the same, smaller groups are tried.
 */
#include "ocl/objects.h"
#include "ocl/program.h"

#include "base/log.h"
#include "base/memory.h"

#include <string.h>

/* ---- smaller groups ---- */

/* The work-items of a group; 1 if the driver chooses. */
static size_t items(const vt_kernel *k)
{
    size_t n = 1;

    for (unsigned i = 0; i < k->dims && !k->driver_local; i++)
        n *= k->local[i];
    return n;
}

/* The largest group that the driver has room for, as it says; 0: it does not
 * say. */
static size_t room(const vt_kernel *k)
{
    size_t most = 0;

    /* Mesa's rusticl always says 32, and launches more. */
    return strcmp(k->dev->info.platform, "rusticl") != 0 &&
                   clGetKernelWorkGroupInfo(
                       k->kernel, k->dev->id, CL_KERNEL_WORK_GROUP_SIZE,
                       sizeof most, &most, NULL) == CL_SUCCESS
               ? most
               : 0;
}

/* These defines, with another value of one of them or with one more. */
static vitcl_status with_define(char **out, const char *defines,
                                const char *name, size_t value)
{
    const char *at = defines;
    size_t n, all;

    for (const char *p; (p = vt_next_define(&n, &all, &at));)
        if (n == strlen(name) && strncmp(p, name, n) == 0)
            return vt_format(out, "%.*s%s=%zu%s", (int)(p - defines), defines,
                             name, value, p + all);
    return vt_format(out, "%s -D%s=%zu", defines, name, value);
}

/* Makes the kernel from a program with one other define. */
static vitcl_status rebuild(vt_kernel *k, const char *name, size_t value)
{
    char *defines = NULL;
    vitcl_status st;

    VT_TRY(with_define(&defines, k->program->defines, name, value));
    VT_TRY(vt_program_ask(&k->program, k->dev, k->program->file, k->name,
                          defines));
    clReleaseKernel(k->kernel);
    k->kernel = NULL;
    VT_TRY(vt_kernel_make(k));
done:
    free(defines);
    return st;
}

/* Groups of at most that many work-items, of a kernel that can have them. */
static vitcl_status shrink(vt_kernel *k, size_t most)
{
    const size_t before = items(k), groups = k->global[0] / k->local[0];
    const size_t wide = k->local[0];
    size_t parts;

    switch (k->groups) {
    case VT_GROUPS_FIXED:
        break;
    case VT_GROUPS_ANY:
        while (k->local[0] > most || k->global[0] % k->local[0])
            k->local[0]--;
        break;
    case VT_GROUPS_WG:
        while (k->local[0] > most)
            k->local[0] /= 2;
        k->global[0] = groups * k->local[0];
        VT_RET(rebuild(k, "WG", k->local[0]));
        break;
    case VT_GROUPS_COLUMNS:
        parts = k->global[1] / k->local[1];
        while (k->local[1] > 1 && items(k) > most)
            k->local[1] /= 2;
        k->global[1] = parts * k->local[1];
        VT_RET(rebuild(k, "COLUMNS_HIGH", k->local[1]));
        while (items(k) > most)
            k->local[0] /= 2;
        if (k->local[0] < wide)
            VT_RET(rebuild(k, "COLUMNS_WIDE", k->local[0]));
        break;
    }
    vt_log("kernel %s: work-groups of %zu work-items, not %zu", k->name,
           items(k), before);
    return VITCL_OK;
}

/* Asks the driver how large the groups of a made kernel can be, once for each
 * size, and makes them smaller where that is possible. */
static vitcl_status fit(vt_kernel *k)
{
    while (!k->fits && k->groups != VT_GROUPS_FIXED && items(k) > 1) {
        const size_t said = room(k);
        const size_t most = VT_MIN(said ? said : SIZE_MAX, k->dev->group_max);

        if (items(k) <= most)
            break;
        VT_RET(shrink(k, most));
    }
    k->fits = true;
    return VITCL_OK;
}

vitcl_status vt_kernel_ready(vt_kernel *k)
{
    VT_RET(vt_kernel_make(k));
    return fit(k);
}

size_t vt_kernel_local_bytes(const vt_kernel *k)
{
    cl_ulong bytes = 0;

    return clGetKernelWorkGroupInfo(k->kernel, k->dev->id,
                                    CL_KERNEL_LOCAL_MEM_SIZE, sizeof bytes,
                                    &bytes, NULL) == CL_SUCCESS
               ? (size_t)bytes
               : 0;
}

/* Is a launch that was refused to be tried again with smaller groups? NVIDIA's
 * driver says that its resources do not suffice, as it also does when the
 * device is lost. */
static bool may_shrink(const vt_queue *q, const vt_kernel *k, cl_int e)
{
    return !k->launched && k->groups != VT_GROUPS_FIXED && items(k) > 1 &&
           (e == CL_INVALID_WORK_GROUP_SIZE ||
            (e == CL_OUT_OF_RESOURCES && clFinish(q->queue) == CL_SUCCESS));
}

/* ---- launches ---- */

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
 * than one work-item: others are for processors, which have no such limit. */
static vitcl_status check_size(vt_kernel *k)
{
    const size_t most = 65535; /* CUDA's, in dimensions 1 and 2 */

    if (k->checked || k->driver_local)
        return VITCL_OK;
    for (unsigned i = 1; items(k) > 1 && i < k->dims; i++)
        if (k->global[i] / k->local[i] > most)
            return vt_fail(VITCL_EUNSUPPORTED,
                           "kernel %s needs %zu work-groups in dimension %u; "
                           "%zu is the most: use a smaller batch",
                           k->name, k->global[i] / k->local[i], i, most);
    k->checked = true;
    return VITCL_OK;
}

static vitcl_status refused(vt_queue *q, const vt_kernel *k, cl_int e)
{
    const size_t n = items(k), most = n > 1 ? room(k) : 0;

    if (most && (e == CL_INVALID_WORK_GROUP_SIZE ||
                 (e == CL_OUT_OF_RESOURCES && most < n)))
        return vt_queue_fail(
            q, e,
            "cannot launch kernel %s with groups of %zu work-items; "
            "%zu are possible",
            k->name, n, most);
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

/* offset: NULL for a whole launch, of k->global, which can change here. */
static vitcl_status enqueue(vt_queue *q, vt_kernel *k, const size_t *offset,
                            const size_t global[3])
{
    cl_event *event;
    bool again = false, alone;
    cl_int e;

    do {
        VT_RET(vt_queue_event(&event, q));
        alone = vt_alone_begin(q, !k->launched);
        e = clEnqueueNDRangeKernel(q->queue, k->kernel, k->dims, offset, global,
                                   k->driver_local ? NULL : k->local, 0, NULL,
                                   event);
        vt_alone_end(q, alone);
        if (e == CL_SUCCESS)
            vt_queue_event_done(q);
        if (e != CL_SUCCESS && !may_shrink(q, k, e))
            return refused(q, k, e);
        if (e == CL_OUT_OF_RESOURCES && !again)
            again = true; /* what lacked may be there now: the same bits */
        else if (e != CL_SUCCESS)
            VT_RET(shrink(k, items(k) / 2));
    } while (e != CL_SUCCESS);
    return VITCL_OK;
}

vitcl_status vt_kernel_launch(vt_queue *q, vt_kernel *k)
{
    size_t n;
    unsigned dim;

    VT_RET(vt_dev_alive(q->dev));
    VT_RET(vt_kernel_ready(k));
    VT_RET(check_size(k));
    VT_RET(reset_counters(q, k));
    n = parts(&dim, k);
    if (n == 1)
        VT_RET(enqueue(q, k, NULL, k->global));
    for (size_t i = 0; n > 1 && i < n; i++) {
        const size_t groups = k->global[dim] / k->local[dim];
        const size_t first = groups * i / n, end = groups * (i + 1) / n;
        size_t offset[3] = {0}, global[3];

        memcpy(global, k->global, sizeof global);
        offset[dim] = first; /* of groups, see vt_group() */
        global[dim] = (end - first) * k->local[dim];
        VT_RET(enqueue(q, k, offset, global));
    }
    k->launched = true;
    return VITCL_OK;
}
