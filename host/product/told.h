/*
 * told.h - what a form is told of a product: the description with its defaults
 * filled in, the instruction, the parameters.
 */
#ifndef VT_PRODUCT_TOLD_H
#define VT_PRODUCT_TOLD_H
#include "gemm/form.h"

/* The description with its defaults filled in. */
vt_gemm_desc vt_product_filled(const vt_dev *dev, const vt_gemm_desc *d);
/* False: the form does not support it (d is filled in). May let an instruction
 * be tried first, if B is packed or the type bf16; on a CPU not if the product
 * accumulates, unless A and B are both transposed. */
bool vt_product_tell(vt_told *t, vt_dev *dev, const vt_form *f,
                     const vt_gemm_desc *d);
/* Can this one of vt_forms[] be used on the device at all? Checked once. */
bool vt_product_usable(vt_dev *dev, size_t form);

#endif
