/*
 * cl_device.c - make one of several OpenCL devices fail.
 *
 * Preloaded with VT_CL_DEVICE="D N CODE", each launch of a kernel on device D
 * (from 0, in the order in which devices are first used) after the N-th there
 * is not made and returns CODE. A positive CODE is a signal: it is raised once
 * the first device has launched OTHERS kernels.
 */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 120
#include "preload.h"

#include <CL/cl.h>

#include <pthread.h>
#include <signal.h>
#include <time.h>

enum { DEVICES = 16, OTHERS = 400 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    cl_device_id id;
    long launches;
} seen[DEVICES];

/* Counts a launch; true: it is to fail. */
static int fails(cl_device_id id, cl_int *code)
{
    int device, i = 0, hit;
    long after;

    if (!preload_told("VT_CL_DEVICE", 3, "%d %ld %d", &device, &after, code))
        return 0;
    pthread_mutex_lock(&lock);
    while (i < DEVICES - 1 && seen[i].id && seen[i].id != id)
        i++;
    seen[i].id = id;
    hit = ++seen[i].launches > after && (device < 0 || i == device);
    pthread_mutex_unlock(&lock);
    return hit;
}

static void crash(int number)
{
    long others;
    int tries = 0;

    do {
        nanosleep(&(struct timespec){0, 1000000}, NULL);
        pthread_mutex_lock(&lock);
        others = seen[0].launches;
        pthread_mutex_unlock(&lock);
    } while (others < OTHERS && ++tries < 5000);
    raise(number);
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel,
                              cl_uint dimensions, const size_t *offset,
                              const size_t *global, const size_t *local,
                              cl_uint n, const cl_event *wait, cl_event *event)
{
    cl_device_id id = NULL;
    cl_int code = CL_SUCCESS;

    REAL(clEnqueueNDRangeKernel)
    if (clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof id, &id, NULL) ==
            CL_SUCCESS &&
        fails(id, &code)) {
        if (code > 0)
            crash(code);
        return code;
    }
    return real(queue, kernel, dimensions, offset, global, local, n, wait,
                event);
}
