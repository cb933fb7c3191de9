/*
 * pool.c - pool a picture's tokens, from I_FIRST on, into one feature vector.
 */
#include "ops/common.h"

enum { IN_X, INS };
enum { OUT_Y };
enum { I_KIND, I_FIRST, INTS };

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    vt_val x = s->in[IN_X];
    int wide = s->i[I_KIND] == VT_POOL_CLS_MEAN ? 2 : 1;

    VT_RET(vt_op_need(x != VT_NONE && vt_value_of(p, x)->rank == 3 &&
                          s->i[I_FIRST] >= 0 && s->i[I_FIRST] < vt_dim(p, x, 1),
                      "no tokens are left to pool"));
    return vt_op_out(p, s, OUT_Y, 2,
                     (int[]){vt_dim(p, x, 0), vt_dim(p, x, 2) * wide});
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vt_val x = s->in[IN_X];
    int c = vt_dim(p, x, 2);

    return vt_op_launch_blocks(p, s, "pool", "pool", c, vt_dim(p, x, 0),
                               "vviiii", s->out[OUT_Y], x, vt_dim(p, x, 1), c,
                               s->i[I_KIND], s->i[I_FIRST]);
}

static vitcl_status grad_prepare(vt_plan *p, vt_step *s)
{
    vt_val x = s->in[IN_X];
    int c = vt_dim(p, x, 2);

    return vt_op_launch_blocks(p, s, "pool", "pool_grad", c, vt_dim(p, x, 0),
                               "vvviiii", s->out[VT_DX], s->in[VT_DY], x,
                               vt_dim(p, x, 1), c, s->i[I_KIND], s->i[I_FIRST]);
}

static const vt_op pool_grad = {
    .name = "pool_grad", .prepare = grad_prepare, .reads = 1u << IN_X};

const vt_op vt_op_pool = {.name = "pool",
                          .shape = shape,
                          .prepare = prepare,
                          .grad = vt_op_grad,
                          .grads = {&pool_grad},
                          .half_in = 1u << IN_X};

vt_val vt_pool(vt_plan *p, vt_val x, vt_pool_kind kind, int first)
{
    return vt_op_append(p, &vt_op_pool, INS, (vt_val[]){[IN_X] = x}, INTS,
                        (int[]){[I_KIND] = (int)kind, [I_FIRST] = first});
}
