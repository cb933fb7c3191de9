/*
 * stdconv.h - the parts of BiT's ResNets (Kolesnikov et al. 2020,
 * arXiv:1912.11370), for the hybrids' stems and the plain ResNet: standardised
 * convolutions, and GroupNorm of 32 groups.
 */
#ifndef VT_MODELS_STDCONV_H
#define VT_MODELS_STDCONV_H
#include "models/model.h"

/* x[B,c,H,W] convolved with prefix.weight[out,c,kernel,kernel], each filter
 * standardised to mean 0 and variance 1. same: TensorFlow's padding, which
 * depends on the size and has the odd pixel at the end; else PyTorch's,
 * kernel / 2 on each side. */
vt_val vt_stdconv(vt_plan *p, vt_val x, int out, int kernel, int stride,
                  bool same, const char *prefix);
/* TensorFlow's SAME: the total padding of n pixels. */
int vt_stdconv_same(int n, int kernel, int stride);
/* (residual +) norm with prefix.weight, prefix.bias, then relu if asked for. */
vt_val vt_stdconv_norm(vt_plan *p, vt_val x, vt_val residual, bool relu,
                       const char *prefix);

/* Sets c->stem_*: stages, their blocks and widths from <root>stages.*, the
 * stem's width from <root><stem>conv or norm. Checks that 32 groups fit. */
vitcl_status vt_stdconv_read(vt_config *c, const vt_weights *w,
                             const char *root, const char *stem,
                             const char *path);
/* The stride of the stem with all its stages, in pixels. */
int vt_stdconv_stride(const vt_config *c);

#endif
