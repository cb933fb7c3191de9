/*
 * gemm.c - the ways of multiplying matrices, and who takes which.
 */
#include "ocl/gemm.h"

#include "ocl/objects.h"

const char *vt_gemm_usual(vt_class class)
{
    return class == VT_CLASS_CPU ? "native" : "clblast";
}
