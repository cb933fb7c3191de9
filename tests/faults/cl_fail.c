/*
 * cl_fail.c - make one OpenCL call of a program fail.
 *
 * Preloaded with VT_CL_FAIL="N CODE", the N-th call (from 1) of those below is
 * not made and returns CODE. With VT_CL_COUNT=FILE, FILE gets the name of each
 * call, one a line, at exit. Releases are not counted, because a caller can do
 * nothing about their failure.
 */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#include "preload.h"

#include <CL/cl.h>

#include <unistd.h>

static atomic_int calls;
static FILE *names;
static pid_t first;

static void begin(void) __attribute__((constructor));
static void begin(void)
{
    const char *path = getenv("VT_CL_COUNT");

    first = getpid();
    if (path)
        names = fopen(path, "we");
    unsetenv("VT_CL_COUNT"); /* child processes would overwrite the file */
}

static int hit(const char *name, cl_int *code)
{
    const int call = preload_count(&calls);
    int n;

    if (names && getpid() == first)
        fprintf(names, "%s\n", name);
    return preload_told("VT_CL_FAIL", 2, "%d %d", &n, code) && n == call;
}

#define STATUS(name, parameters, arguments)                                    \
    cl_int name parameters                                                     \
    {                                                                          \
        cl_int code;                                                           \
                                                                               \
        if (hit(#name, &code))                                                 \
            return code;                                                       \
        REAL(name)                                                             \
        return real arguments;                                                 \
    }
/* Calls whose last parameter receives the status. */
#define OBJECT(type, name, parameters, arguments)                              \
    type name parameters                                                       \
    {                                                                          \
        cl_int code;                                                           \
                                                                               \
        if (hit(#name, &code)) {                                               \
            if (status)                                                        \
                *status = code;                                                \
            return NULL;                                                       \
        }                                                                      \
        REAL(name)                                                             \
        return real arguments;                                                 \
    }

typedef void(CL_CALLBACK *built)(cl_program, void *);
typedef void(CL_CALLBACK *told)(const char *, const void *, size_t, void *);
typedef void(CL_CALLBACK *gone)(cl_mem, void *);

STATUS(clGetPlatformIDs, (cl_uint n, cl_platform_id *list, cl_uint *count),
       (n, list, count))
STATUS(clGetPlatformInfo,
       (cl_platform_id p, cl_platform_info what, size_t size, void *value,
        size_t *got),
       (p, what, size, value, got))
STATUS(clGetDeviceIDs,
       (cl_platform_id p, cl_device_type type, cl_uint n, cl_device_id *list,
        cl_uint *count),
       (p, type, n, list, count))
STATUS(clGetDeviceInfo,
       (cl_device_id d, cl_device_info what, size_t size, void *value,
        size_t *got),
       (d, what, size, value, got))
OBJECT(cl_context, clCreateContext,
       (const cl_context_properties *what, cl_uint n,
        const cl_device_id *devices, told tell, void *context, cl_int *status),
       (what, n, devices, tell, context, status))
OBJECT(cl_command_queue, clCreateCommandQueue,
       (cl_context c, cl_device_id d, cl_command_queue_properties what,
        cl_int *status),
       (c, d, what, status))
OBJECT(cl_mem, clCreateBuffer,
       (cl_context c, cl_mem_flags flags, size_t size, void *host,
        cl_int *status),
       (c, flags, size, host, status))
OBJECT(cl_mem, clCreateSubBuffer,
       (cl_mem of, cl_mem_flags flags, cl_buffer_create_type type,
        const void *what, cl_int *status),
       (of, flags, type, what, status))
OBJECT(cl_program, clCreateProgramWithSource,
       (cl_context c, cl_uint n, const char **text, const size_t *size,
        cl_int *status),
       (c, n, text, size, status))
OBJECT(cl_program, clCreateProgramWithBinary,
       (cl_context c, cl_uint n, const cl_device_id *devices,
        const size_t *size, const unsigned char **binary, cl_int *each,
        cl_int *status),
       (c, n, devices, size, binary, each, status))
STATUS(clBuildProgram,
       (cl_program p, cl_uint n, const cl_device_id *devices,
        const char *options, built done, void *context),
       (p, n, devices, options, done, context))
STATUS(clGetProgramInfo,
       (cl_program p, cl_program_info what, size_t size, void *value,
        size_t *got),
       (p, what, size, value, got))
STATUS(clGetProgramBuildInfo,
       (cl_program p, cl_device_id d, cl_program_build_info what, size_t size,
        void *value, size_t *got),
       (p, d, what, size, value, got))
OBJECT(cl_kernel, clCreateKernel,
       (cl_program p, const char *name, cl_int *status), (p, name, status))
STATUS(clGetKernelWorkGroupInfo,
       (cl_kernel k, cl_device_id d, cl_kernel_work_group_info what,
        size_t size, void *value, size_t *got),
       (k, d, what, size, value, got))
STATUS(clSetKernelArg,
       (cl_kernel k, cl_uint at, size_t size, const void *value),
       (k, at, size, value))
STATUS(clEnqueueNDRangeKernel,
       (cl_command_queue q, cl_kernel k, cl_uint dimensions,
        const size_t *offset, const size_t *global, const size_t *local,
        cl_uint n, const cl_event *wait, cl_event *event),
       (q, k, dimensions, offset, global, local, n, wait, event))
STATUS(clEnqueueReadBuffer,
       (cl_command_queue q, cl_mem m, cl_bool block, size_t at, size_t size,
        void *to, cl_uint n, const cl_event *wait, cl_event *event),
       (q, m, block, at, size, to, n, wait, event))
STATUS(clEnqueueWriteBuffer,
       (cl_command_queue q, cl_mem m, cl_bool block, size_t at, size_t size,
        const void *from, cl_uint n, const cl_event *wait, cl_event *event),
       (q, m, block, at, size, from, n, wait, event))
OBJECT(void *, clEnqueueMapBuffer,
       (cl_command_queue q, cl_mem m, cl_bool block, cl_map_flags flags,
        size_t at, size_t size, cl_uint n, const cl_event *wait,
        cl_event *event, cl_int *status),
       (q, m, block, flags, at, size, n, wait, event, status))
STATUS(clEnqueueUnmapMemObject,
       (cl_command_queue q, cl_mem m, void *host, cl_uint n,
        const cl_event *wait, cl_event *event),
       (q, m, host, n, wait, event))
STATUS(clEnqueueCopyBuffer,
       (cl_command_queue q, cl_mem from, cl_mem to, size_t from_at,
        size_t to_at, size_t size, cl_uint n, const cl_event *wait,
        cl_event *event),
       (q, from, to, from_at, to_at, size, n, wait, event))
STATUS(clEnqueueFillBuffer,
       (cl_command_queue q, cl_mem m, const void *pattern, size_t pattern_size,
        size_t at, size_t size, cl_uint n, const cl_event *wait,
        cl_event *event),
       (q, m, pattern, pattern_size, at, size, n, wait, event))
STATUS(clEnqueueMarkerWithWaitList,
       (cl_command_queue q, cl_uint n, const cl_event *wait, cl_event *event),
       (q, n, wait, event))
/* NULL is its failure, whatever the code. */
void *clGetExtensionFunctionAddressForPlatform(cl_platform_id p,
                                               const char *name)
{
    cl_int code;

    if (hit("clGetExtensionFunctionAddressForPlatform", &code))
        return NULL;
    REAL(clGetExtensionFunctionAddressForPlatform)
    return real(p, name);
}

STATUS(clFlush, (cl_command_queue q), (q))
STATUS(clFinish, (cl_command_queue q), (q))
STATUS(clWaitForEvents, (cl_uint n, const cl_event *events), (n, events))
STATUS(clGetEventProfilingInfo,
       (cl_event e, cl_profiling_info what, size_t size, void *value,
        size_t *got),
       (e, what, size, value, got))
STATUS(clSetMemObjectDestructorCallback, (cl_mem m, gone call, void *context),
       (m, call, context))
