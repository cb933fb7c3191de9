/*
 * error.c - names of OpenCL's error codes, and their vitcl_status.
 *
 * Surprising: drivers report CL_OUT_OF_RESOURCES when a kernel crashed, usually
 * late and from another call, and the context is unusable after that. But they
 * also report it when a launch needs more resources than are free at the
 * moment. clFinish decides: if that fails too, the device is marked lost and
 * OpenCL is not called on it again, because it might hang. A forked child does
 * not call OpenCL either: it lacks the driver's threads, and a call would wait
 * for them forever.
 */
#include "ocl/objects.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static const struct {
    cl_int code;
    const char *name;
} names[] = {
#define N(name)                                                                \
    {                                                                          \
        name, #name                                                            \
    }
    N(CL_SUCCESS),
    N(CL_DEVICE_NOT_FOUND),
    N(CL_DEVICE_NOT_AVAILABLE),
    N(CL_COMPILER_NOT_AVAILABLE),
    N(CL_MEM_OBJECT_ALLOCATION_FAILURE),
    N(CL_OUT_OF_RESOURCES),
    N(CL_OUT_OF_HOST_MEMORY),
    N(CL_PROFILING_INFO_NOT_AVAILABLE),
    N(CL_MEM_COPY_OVERLAP),
    N(CL_IMAGE_FORMAT_MISMATCH),
    N(CL_IMAGE_FORMAT_NOT_SUPPORTED),
    N(CL_BUILD_PROGRAM_FAILURE),
    N(CL_MAP_FAILURE),
    N(CL_MISALIGNED_SUB_BUFFER_OFFSET),
    N(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
    N(CL_COMPILE_PROGRAM_FAILURE),
    N(CL_LINKER_NOT_AVAILABLE),
    N(CL_LINK_PROGRAM_FAILURE),
    N(CL_DEVICE_PARTITION_FAILED),
    N(CL_KERNEL_ARG_INFO_NOT_AVAILABLE),
    N(CL_INVALID_VALUE),
    N(CL_INVALID_DEVICE_TYPE),
    N(CL_INVALID_PLATFORM),
    N(CL_INVALID_DEVICE),
    N(CL_INVALID_CONTEXT),
    N(CL_INVALID_QUEUE_PROPERTIES),
    N(CL_INVALID_COMMAND_QUEUE),
    N(CL_INVALID_HOST_PTR),
    N(CL_INVALID_MEM_OBJECT),
    N(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR),
    N(CL_INVALID_IMAGE_SIZE),
    N(CL_INVALID_SAMPLER),
    N(CL_INVALID_BINARY),
    N(CL_INVALID_BUILD_OPTIONS),
    N(CL_INVALID_PROGRAM),
    N(CL_INVALID_PROGRAM_EXECUTABLE),
    N(CL_INVALID_KERNEL_NAME),
    N(CL_INVALID_KERNEL_DEFINITION),
    N(CL_INVALID_KERNEL),
    N(CL_INVALID_ARG_INDEX),
    N(CL_INVALID_ARG_VALUE),
    N(CL_INVALID_ARG_SIZE),
    N(CL_INVALID_KERNEL_ARGS),
    N(CL_INVALID_WORK_DIMENSION),
    N(CL_INVALID_WORK_GROUP_SIZE),
    N(CL_INVALID_WORK_ITEM_SIZE),
    N(CL_INVALID_GLOBAL_OFFSET),
    N(CL_INVALID_EVENT_WAIT_LIST),
    N(CL_INVALID_EVENT),
    N(CL_INVALID_OPERATION),
    N(CL_INVALID_GL_OBJECT),
    N(CL_INVALID_BUFFER_SIZE),
    N(CL_INVALID_MIP_LEVEL),
    N(CL_INVALID_GLOBAL_WORK_SIZE),
    N(CL_INVALID_PROPERTY),
    N(CL_INVALID_IMAGE_DESCRIPTOR),
    N(CL_INVALID_COMPILER_OPTIONS),
    N(CL_INVALID_LINKER_OPTIONS),
    N(CL_INVALID_DEVICE_PARTITION_COUNT),
#undef N
    {-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
    {-9999, "NVIDIA: illegal read or write to a buffer"},
};

const char *vt_cl_name(cl_int error)
{
    static _Thread_local char other[32];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].code == error)
            return names[i].name;
    snprintf(other, sizeof other, "OpenCL error %d", error);
    return other;
}

static vitcl_status failure(vt_dev *dev, cl_int error, const char *format,
                            va_list args)
{
    const bool memory = error == CL_OUT_OF_HOST_MEMORY ||
                        error == CL_MEM_OBJECT_ALLOCATION_FAILURE;
    char what[256];

    vsnprintf(what, sizeof what, format, args);
    if (dev)
        atomic_fetch_add(&dev->faults, 1);
    if (dev && (error == -9999 || error == CL_DEVICE_NOT_AVAILABLE))
        atomic_store(&dev->lost, true);
    if (!dev)
        return vt_fail(memory ? VITCL_ENOMEM : VITCL_EDEVICE, "%s: %s", what,
                       vt_cl_name(error));
    return vt_fail(memory ? VITCL_ENOMEM : VITCL_EDEVICE,
                   "%s: %s (%.60s, driver %.40s)", what, vt_cl_name(error),
                   dev->info.name, dev->info.driver);
}

vitcl_status vt_cl_fail(vt_dev *dev, cl_int error, const char *format, ...)
{
    vitcl_status st;
    va_list args;

    va_start(args, format);
    st = failure(dev, error, format, args);
    va_end(args);
    return st;
}

vitcl_status vt_queue_fail(vt_queue *q, cl_int error, const char *format, ...)
{
    vitcl_status st;
    va_list args;

    va_start(args, format);
    st = failure(q->dev, error, format, args);
    va_end(args);
    if (error == CL_OUT_OF_RESOURCES && clFinish(q->queue) != CL_SUCCESS)
        atomic_store(&q->dev->lost, true);
    return st;
}

static atomic_long owner; /* the process that first called OpenCL */

void vt_ocl_adopt(void)
{
    atomic_store(&owner, (long)getpid());
}

bool vt_ocl_forked(void)
{
    long none = 0;
    const long us = (long)getpid();

    return !atomic_compare_exchange_strong(&owner, &none, us) && none != us;
}

bool vt_ocl_inherited(void)
{
    const long first = atomic_load(&owner);

    return first && first != (long)getpid();
}

vitcl_status vt_ocl_ours(void)
{
    return vt_ocl_forked()
               ? vt_fail(VITCL_EDEVICE,
                         "OpenCL drivers do not work in a forked process; "
                         "fork before the first device is opened, or "
                         "start a program in the child")
               : VITCL_OK;
}

bool vt_dev_gone(const vt_dev *dev)
{
    return atomic_load(&dev->lost) || vt_ocl_forked();
}

vitcl_status vt_dev_alive(const vt_dev *dev)
{
    const vitcl_status st = vt_ocl_ours();

    if (st != VITCL_OK || !atomic_load(&dev->lost))
        return st;
    return vt_fail(VITCL_EDEVICE,
                   "the device was lost by an earlier error; open it again "
                   "(%.60s, driver %.40s)",
                   dev->info.name, dev->info.driver);
}
