/*
 * cl_copy.c - make an OpenCL driver keep copies of host memory.
 *
 * A buffer with CL_MEM_USE_HOST_PTR or CL_MEM_ALLOC_HOST_PTR has the bytes that
 * were in the host's memory when it was made. Later the two are exchanged only
 * when the buffer is mapped and unmapped, as OpenCL permits; a driver that
 * computes in that memory hides it if a program relies on more. Memory that the
 * driver allocates cannot be accessed at all while it is not mapped.
 *
 * With VT_CL_COPY=FILE, each process appends to FILE at its exit how many
 * buffers had a copy and how often they were mapped.
 */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 120
#include "preload.h"

#include <CL/cl.h>

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct copied {
    struct copied *next;
    cl_mem mem;
    char *host, *own; /* own: what to unmap, or NULL */
    size_t size;
    char *mapped; /* where the driver maps it; NULL: it is not mapped */
    size_t at, length;
    cl_map_flags flags;
} copied;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static copied *first;
static unsigned copies, maps;

static void need(bool yes, const char *what)
{
    if (yes)
        return;
    fprintf(stderr, "cl_copy: %s\n", what);
    abort();
}

static void report(void) __attribute__((destructor));
static void report(void)
{
    const char *path = getenv("VT_CL_COPY");
    FILE *f = path && copies ? fopen(path, "ae") : NULL;

    if (!f)
        return;
    fprintf(f, "%u buffers, mapped %u times\n", copies, maps);
    fclose(f);
}

static copied *find(cl_mem mem)
{
    copied *c;

    pthread_mutex_lock(&lock);
    for (c = first; c && c->mem != mem;)
        c = c->next;
    pthread_mutex_unlock(&lock);
    return c;
}

static void CL_CALLBACK drop(cl_mem mem, void *context)
{
    copied **at = &first, *c = context;

    (void)mem;
    pthread_mutex_lock(&lock);
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    pthread_mutex_unlock(&lock);
    if (c->own)
        munmap(c->own, c->size);
    free(c);
}

cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size,
                      void *host, cl_int *status)
{
    const cl_mem_flags theirs = CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR;
    copied *c;
    cl_mem mem;

    REAL(clCreateBuffer)
    if (!(flags & theirs))
        return real(context, flags, size, host, status);
    mem = real(context, (flags & ~theirs) | (host ? CL_MEM_COPY_HOST_PTR : 0),
               size, host, status);
    if (!mem)
        return NULL;
    c = calloc(1, sizeof *c);
    need(c != NULL, "no memory");
    *c = (copied){.mem = mem, .host = host, .size = size};
    if (flags & CL_MEM_ALLOC_HOST_PTR) {
        c->own =
            mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        need(c->own != MAP_FAILED, "no memory");
        c->host = c->own;
    }
    pthread_mutex_lock(&lock);
    c->next = first;
    first = c;
    copies++;
    pthread_mutex_unlock(&lock);
    need(clSetMemObjectDestructorCallback(mem, drop, c) == CL_SUCCESS,
         "the end of a buffer cannot be seen");
    return mem;
}

void *clEnqueueMapBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking,
                         cl_map_flags flags, size_t at, size_t size, cl_uint n,
                         const cl_event *wait, cl_event *event, cl_int *status)
{
    copied *c = find(mem);

    REAL(clEnqueueMapBuffer)
    if (!c)
        return real(queue, mem, blocking, flags, at, size, n, wait, event,
                    status);
    need(!c->mapped, "a buffer is mapped twice");
    /* Waiting is always allowed. */
    c->mapped =
        real(queue, mem, CL_TRUE, flags, at, size, n, wait, event, status);
    if (!c->mapped)
        return NULL;
    c->at = at, c->length = size, c->flags = flags;
    need(!c->own || mprotect(c->own, c->size, PROT_READ | PROT_WRITE) == 0,
         "a buffer cannot be mapped");
    if (flags & CL_MAP_WRITE_INVALIDATE_REGION)
        memset(c->host + at, 0xff, size); /* NaN */
    else
        memcpy(c->host + at, c->mapped, size);
    pthread_mutex_lock(&lock);
    maps++;
    pthread_mutex_unlock(&lock);
    return c->host + at;
}

cl_int clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem mem, void *host,
                               cl_uint n, const cl_event *wait, cl_event *event)
{
    copied *c = find(mem);
    char *mapped;

    REAL(clEnqueueUnmapMemObject)
    if (!c)
        return real(queue, mem, host, n, wait, event);
    need(c->mapped && host == c->host + c->at, "a buffer is not mapped there");
    mapped = c->mapped;
    if (c->flags != CL_MAP_READ)
        memcpy(mapped, c->host + c->at, c->length);
    need(!c->own || mprotect(c->own, c->size, PROT_NONE) == 0,
         "a buffer cannot be unmapped");
    c->mapped = NULL;
    return real(queue, mem, mapped, n, wait, event);
}
