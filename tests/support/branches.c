/*
 * branches.c - does the driver take each work-item's own branch?
 */
#define CL_TARGET_OPENCL_VERSION 120
#include "support/branches.h"

#include "ocl/objects.h"
#include "support/device.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { ITEMS = 32, ROWS = 8, BEHIND = 3, WIDTH = 4 };

/* Four work-items have a row, and those from BEHIND on are left out. PoCL 6
 * writes all of the first eight, because the first work-item's is written. PoCL
 * 3.1 does the same, but not without optimisation. */
static const char text[] =
    "kernel __attribute__((reqd_work_group_size(32, 1, 1))) void\n"
    "rows(global int *out, int end)\n"
    "{\n"
    "    const int lid = get_local_id(0), row = lid / 4;\n"
    "    local int x[32];\n"
    "    x[lid] = 1;\n"
    "    _Pragma(\"nounroll\") for (int n = 0; n < 2; n++) {\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "        if (row + n * 8 < end)\n"
    "            _Pragma(\"unroll\") for (int e = 0; e < 4; e++)\n"
    "                if (e / 2 == n)\n"
    "                    out[(row + n * 8) * 4 + (lid + e) % 4] = x[e];\n"
    "    }\n"
    "}\n";

bool vt_test_own_branches(void)
{
    static int known = -1;
    const vt_dev *dev = vt_test_device();
    const char *source = text;
    const size_t items = ITEMS;
    int out[2 * ROWS * WIDTH] = {0};
    const cl_int end = BEHIND;
    cl_int e = 0;
    cl_program program;
    cl_kernel kernel;
    cl_mem buffer;
    cl_command_queue queue;

    if (known >= 0)
        return known;
    program = clCreateProgramWithSource(dev->context, 1, &source, NULL, &e);
    cr_assert_eq(e, 0);
    cr_assert_eq(
        clBuildProgram(program, 1, &dev->id, "-cl-opt-disable", NULL, NULL), 0);
    kernel = clCreateKernel(program, "rows", &e);
    cr_assert_eq(e, 0);
    buffer =
        clCreateBuffer(dev->context, CL_MEM_COPY_HOST_PTR, sizeof out, out, &e);
    cr_assert_eq(e, 0);
    queue = clCreateCommandQueue(dev->context, dev->id, 0, &e);
    cr_assert_eq(e, 0);
    cr_assert_eq(clSetKernelArg(kernel, 0, sizeof(cl_mem), &buffer), 0);
    cr_assert_eq(clSetKernelArg(kernel, 1, sizeof end, &end), 0);
    cr_assert_eq(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &items,
                                        0, NULL, NULL),
                 0);
    cr_assert_eq(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof out, out,
                                     0, NULL, NULL),
                 0);
    clReleaseCommandQueue(queue);
    clReleaseMemObject(buffer);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    known = 1;
    for (int i = 0; i < 2 * ROWS; i++)
        known &= (out[i * WIDTH] != 0) == (i < BEHIND);
    return known;
}
