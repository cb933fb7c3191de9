/*
 * slice.c - a range of each picture's tokens.
 */
#include "ops/common.h"

enum { IN_X, INS };
enum { OUT_Y };
enum { I_FIRST, I_COUNT, INTS };

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    vt_val x = s->in[IN_X];
    int first = s->i[I_FIRST], count = s->i[I_COUNT];

    VT_RET(vt_op_need(x != VT_NONE && vt_value_of(p, x)->rank == 3 &&
                          first >= 0 && count >= 1 &&
                          count <= vt_dim(p, x, 1) - first,
                      "tokens beyond the last"));
    return vt_op_out(p, s, OUT_Y, 3,
                     (int[]){vt_dim(p, x, 0), count, vt_dim(p, x, 2)});
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vt_val x = s->in[IN_X];
    int c = vt_dim(p, x, 2);

    return vt_op_launch_blocks(
        p, s, "slice", "slice", c, vt_op_rows(p, s->out[OUT_Y]), "vviiii",
        s->out[OUT_Y], x, vt_dim(p, x, 1), c, s->i[I_FIRST], s->i[I_COUNT]);
}

static vitcl_status grad_prepare(vt_plan *p, vt_step *s)
{
    int c = vt_dim(p, s->in[VT_DY], 2);

    return vt_op_launch_blocks(
        p, s, "slice", "slice_grad", c, vt_op_rows(p, s->out[VT_DX]), "vviiii",
        s->out[VT_DX], s->in[VT_DY], vt_dim(p, s->out[VT_DX], 1), c,
        s->i[I_FIRST], s->i[I_COUNT]);
}

static const vt_op slice_grad = {.name = "slice_grad", .prepare = grad_prepare};

const vt_op vt_op_slice = {.name = "slice",
                           .shape = shape,
                           .prepare = prepare,
                           .grad = vt_op_grad,
                           .grads = {&slice_grad},
                           .half_in = 1u << IN_X,
                           .half_out = 1u << OUT_Y};

vt_val vt_slice(vt_plan *p, vt_val x, int first, int count)
{
    return vt_op_append(p, &vt_op_slice, INS, (vt_val[]){[IN_X] = x}, INTS,
                        (int[]){[I_FIRST] = first, [I_COUNT] = count});
}
