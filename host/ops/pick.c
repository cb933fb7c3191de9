/*
 * pick.c - one token of each picture or text.
 */
#include "ops/common.h"

enum { IN_X, IN_TOKEN, INS };
enum { OUT_Y };

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    const vt_value *x = vt_value_of(p, s->in[IN_X]),
                   *token = vt_value_of(p, s->in[IN_TOKEN]);

    VT_TRY(vt_op_need(x && x->rank == 3, "tokens must be [B,T,C]"));
    VT_TRY(vt_op_need(token && token->dtype == VT_I32 && token->rank == 1 &&
                          token->dim[0] == x->dim[0],
                      "the tokens' numbers must be whole numbers [B]"));
    VT_TRY(vt_op_out(p, s, OUT_Y, 2, (int[]){x->dim[0], x->dim[2]}));
done:
    return st;
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    vt_val x = s->in[IN_X];
    int c = vt_dim(p, x, 2);

    VT_TRY(vt_op_kernel(&k, p, s, "pick", "pick"));
    VT_TRY(vt_args(p, k, "vvvii", s->out[OUT_Y], x, s->in[IN_TOKEN],
                   vt_dim(p, x, 1), c));
    vt_op_blocks(k, p, c, vt_dim(p, x, 0));
done:
    return st;
}

static vitcl_status grad_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    vt_val dx = s->out[VT_DX];
    int c = vt_dim(p, dx, 2);

    VT_TRY(vt_op_kernel(&k, p, s, "pick", "pick_grad"));
    VT_TRY(vt_args(p, k, "vvvii", dx, s->in[VT_DY], s->in[IN_TOKEN],
                   vt_dim(p, dx, 1), c));
    vt_op_blocks(k, p, c, vt_op_rows(p, dx));
done:
    return st;
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
