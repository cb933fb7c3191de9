/*
 * rope.h - rotary positions: how a model turns a patch's place into angles.
 */
#ifndef VT_MODELS_ROPE_H
#define VT_MODELS_ROPE_H
#include "models/model.h"
#include "models/vit.h"

/* Heads of a width that the rule cannot rotate are refused. */
vitcl_status vt_rope_check(const vt_config *c, const char *path);
/* The sines, then the cosines of all elements' angles for h x w patches:
 * out[h*w, 2, head]. Not for VT_ROPE_MIXED. */
void vt_rope_table(float *out, const vt_rope_rule *rule, int h, int w,
                   int head);
/* The same with learnt frequencies, for block i: out[heads, h*w, 2, head]. */
vitcl_status vt_rope_derive(float *out, const vt_model *m, int i, int h, int w,
                            uint64_t count);
/* Block i's table for the grid of `e`, or VT_NONE. */
vt_val vt_rope_value(vt_plan *p, const vt_config *c, int i,
                     const vt_block_extra *e);

#endif
