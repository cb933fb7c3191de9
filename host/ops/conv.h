/*
 * conv.h - what conv.c and conv_direct.c share.
 */
#ifndef VT_OPS_CONV_H
#define VT_OPS_CONV_H
#include "ops/common.h"

/* A step's integers: height and width of what comes out and of the kernel,
 * stride, padding on top and left. */
enum { HO, WO, KH, KW, STRIDE, TOP, LEFT, SHAPE_INTS };

/* Can cl/conv_direct.cl do it here? */
bool vt_conv_direct_for(const vt_plan *p, const int *i);
/* x[B,C,H,W], w[O,C,kh,kw] -> [B,O,Ho,Wo] */
vt_val vt_conv_direct(vt_plan *p, vt_val x, vt_val w, const int *i);

#endif
