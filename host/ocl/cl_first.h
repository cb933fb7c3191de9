/*
 * cl_first.h - the one place that includes OpenCL, at the version we keep to.
 */
#ifndef VT_OCL_CL_FIRST_H
#define VT_OCL_CL_FIRST_H
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#endif
