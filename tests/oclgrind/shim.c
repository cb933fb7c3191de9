/*
 * shim.c - makes oclgrind know exactly which bytes have been written.
 *
 * Oclgrind 21.10 --uninitialized keeps a shadow of each buffer, which records
 * its initialised bytes. The shadow is wrong in four cases:
 *
 *   a released buffer's shadow stays, and is used for the next buffer at the
 *   same address, even if that is larger;
 *   a buffer that no host call wrote gets its shadow when a kernel first has
 *   it: where that is a window that does not begin at 0, the shadow is random;
 *   a host call that writes a part replaces the shadow of the whole buffer by
 *   one with the size of that part;
 *   clEnqueueFillBuffer does not change the shadow.
 *
 * Preloaded before oclgrind, this library keeps every buffer, so that no
 * address is used twice; passes each new one to a kernel that does nothing; and
 * replaces fills and partial writes by a kernel that copies, because oclgrind
 * follows byte by byte what kernels write.
 */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef cl_mem (*create_call)(cl_context, cl_mem_flags, size_t, void *,
                              cl_int *);
typedef cl_int (*write_call)(cl_command_queue, cl_mem, cl_bool, size_t, size_t,
                             const void *, cl_uint, const cl_event *,
                             cl_event *);

static const char *const source =
    "kernel void see(global char *x) {}\n"
    "kernel void put_words(global uint *x, global const uint *from, ulong at)\n"
    "{ x[at / 4 + get_global_id(0)] = from[get_global_id(0)]; }\n"
    "kernel void put_bytes(global char *x, global const char *from, ulong at)\n"
    "{ x[at + get_global_id(0)] = from[get_global_id(0)]; }\n";

/* The kernels of the context that was used last. */
static struct {
    cl_context context;
    cl_command_queue queue;
    cl_kernel see, words, bytes;
} own;

/* Without the shim, findings would be missed or invented. */
static void need(int yes, const char *what)
{
    if (yes)
        return;
    fprintf(stderr, "Oclgrind - shim: %s\n", what);
    abort();
}

static void make_kernels(cl_context context)
{
    cl_device_id device;
    cl_program program;

    if (own.context == context)
        return;
    need(clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof device, &device,
                          NULL) == CL_SUCCESS,
         "no device");
    own.context = context;
    own.queue = clCreateCommandQueue(context, device, 0, NULL);
    program = clCreateProgramWithSource(context, 1, (const char **)&source,
                                        NULL, NULL);
    need(own.queue && program &&
             clBuildProgram(program, 1, &device, "", NULL, NULL) == CL_SUCCESS,
         "no program");
    own.see = clCreateKernel(program, "see", NULL);
    own.words = clCreateKernel(program, "put_words", NULL);
    own.bytes = clCreateKernel(program, "put_bytes", NULL);
    need(own.see && own.words && own.bytes, "no kernel");
}

cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size,
                      void *host, cl_int *e)
{
    void *symbol = dlsym(RTLD_NEXT, "clCreateBuffer");
    create_call create;
    cl_mem b;

    memcpy(&create, &symbol, sizeof create);
    b = create(context, flags, size, host, e);
    if (!b)
        return NULL;
    need(clRetainMemObject(b) == CL_SUCCESS, "a buffer cannot be kept");
    if (host)
        return b;
    make_kernels(context);
    need(clSetKernelArg(own.see, 0, sizeof b, &b) == CL_SUCCESS &&
             clEnqueueTask(own.queue, own.see, 0, NULL, NULL) == CL_SUCCESS &&
             clFinish(own.queue) == CL_SUCCESS,
         "a buffer cannot be shown");
    return b;
}

/* x[at .. at + size] = data, in the caller's queue. */
static cl_int put(cl_command_queue queue, cl_mem x, size_t at, size_t size,
                  const void *data, cl_uint waits, const cl_event *list,
                  cl_event *event)
{
    const cl_ulong offset = at;
    const size_t items = (at | size) % 4 ? size : size / 4;
    cl_mem from = NULL;
    cl_context context;
    cl_kernel k;
    cl_int e;

    clGetMemObjectInfo(x, CL_MEM_CONTEXT, sizeof(cl_context), &context, NULL);
    make_kernels(context);
    k = items == size ? own.bytes : own.words;
    from = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                          size, (void *)(size_t)data, &e);
    need(from && clSetKernelArg(k, 0, sizeof x, &x) == CL_SUCCESS &&
             clSetKernelArg(k, 1, sizeof from, &from) == CL_SUCCESS &&
             clSetKernelArg(k, 2, sizeof offset, &offset) == CL_SUCCESS,
         "a part cannot be written");
    e = clEnqueueNDRangeKernel(queue, k, 1, NULL, &items, NULL, waits, list,
                               event);
    if (e == CL_SUCCESS)
        e = clFinish(queue);
    clReleaseMemObject(from);
    return e;
}

cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem buffer,
                            cl_bool blocking, size_t offset, size_t size,
                            const void *data, cl_uint waits,
                            const cl_event *list, cl_event *event)
{
    void *symbol = dlsym(RTLD_NEXT, "clEnqueueWriteBuffer");
    write_call write;
    cl_mem whole = NULL;
    size_t at = 0, bytes = 0, room = 0;

    memcpy(&write, &symbol, sizeof write);
    clGetMemObjectInfo(buffer, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof(cl_mem),
                       &whole, NULL);
    clGetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof room, &room, NULL);
    if (whole)
        clGetMemObjectInfo(buffer, CL_MEM_OFFSET, sizeof at, &at, NULL);
    else
        whole = buffer;
    clGetMemObjectInfo(whole, CL_MEM_SIZE, sizeof bytes, &bytes, NULL);
    /* oclgrind reports the error. */
    if (!data || size == bytes || size == 0 || offset > room ||
        size > room - offset)
        return write(queue, buffer, blocking, offset, size, data, waits, list,
                     event);
    return put(queue, whole, at + offset, size, data, waits, list, event);
}

cl_int clEnqueueFillBuffer(cl_command_queue queue, cl_mem buffer,
                           const void *pattern, size_t pattern_size,
                           size_t offset, size_t size, cl_uint waits,
                           const cl_event *list, cl_event *event)
{
    char *data;
    cl_int e;

    if (!pattern || pattern_size == 0 || offset % pattern_size ||
        size % pattern_size)
        return CL_INVALID_VALUE;
    data = malloc(size ? size : 1);
    need(data != NULL, "no memory");
    for (size_t i = 0; i < size; i += pattern_size)
        memcpy(data + i, pattern, pattern_size);
    e = clEnqueueWriteBuffer(queue, buffer, CL_TRUE, offset, size, data, waits,
                             list, event);
    free(data);
    return e;
}
