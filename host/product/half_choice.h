/*
 * half_choice.h - which 16-bit precision is faster on a device.
 */
#ifndef VT_PRODUCT_HALF_CHOICE_H
#define VT_PRODUCT_HALF_CHOICE_H
#include "gemm/gemm.h"

/* The faster of bf16 and f16 on this device with this provider (NULL: the
 * default one). */
vitcl_status vt_half_choose(vitcl_precision *out, vt_dev *dev,
                            const char *wanted);
/* The product of a ViT's size that is timed, in vitcl-try. */
vt_gemm_desc vt_half_product(const vt_dev *dev, vt_dtype type);

#endif
