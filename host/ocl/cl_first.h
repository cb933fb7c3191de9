/*
 * cl_first.h - the only include of OpenCL, at the version that we target.
 */
#ifndef VT_OCL_CL_FIRST_H
#define VT_OCL_CL_FIRST_H
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#endif
