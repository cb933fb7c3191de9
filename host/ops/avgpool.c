/*
 * avgpool.c - the mean of each window.
 */
#include "ops/common.h"

enum { IN_X, INS };
enum { OUT_Y };
enum { I_SIZE, INTS };

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    const vt_value *x = vt_value_of(p, s->in[IN_X]);
    const int size = s->i[I_SIZE];

    VT_RET(vt_op_need(x && x->rank == 4 && size >= 1,
                      "pooling needs x[B,C,H,W] and a window"));
    return vt_op_out(p, s, OUT_Y, 4,
                     (int[]){x->dim[0], x->dim[1], (x->dim[2] - 1) / size + 1,
                             (x->dim[3] - 1) / size + 1});
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    const vt_val x = s->in[IN_X], y = s->out[OUT_Y];

    return vt_op_launch_blocks(p, s, "avgpool", "avgpool", vt_dim(p, y, 3),
                               vt_op_rows(p, y), "vviiiii", y, x,
                               vt_dim(p, x, 2), vt_dim(p, x, 3),
                               vt_dim(p, y, 2), vt_dim(p, y, 3), s->i[I_SIZE]);
}

/* No grad: models that use it (models/resnetd.c) are not trained. */
const vt_op vt_op_avgpool = {.name = "avgpool",
                             .shape = shape,
                             .prepare = prepare,
                             .half_in = 1u << IN_X,
                             .half_out = 1u << OUT_Y};

vt_val vt_avgpool(vt_plan *p, vt_val x, int size)
{
    return vt_op_append(p, &vt_op_avgpool, INS, (vt_val[]){[IN_X] = x}, INTS,
                        (int[]){[I_SIZE] = size});
}
