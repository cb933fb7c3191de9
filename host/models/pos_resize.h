/*
 * pos_resize.h - resizes learnt positions to another grid, as each library does
 * it. Works on host memory; grids are [rows, columns, channels].
 */
#ifndef VT_MODELS_POS_RESIZE_H
#define VT_MODELS_POS_RESIZE_H
#include "models/model.h"

/* in[h,w,channels] -> out[to_h,to_w,channels]. square: the top left part of
 * what a square grid, as long as the longer side, would get. */
vitcl_status vt_pos_resize(float *out, const float *in, int h, int w, int to_h,
                           int to_w, int channels, vt_pos_rule rule,
                           bool square);
/* A table of relative positions for a window of h x w patches: in[(2h-1) *
 * (2w-1) + extra, heads]; the extra rows are copied. geometric: as timm
 * and the original BEiT; else as Hugging Face (bilinear). */
vitcl_status vt_table_resize(float *out, const float *in, int h, int w,
                             int to_h, int to_w, int extra, int heads,
                             bool geometric);
/* index[T*T] into such a table for `extra` / 3 class tokens and h x w patches
 * after them. */
void vt_table_index(int *index, int h, int w, int extra);

#endif
