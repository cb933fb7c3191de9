/*
 * cl_group.c - an OpenCL driver that has no room for large work-groups.
 *
 * Preloaded with VT_CL_GROUP="N SAYS CODE", each launch of a kernel with groups
 * of more than N work-items is not made and returns CODE. The driver says that
 * it has room for SAYS, or for fewer if it does without this library. Kernels
 * whose groups are fixed are left alone, unless VT_CL_GROUP ends in " all".
 */
#define CL_TARGET_OPENCL_VERSION 120
#define _GNU_SOURCE
#include "preload.h"

#include <CL/cl.h>

static const char *const fixed[] = {"gemm", "attention", "to_tokens"};

/* Is the kernel one of those with less room? */
static int less(cl_kernel kernel, size_t *most, size_t *says, cl_int *code)
{
    char name[64] = "", all[4] = "";

    if (!preload_told("VT_CL_GROUP", 3, "%zu %zu %d %3s", most, says, code,
                      all) ||
        clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name,
                        NULL) != CL_SUCCESS)
        return 0;
    for (size_t i = 0; !*all && i < sizeof fixed / sizeof *fixed; i++)
        if (strncmp(name, fixed[i], strlen(fixed[i])) == 0)
            return 0;
    return 1;
}

cl_int clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id device,
                                cl_kernel_work_group_info what, size_t size,
                                void *value, size_t *got)
{
    size_t most, says, *answer = value;
    cl_int code, e;

    REAL(clGetKernelWorkGroupInfo)
    e = real(kernel, device, what, size, value, got);
    if (e == CL_SUCCESS && what == CL_KERNEL_WORK_GROUP_SIZE && answer &&
        less(kernel, &most, &says, &code) && *answer > says)
        *answer = says;
    return e;
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel,
                              cl_uint dimensions, const size_t *offset,
                              const size_t *global, const size_t *local,
                              cl_uint n, const cl_event *wait, cl_event *event)
{
    size_t items = 1, most, says;
    cl_int code;

    REAL(clEnqueueNDRangeKernel)
    for (cl_uint i = 0; local && i < dimensions; i++)
        items *= local[i];
    if (less(kernel, &most, &says, &code) && items > most)
        return code;
    return real(queue, kernel, dimensions, offset, global, local, n, wait,
                event);
}
