/*
 * pad.c - pad a feature map with zeros, for a pool that counts them; negative
 * padding crops.
 */
#include "ops/common.h"

enum { IN_X, INS };
enum { OUT_Y };
enum { I_TOP, I_LEFT, I_BOTTOM, I_RIGHT, INTS };

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    const vt_value *x = vt_value_of(p, s->in[IN_X]);
    int h, w;

    VT_RET(vt_op_need(x && x->rank == 4, "a margin goes around [B,C,H,W]"));
    h = x->dim[2] + s->i[I_TOP] + s->i[I_BOTTOM];
    w = x->dim[3] + s->i[I_LEFT] + s->i[I_RIGHT];
    VT_RET(vt_op_need(h > 0 && w > 0, "a margin leaves nothing"));
    return vt_op_out(p, s, OUT_Y, 4, (int[]){x->dim[0], x->dim[1], h, w});
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    const int w = vt_dim(p, s->out[OUT_Y], 3);

    return vt_op_launch_blocks(
        p, s, "pad", "pad", w, vt_op_rows(p, s->out[OUT_Y]), "vviiiiii",
        s->out[OUT_Y], s->in[IN_X], vt_dim(p, s->in[IN_X], 2),
        vt_dim(p, s->in[IN_X], 3), vt_dim(p, s->out[OUT_Y], 2), w, s->i[I_TOP],
        s->i[I_LEFT]);
}

static void grad(vt_plan *p, const vt_step *s)
{
    if (vt_grad_wanted(p, s->in[IN_X]))
        vt_op_give(p, s->in[IN_X],
                   vt_pad(p, vt_grad(p, s->out[OUT_Y]), -s->i[I_TOP],
                          -s->i[I_LEFT], -s->i[I_BOTTOM], -s->i[I_RIGHT]));
}

const vt_op vt_op_pad = {.name = "pad",
                         .shape = shape,
                         .prepare = prepare,
                         .grad = grad,
                         .half_in = 1u << IN_X,
                         .half_out = 1u << OUT_Y};

vt_val vt_pad(vt_plan *p, vt_val x, int top, int left, int bottom, int right)
{
    return vt_op_append(p, &vt_op_pad, INS, (vt_val[]){[IN_X] = x}, INTS,
                        (int[]){[I_TOP] = top,
                                [I_LEFT] = left,
                                [I_BOTTOM] = bottom,
                                [I_RIGHT] = right});
}
