/*
 * half.c - a joint program (join.c), compiled in two steps for PoCL: its text
 * alone, and then linked with PoCL's library of kernels, whose reading takes as
 * long as all else before machine code (build_parallel.c).
 */
#include "ocl/program.h"
#include "ocl/source.h"

#include "base/memory.h"

#include <time.h>

/* Options by which clang's header, of 18,000 lines, takes itself for read. PoCL
 * reads it twice for each program: 0.1 s, longer than it reads the kernels. */
static vitcl_status without_header(char **out, const char *options)
{
    return vt_format(out, "%s -D_OPENCL_H_", options);
}

void vt_library_load(vt_dev *dev)
{
    const char *text = "kernel void none(global int *a) { *a = 0; }";
    char *options = NULL;
    cl_int e;
    cl_program program =
        clCreateProgramWithSource(dev->context, 1, &text, NULL, &e);

    if (program && without_header(&options, dev->flags) == VITCL_OK)
        (void)clBuildProgram(program, 1, &dev->id, options, NULL, NULL);
    if (program)
        clReleaseProgram(program);
    free(options);
}

/* With cl/declared.cl instead of the header. */
bool vt_half_make(vt_half *out, vt_dev *dev, const vt_inputs *r)
{
    unsigned char *bytes = out->bytes;
    char *declared = NULL, *options = NULL;
    cl_program program = NULL;
    cl_int e;
    bool good;

    if (vt_source_read(&declared, "declared") == VITCL_OK &&
        without_header(&options, r->options) == VITCL_OK)
        program = clCreateProgramWithSource(
            dev->context, 3,
            (const char *[]){declared, r->common.text, r->text}, NULL, &e);
    good = program &&
           clCompileProgram(program, 1, &dev->id, options, 0, NULL, NULL, NULL,
                            NULL) == CL_SUCCESS &&
           clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof out->size,
                            &out->size, NULL) == CL_SUCCESS &&
           out->size > 0 && out->size <= sizeof out->bytes &&
           clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof bytes, &bytes,
                            NULL) == CL_SUCCESS;

    if (program)
        clReleaseProgram(program);
    free(declared);
    free(options);
    return good;
}

void vt_half_end(vt_half *half, bool good)
{
    unsigned begun = VT_HALF_BEGUN;

    atomic_compare_exchange_strong(&half->state, &begun,
                                   good ? VT_HALF_READY : VT_HALF_FAILED);
}

cl_program vt_half_link(vt_dev *dev, vt_half *half)
{
    const struct timespec pause = {0, 1000000};
    const unsigned char *bytes = half->bytes;
    cl_program object, program = NULL;
    cl_int status, e;

    while (atomic_load(&half->state) == VT_HALF_BEGUN)
        nanosleep(&pause, NULL);
    if (atomic_load(&half->state) == VT_HALF_FAILED)
        return NULL;
    object = clCreateProgramWithBinary(dev->context, 1, &dev->id, &half->size,
                                       &bytes, &status, &e);
    if (object) {
        program = clLinkProgram(dev->context, 1, &dev->id, NULL, 1, &object,
                                NULL, NULL, &e);
        clReleaseProgram(object);
    }
    if (program && e != CL_SUCCESS) {
        clReleaseProgram(program);
        program = NULL;
    }
    return program;
}
