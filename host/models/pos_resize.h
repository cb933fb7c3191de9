/*
 * pos_resize.h - learnt positions on another grid, as each library resizes
 * them. Plain arithmetic on host memory; grids are [rows, columns, channels].
 */
#ifndef VT_MODELS_POS_RESIZE_H
#define VT_MODELS_POS_RESIZE_H
#include "models/model.h"

/* in[h,w,channels] -> out[to_h,to_w,channels] */
vitcl_status vt_pos_resize(float *out, const float *in, int h, int w, int to_h,
                           int to_w, int channels, vt_pos_rule rule);
/* A table of relative positions for a window of h x w patches: in[(2h-1) *
 * (2w-1) + extra, heads]; the extra rows are copied. geometric: timm's way
 * (and BEiT's own); else Hugging Face's (bilinear). */
vitcl_status vt_table_resize(float *out, const float *in, int h, int w,
                             int to_h, int to_w, int extra, int heads,
                             bool geometric);
/* index[T*T] into such a table for h x w patches behind `extra` / 3 class
 * tokens. */
void vt_table_index(int *index, int h, int w, int extra);
/* EVA-02's rotary angles: out[h*w, 2, head]: sines, then cosines, of pairs
 * side by side; rows then columns, on a grid scaled to ref_h x ref_w. */
void vt_rope_table(float *out, int h, int w, int ref_h, int ref_w, int head);

#endif
