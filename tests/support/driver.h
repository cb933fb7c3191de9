/*
 * driver.h - make calls of the OpenCL driver, and fork(), fail in a test.
 *
 * A test program that uses vt_driver has these calls go through driver.c. They
 * are passed on unchanged unless something is set.
 */
#ifndef VT_TESTS_DRIVER_H
#define VT_TESTS_DRIVER_H
#include <stdbool.h>
#include <stddef.h>

typedef struct vt_driver_faults {
    int launch; /* what the next clEnqueueNDRangeKernel returns */
    int finish; /* what the next `finishes` of clFinish return */
    unsigned finishes;
    bool no_clock;         /* events end a nanosecond after they began */
    const char *version;   /* what CL_DEVICE_VERSION is, if not NULL */
    const char *extension; /* one that is reported, too, if not NULL */
    unsigned number[3][2]; /* queries of a device, and what they answer */
    size_t local; /* a kernel with more local memory needs SIZE_MAX, if not 0 */
    size_t needed;  /* the most that a kernel said it needs */
    bool in_turn;   /* clBuildProgram locks out other threads; */
    unsigned turns; /* and how often it was called then */
    /* of programs: what the next call of each kind returns */
    int build;           /* clBuildProgram */
    int binary;          /* clCreateProgramWithBinary, of the binary; */
    int with_binary;     /* and of the call, which makes a program anyway */
    int sizes, binaries; /* clGetProgramInfo for CL_PROGRAM_BINARY_SIZES, .. */
    const size_t *size;  /* what the next CL_PROGRAM_BINARY_SIZES says */
    unsigned forks;      /* so many calls of fork() fail */
} vt_driver_faults;
extern vt_driver_faults vt_driver;

#endif
