/*
 * driver.c - wrappers of OpenCL driver functions, and of fork(), in a test
 * program.
 */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 120
#include "support/driver.h"

#include <CL/cl.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

vt_driver_faults vt_driver;

/* The driver's own function. ISO C cannot convert dlsym()'s result. */
#define NEXT(function, name)                                                   \
    do {                                                                       \
        void *symbol = dlsym(RTLD_NEXT, name);                                 \
        memcpy(&(function), &symbol, sizeof symbol);                           \
    } while (0)

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel,
                              cl_uint dims, const size_t *offset,
                              const size_t *global, const size_t *local,
                              cl_uint n, const cl_event *wait, cl_event *event)
{
    cl_int (*next)(cl_command_queue, cl_kernel, cl_uint, const size_t *,
                   const size_t *, const size_t *, cl_uint, const cl_event *,
                   cl_event *);
    const cl_int e = vt_driver.launch;

    vt_driver.launch = 0;
    if (e)
        return e;
    NEXT(next, "clEnqueueNDRangeKernel");
    return next(queue, kernel, dims, offset, global, local, n, wait, event);
}

cl_int clFinish(cl_command_queue queue)
{
    cl_int (*next)(cl_command_queue), e;

    /* The work must end even if the call fails: its buffers are released
     * soon. */
    NEXT(next, "clFinish");
    e = next(queue);
    if (vt_driver.finishes == 0)
        return e;
    vt_driver.finishes--;
    return vt_driver.finish;
}

cl_int clGetEventProfilingInfo(cl_event event, cl_profiling_info what,
                               size_t size, void *value, size_t *returned)
{
    cl_int (*next)(cl_event, cl_profiling_info, size_t, void *, size_t *);
    const cl_ulong fake = what == CL_PROFILING_COMMAND_END ? 1001 : 1000;

    if (vt_driver.no_clock && size >= sizeof fake) {
        memcpy(value, &fake, sizeof fake);
        return CL_SUCCESS;
    }
    NEXT(next, "clGetEventProfilingInfo");
    return next(event, what, size, value, returned);
}

/* CL_DEVICE_EXTENSIONS with one more. */
static cl_int
one_more(cl_int (*next)(cl_device_id, cl_device_info, size_t, void *, size_t *),
         cl_device_id device, size_t size, void *value, size_t *returned)
{
    const size_t more = strlen(vt_driver.extension) + 1;
    size_t n = 0;
    cl_int e = next(device, CL_DEVICE_EXTENSIONS, 0, NULL, &n);

    if (e == CL_SUCCESS && value)
        e = size < n + more
                ? CL_INVALID_VALUE
                : next(device, CL_DEVICE_EXTENSIONS, size - more, value, NULL);
    if (e == CL_SUCCESS && value)
        strcat(strcat(value, " "), vt_driver.extension);
    if (returned)
        *returned = n + more;
    return e;
}

cl_int clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t size,
                       void *value, size_t *returned)
{
    cl_int (*next)(cl_device_id, cl_device_info, size_t, void *, size_t *);

    if (what == CL_DEVICE_VERSION && vt_driver.version) {
        const size_t n = strlen(vt_driver.version) + 1;

        if (value && size < n)
            return CL_INVALID_VALUE;
        if (value)
            memcpy(value, vt_driver.version, n);
        if (returned)
            *returned = n;
        return CL_SUCCESS;
    }
    NEXT(next, "clGetDeviceInfo");
    for (int i = 0; i < 3; i++)
        if (vt_driver.number[i][0] && what == vt_driver.number[i][0]) {
            memcpy(value, &vt_driver.number[i][1], sizeof(cl_uint));
            return CL_SUCCESS;
        }
    if (what == CL_DEVICE_EXTENSIONS && vt_driver.extension)
        return one_more(next, device, size, value, returned);
    return next(device, what, size, value, returned);
}

cl_int clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id device,
                                cl_kernel_work_group_info what, size_t size,
                                void *value, size_t *returned)
{
    cl_int (*next)(cl_kernel, cl_device_id, cl_kernel_work_group_info, size_t,
                   void *, size_t *);
    cl_ulong bytes;
    cl_int e;

    NEXT(next, "clGetKernelWorkGroupInfo");
    e = next(kernel, device, what, size, value, returned);
    if (what == CL_KERNEL_LOCAL_MEM_SIZE && size == sizeof bytes) {
        memcpy(&bytes, value, sizeof bytes);
        if (bytes > vt_driver.needed)
            vt_driver.needed = bytes;
        if (vt_driver.local && bytes > vt_driver.local)
            memcpy(value, &(cl_ulong){SIZE_MAX}, sizeof bytes);
    }
    return e;
}

/* Takes a fault: it happens once. */
static cl_int once(int *fault)
{
    const cl_int e = *fault;

    *fault = 0;
    return e;
}

cl_int clBuildProgram(cl_program program, cl_uint n,
                      const cl_device_id *devices, const char *options,
                      void(CL_CALLBACK *done)(cl_program, void *),
                      void *context)
{
    cl_int (*next)(cl_program, cl_uint, const cl_device_id *, const char *,
                   void(CL_CALLBACK *)(cl_program, void *), void *);
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    const bool in_turn = vt_driver.in_turn;
    cl_int e = once(&vt_driver.build);

    if (e)
        return e;
    NEXT(next, "clBuildProgram");
    if (in_turn) {
        pthread_mutex_lock(&lock);
        vt_driver.turns++;
    }
    e = next(program, n, devices, options, done, context);
    if (in_turn) {
        pthread_mutex_unlock(&lock);
    }
    return e;
}

cl_program clCreateProgramWithBinary(cl_context context, cl_uint n,
                                     const cl_device_id *devices,
                                     const size_t *sizes,
                                     const unsigned char **binaries,
                                     cl_int *each, cl_int *status)
{
    cl_program (*next)(cl_context, cl_uint, const cl_device_id *,
                       const size_t *, const unsigned char **, cl_int *,
                       cl_int *);
    const cl_int e = once(&vt_driver.binary), f = once(&vt_driver.with_binary);
    cl_program program;

    NEXT(next, "clCreateProgramWithBinary");
    program = next(context, n, devices, sizes, binaries, each, status);
    if (e && each)
        *each = e;
    if (f && status)
        *status = f;
    return program;
}

cl_int clGetProgramInfo(cl_program program, cl_program_info what, size_t size,
                        void *value, size_t *returned)
{
    cl_int (*next)(cl_program, cl_program_info, size_t, void *, size_t *);
    const bool sizes = what == CL_PROGRAM_BINARY_SIZES;
    cl_int e = 0;

    if (sizes || what == CL_PROGRAM_BINARIES)
        e = once(sizes ? &vt_driver.sizes : &vt_driver.binaries);
    if (e)
        return e;
    NEXT(next, "clGetProgramInfo");
    e = next(program, what, size, value, returned);
    if (sizes && vt_driver.size && size == sizeof *vt_driver.size) {
        memcpy(value, vt_driver.size, size);
        vt_driver.size = NULL;
    }
    return e;
}

pid_t fork(void)
{
    pid_t (*next)(void);

    if (vt_driver.forks > 0) {
        vt_driver.forks--;
        errno = EAGAIN;
        return -1;
    }
    NEXT(next, "fork");
    return next();
}
