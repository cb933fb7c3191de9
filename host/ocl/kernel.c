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

vitcl_status vt_kernel_make(vt_kernel *k)
{
    cl_program program = NULL;
    cl_int e;

    if (k->kernel)
        return VITCL_OK;
    VT_RET(vt_program_get(&program, k->dev, k->program));
    k->kernel = clCreateKernel(program, k->name, &e);
    if (!k->kernel)
        return vt_cl_fail(k->dev, e, "cl/%s.cl has no usable kernel %s",
                          vt_program_file(k->program), k->name);
    atomic_fetch_add(&k->dev->kernels_made, 1);
    for (unsigned i = 0; i < VT_KERNEL_ARGS; i++)
        if (k->args[i].size)
            VT_RET(set_now(k, i, &k->args[i].value, k->args[i].size));
    return VITCL_OK;
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
        VT_TRY(vt_kernel_make(k));
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

static vitcl_status set(vt_kernel *k, unsigned index, const void *value,
                        size_t size)
{
    if (!k->kernel && index >= VT_KERNEL_ARGS)
        VT_RET(vt_kernel_make(k));
    if (k->kernel)
        VT_RET(set_now(k, index, value, size));
    if (index < VT_KERNEL_ARGS) { /* for a kernel that is made later, or anew */
        memcpy(&k->args[index].value, value, size);
        k->args[index].size = size;
    }
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
    k->checked = k->fits = k->launched = false;
    k->driver_local = !local || local[0] == 0;
    for (unsigned i = 0; i < dims; i++) {
        k->global[i] = global[i];
        k->local[i] = k->driver_local ? 0 : local[i];
        assert(global[i] > 0);
        assert(k->driver_local || global[i] % local[i] == 0);
    }
}

void vt_kernel_groups(vt_kernel *k, vt_groups groups)
{
    k->groups = groups;
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
