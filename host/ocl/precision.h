/*
 * precision.h - the words for vitcl_precision, and what each multiplies in.
 */
#ifndef VT_OCL_PRECISION_H
#define VT_OCL_PRECISION_H
#include "ocl/ocl.h"

#include <vitcl.h>

/* "f32"; NULL: there is no such precision. */
const char *vt_precision_name(vitcl_precision precision);
bool vt_precision_parse(vitcl_precision *out, const char *word);
/* What the multiplications of a precision are computed in. */
vt_dtype vt_precision_type(vitcl_precision precision);
/* The kernels' TYPE: f32 0, bf16 1, f16 2, int8 3. */
enum { VT_TYPES = 4 };
int vt_type_number(vt_dtype t);

#endif
