/*
 * half_choice.h - which 16-bit precision is faster on a device.
 */
#ifndef VT_GEMM_HALF_CHOICE_H
#define VT_GEMM_HALF_CHOICE_H
#include "ocl/ocl.h"

/* The faster of bf16 and f16 on this device with this provider (NULL: the
 * default one). */
vitcl_status vt_half_choose(vitcl_precision *out, vt_dev *dev,
                            const char *wanted);
/* For vitcl-try only: times a product of a ViT's size in bf16 or f16 with this
 * provider, in ms. */
vitcl_status vt_half_measure(double *ms, vt_dev *dev, const char *provider,
                             vt_dtype type);

#endif
