/*
 * shim.c - lets oclgrind see what the host has initialised.
 *
 * Oclgrind 21.10 --uninitialized loses track of a buffer that was filled by
 * clEnqueueFillBuffer, or written in part, as through a sub-buffer. Preloaded
 * before it, this library turns both into a write of the whole buffer, which
 * it understands. What kernels do is judged as before; a part that nobody
 * wrote still holds the tests' NaN.
 */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef cl_int (*write_call)(cl_command_queue, cl_mem, cl_bool, size_t, size_t,
                             const void *, cl_uint, const cl_event *,
                             cl_event *);

cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem buffer,
                            cl_bool blocking, size_t offset, size_t size,
                            const void *data, cl_uint waits,
                            const cl_event *list, cl_event *event)
{
    void *symbol = dlsym(RTLD_NEXT, "clEnqueueWriteBuffer");
    write_call write;
    cl_mem whole = NULL;
    size_t at = 0, bytes = 0;
    char *copy;
    cl_int e;

    memcpy(&write, &symbol, sizeof write);
    clGetMemObjectInfo(buffer, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof(cl_mem),
                       &whole, NULL);
    clGetMemObjectInfo(buffer, CL_MEM_OFFSET, sizeof at, &at, NULL);
    if (!whole)
        whole = buffer, at = 0;
    at += offset;
    clGetMemObjectInfo(whole, CL_MEM_SIZE, sizeof bytes, &bytes, NULL);
    if (size == bytes)
        return write(queue, whole, blocking, 0, size, data, waits, list, event);
    copy = malloc(bytes);
    if (!copy || at > bytes || size > bytes - at) {
        free(copy);
        return CL_INVALID_VALUE;
    }
    e = clEnqueueReadBuffer(queue, whole, CL_TRUE, 0, bytes, copy, waits, list,
                            NULL);
    memcpy(copy + at, data, size);
    if (e == CL_SUCCESS)
        e = write(queue, whole, CL_TRUE, 0, bytes, copy, 0, NULL, event);
    free(copy);
    return e;
}

cl_int clEnqueueFillBuffer(cl_command_queue queue, cl_mem buffer,
                           const void *pattern, size_t pattern_size,
                           size_t offset, size_t size, cl_uint waits,
                           const cl_event *list, cl_event *event)
{
    char *data = malloc(size ? size : 1);
    cl_int e;

    if (!data)
        return CL_OUT_OF_HOST_MEMORY;
    for (size_t i = 0; i + pattern_size <= size; i += pattern_size)
        memcpy(data + i, pattern, pattern_size);
    e = clEnqueueWriteBuffer(queue, buffer, CL_TRUE, offset, size, data, waits,
                             list, event);
    free(data);
    return e;
}
