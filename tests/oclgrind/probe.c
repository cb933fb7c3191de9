/*
 * probe.c - does oclgrind, with the shim preloaded, find what it should?
 *
 *     probe sound       memory written in every way the host has: no finding
 *     probe unwritten   a kernel reads what nobody wrote
 *     probe beyond      a kernel reads behind a buffer
 *     probe race        a barrier is missing
 *     probe call        a wrong OpenCL call
 *
 * tools/test runs all of them before the suites: no finding means something
 * only if oclgrind can find these.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 64

static const char *const source =
    "kernel void put(global float *x) { x[get_global_id(0)] = 1; }\n"
    "kernel void get(global float *y, global const float *x)\n"
    "{ y[get_global_id(0)] = x[get_global_id(0)]; }\n"
    "kernel void turn(global float *y)\n"
    "{\n"
    "    local float t[64];\n"
    "    const size_t i = get_local_id(0);\n"
    "    t[i] = i;\n"
    "    y[i] = t[63 - i];\n"
    "}\n";

static cl_context context;
static cl_command_queue queue;
static cl_kernel put, get, turn;

static void need(int yes, const char *what)
{
    if (yes)
        return;
    fprintf(stderr, "%s fails\n", what);
    exit(2);
}

static void begin(void)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_program program;

    need(clGetPlatformIDs(1, &platform, NULL) == CL_SUCCESS, "platform");
    need(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) ==
             CL_SUCCESS,
         "device");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    queue = clCreateCommandQueue(context, device, 0, NULL);
    program = clCreateProgramWithSource(context, 1, (const char **)&source,
                                        NULL, NULL);
    need(clBuildProgram(program, 1, &device, "", NULL, NULL) == CL_SUCCESS,
         "build");
    put = clCreateKernel(program, "put", NULL);
    get = clCreateKernel(program, "get", NULL);
    turn = clCreateKernel(program, "turn", NULL);
    need(put && get && turn, "kernel");
}

static cl_mem buffer(size_t floats)
{
    cl_mem b = clCreateBuffer(context, CL_MEM_READ_WRITE,
                              floats * sizeof(float), NULL, NULL);

    need(b != NULL, "buffer");
    return b;
}

static cl_mem window(cl_mem b, size_t first, size_t floats)
{
    const cl_buffer_region r = {first * sizeof(float), floats * sizeof(float)};
    cl_mem w = clCreateSubBuffer(b, CL_MEM_READ_WRITE,
                                 CL_BUFFER_CREATE_TYPE_REGION, &r, NULL);

    need(w != NULL, "window");
    return w;
}

static void run(cl_kernel k, cl_mem y, cl_mem x, size_t items)
{
    need(clSetKernelArg(k, 0, sizeof y, &y) == CL_SUCCESS &&
             (!x || clSetKernelArg(k, 1, sizeof x, &x) == CL_SUCCESS) &&
             clEnqueueNDRangeKernel(queue, k, 1, NULL, &items, &items, 0, NULL,
                                    NULL) == CL_SUCCESS &&
             clFinish(queue) == CL_SUCCESS,
         "launch");
}

/* The host writes the floats first .. first + N/2 of b. */
static void write_half(cl_mem b, size_t first)
{
    const float zero[N / 2] = {0};

    need(clEnqueueWriteBuffer(queue, b, CL_TRUE, first * sizeof(float),
                              sizeof zero, zero, 0, NULL, NULL) == CL_SUCCESS,
         "write");
}

static void sound(cl_mem y)
{
    const float one = 1;
    cl_mem small = buffer(N / 2), large, w;

    write_half(small, 0);
    clReleaseMemObject(small);
    large = buffer(N); /* at the same address */
    run(put, large, NULL, N);
    run(get, y, large, N);

    large = buffer(N);
    w = window(large, N / 2, N / 2);
    run(put, w, NULL, N / 2);
    run(get, y, w, N / 2);
    write_half(large, 0);
    run(get, y, large, N);

    large = buffer(N);
    w = window(large, N / 2, N / 2);
    write_half(w, 0);
    run(get, y, w, N / 2);
    need(clEnqueueFillBuffer(queue, large, &one, sizeof one, 0,
                             N / 2 * sizeof one, 0, NULL, NULL) == CL_SUCCESS,
         "fill");
    run(get, y, large, N);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    cl_mem y, x;

    begin();
    y = buffer(N);
    x = buffer(N);
    write_half(x, N / 2);
    if (strcmp(what, "sound") == 0)
        sound(y);
    else if (strcmp(what, "unwritten") == 0)
        run(get, y, x, N);
    else if (strcmp(what, "beyond") == 0)
        run(get, y, buffer(N - 1), N);
    else if (strcmp(what, "race") == 0)
        run(turn, y, NULL, N);
    else if (strcmp(what, "call") == 0)
        (void)clSetKernelArg(put, 9, sizeof y, &y);
    else
        need(0, "usage: probe sound|unwritten|beyond|race|call: this");
    puts("probe ended");
    return 0;
}
