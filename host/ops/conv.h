/*
 * conv.h - shared by conv.c and conv_direct.c.
 */
#ifndef VT_OPS_CONV_H
#define VT_OPS_CONV_H
#include "ops/common.h"

/* A step's integers: height and width of the output and of the window, stride,
 * padding on top and left. */
enum { HO, WO, KH, KW, STRIDE, TOP, LEFT, SHAPE_INTS };

/* Is this convolution for cl/conv_direct.cl? */
bool vt_conv_direct_for(const vt_plan *p, const int *i);
/* x[B,C,H,W], w[O,C,kh,kw] -> [B,O,Ho,Wo] */
vt_val vt_conv_direct(vt_plan *p, vt_val x, vt_val w, const int *i);

#endif
