/*
 * stdconv.h - the parts of BiT's ResNets (Kolesnikov et al. 2020,
 * arXiv:1912.11370), for the hybrids' stems and the plain ResNet: standardised
 * convolutions, and GroupNorm of 32 groups.
 */
#ifndef VT_MODELS_STDCONV_H
#define VT_MODELS_STDCONV_H
#include "models/model.h"

/* x[B,c,H,W] by prefix.weight[out,c,kernel,kernel] at mean 0 and variance 1 a
 * filter. same: TensorFlow's padding, which depends on the size and has the
 * odd pixel at the end; else PyTorch's, kernel / 2 on each side. */
vt_val vt_stdconv(vt_plan *p, vt_val x, int out, int kernel, int stride,
                  bool same, const char *prefix);
/* TensorFlow's SAME: pixels to add to n in all. */
int vt_stdconv_same(int n, int kernel, int stride);
/* prefix.weight, prefix.bias; (residual +) norm, then relu if wanted */
vt_val vt_stdconv_norm(vt_plan *p, vt_val x, vt_val residual, bool relu,
                       const char *prefix);

/* Stages, their blocks and widths from <root>stages.*, the stem's width from
 * <root><stem>conv or norm, into c->stem_*; checks that groups fit. */
vitcl_status vt_stdconv_read(vt_config *c, const vt_weights *w,
                             const char *root, const char *stem,
                             const char *path);
/* Pixels a side that become one behind the stages. */
int vt_stdconv_stride(const vt_config *c);

#endif
