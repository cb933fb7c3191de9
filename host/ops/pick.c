/*
 * pick.c - one token of each picture or text.
 */
#include "ops/common.h"

enum { IN_X, IN_TOKEN, INS };
enum { OUT_Y };

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    const vt_value *x = vt_value_of(p, s->in[IN_X]),
                   *token = vt_value_of(p, s->in[IN_TOKEN]);

    VT_RET(vt_op_need(x && x->rank == 3, "tokens must be [B,T,C]"));
    VT_RET(vt_op_need(token && token->dtype == VT_I32 && token->rank == 1 &&
                          token->dim[0] == x->dim[0],
                      "the tokens' numbers must be whole numbers [B]"));
    return vt_op_out(p, s, OUT_Y, 2, (int[]){x->dim[0], x->dim[2]});
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vt_val x = s->in[IN_X];
    int c = vt_dim(p, x, 2);

    return vt_op_launch_blocks(p, s, "pick", "pick", c, vt_dim(p, x, 0),
                               "vvvii", s->out[OUT_Y], x, s->in[IN_TOKEN],
                               vt_dim(p, x, 1), c);
}

static vitcl_status grad_prepare(vt_plan *p, vt_step *s)
{
    vt_val dx = s->out[VT_DX];
    int c = vt_dim(p, dx, 2);

    return vt_op_launch_blocks(p, s, "pick", "pick_grad", c, vt_op_rows(p, dx),
                               "vvvii", dx, s->in[VT_DY], s->in[IN_TOKEN],
                               vt_dim(p, dx, 1), c);
}

static const vt_op pick_grad = {
    .name = "pick_grad", .prepare = grad_prepare, .reads = 1u << IN_TOKEN};

const vt_op vt_op_pick = {.name = "pick",
                          .shape = shape,
                          .prepare = prepare,
                          .grad = vt_op_grad,
                          .grads = {&pick_grad},
                          .half_in = 1u << IN_X,
                          .half_out = 1u << OUT_Y};

vt_val vt_pick(vt_plan *p, vt_val x, vt_val token)
{
    return vt_op_append(p, &vt_op_pick, INS,
                        (vt_val[]){[IN_X] = x, [IN_TOKEN] = token}, 0, NULL);
}
