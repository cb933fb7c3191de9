/*
 * kernel.c - kernels with their arguments and launch size.
 *
 * A kernel belongs to one thread: its arguments stay set between launches, so
 * that a run only enqueues.
 */
#include "ocl/objects.h"

#include "base/memory.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static _Thread_local bool deferring;

void vt_kernels_defer(bool defer)
{
    deferring = defer;
}

void vt_kernels_build(vt_dev *dev)
{
    vt_programs_build(dev);
}

static vitcl_status set_now(vt_kernel *k, unsigned index, const void *value,
                            size_t size)
{
    const cl_int e = clSetKernelArg(k->kernel, index, size, value);

    atomic_fetch_add(&k->dev->args_set, 1);
    if (e == CL_SUCCESS)
        return VITCL_OK;
    return vt_cl_fail(k->dev, e, "kernel %s rejects argument %u", k->name,
                      index);
}

vitcl_status vt_kernel_ready(vt_kernel *k)
{
    cl_program program = NULL;
    vitcl_status st = VITCL_OK;
    cl_int e;

    if (k->kernel)
        return VITCL_OK;
    VT_TRY(vt_program_get(&program, k->dev, k->program));
    k->kernel = clCreateKernel(program, k->name, &e);
    if (!k->kernel)
        return vt_cl_fail(k->dev, e, "cl/%s.cl has no usable kernel %s",
                          vt_program_file(k->program), k->name);
    atomic_fetch_add(&k->dev->kernels_made, 1);
    for (unsigned i = 0; i < VT_KERNEL_ARGS; i++)
        if (k->args[i].size)
            VT_TRY(set_now(k, i, &k->args[i].value, k->args[i].size));
done:
    return st;
}

vitcl_status vt_kernel_new(vt_kernel **out, vt_dev *dev, const char *file,
                           const char *name, const char *defines)
{
    vt_kernel *k = NULL;
    vitcl_status st;

    VT_TRY(VT_NEW(&k, 1));
    k->dev = vt_dev_ref(dev);
    k->dims = 1;
    k->global[0] = 1;
    k->driver_local = true;
    snprintf(k->name, sizeof k->name, "%s", name);
    VT_TRY(
        vt_program_ask(&k->program, dev, file, name, defines ? defines : ""));
    if (!deferring)
        VT_TRY(vt_kernel_ready(k));
    *out = k, k = NULL;
done:
    vt_kernel_free(k);
    return st;
}

void vt_kernel_free(vt_kernel *k)
{
    if (!k)
        return;
    if (k->kernel && !vt_dev_gone(k->dev))
        clReleaseKernel(k->kernel);
    if (k->taken && !vt_dev_gone(k->dev))
        clReleaseMemObject(k->taken);
    vt_dev_free(k->dev);
    free(k);
}

const char *vt_kernel_name(const vt_kernel *k)
{
    return k->name;
}

static vitcl_status set(vt_kernel *k, unsigned index, const void *value,
                        size_t size)
{
    if (!k->kernel && index >= VT_KERNEL_ARGS) {
        const vitcl_status st = vt_kernel_ready(k);
        if (st != VITCL_OK)
            return st;
    }
    if (k->kernel)
        return set_now(k, index, value, size);
    memcpy(&k->args[index].value, value, size);
    k->args[index].size = size;
    return VITCL_OK;
}

vitcl_status vt_kernel_buf(vt_kernel *k, unsigned index, vt_buf *b)
{
    const cl_mem mem = b ? b->mem : NULL;

    return set(k, index, &mem, sizeof mem);
}

vitcl_status vt_kernel_int(vt_kernel *k, unsigned index, int32_t v)
{
    const cl_int value = v;

    return set(k, index, &value, sizeof value);
}

vitcl_status vt_kernel_float(vt_kernel *k, unsigned index, float v)
{
    const cl_float value = v;

    return set(k, index, &value, sizeof value);
}

void vt_kernel_size(vt_kernel *k, unsigned dims, const size_t global[3],
                    const size_t local[3])
{
    assert(dims >= 1 && dims <= 3);
    k->dims = dims;
    k->checked = k->launched = false;
    k->driver_local = !local || local[0] == 0;
    for (unsigned i = 0; i < dims; i++) {
        k->global[i] = global[i];
        k->local[i] = k->driver_local ? 0 : local[i];
        assert(global[i] > 0);
        assert(k->driver_local || global[i] % local[i] == 0);
    }
}

/* GPU drivers end kernels that run for too long. Mesa's llvmpipe silently
 * leaves the loops of a work-item after 65535 iterations in all. */
bool vt_dev_long_items(const vt_dev *dev)
{
    return strcmp(dev->info.type, "cpu") == 0 &&
           !strstr(dev->info.name, "llvmpipe");
}

size_t vt_item_stack(void)
{
    const size_t others = 128 << 10; /* used by the driver and by LLVM */
    pthread_attr_t usual;
    size_t bytes = 0;

    if (pthread_attr_init(&usual) == 0) {
        pthread_attr_getstacksize(&usual, &bytes);
        pthread_attr_destroy(&usual);
    }
    return bytes > others ? bytes - others : 0;
}

vitcl_status vt_kernel_tiles(vt_kernel *k, unsigned index, int tiles)
{
    const bool shared = vt_dev_long_items(k->dev);
    const size_t cores = VT_MAX(k->dev->info.compute_units, 1u);
    const size_t groups = shared ? VT_MIN((size_t)tiles, cores) : (size_t)tiles;
    const size_t global[3] = {groups, 1, 1}, one[3] = {1, 1, 1};
    cl_int *none = NULL, e;
    vitcl_status st;

    VT_TRY(vt_dev_alive(k->dev));
    VT_TRY(vt_kernel_int(k, index + 1, tiles));
    vt_kernel_size(k, 1, global, one);
    if (!shared)
        return vt_kernel_buf(k, index, NULL);
    VT_TRY(VT_NEW(&none, groups));
    k->taken = clCreateBuffer(k->dev->context,
                              CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                              groups * sizeof *none, none, &e);
    if (!k->taken) {
        st = vt_cl_fail(k->dev, e, "cannot allocate device memory for %s",
                        k->name);
        goto done;
    }
    k->shares = groups;
    k->faults = atomic_load(&k->dev->faults);
    VT_TRY(set(k, index, &k->taken, sizeof k->taken));
done:
    free(none);
    return st;
}

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
