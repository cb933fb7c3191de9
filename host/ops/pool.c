/*
 * pool.c - a picture's tokens to one row (in x[B,T,C]; i: kind, first token).
 */
#include "ops/common.h"

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_val x = s->in[0];
    int wide = s->i[0] == VT_POOL_CLS_MEAN ? 2 : 1;

    VT_TRY(vt_op_need(x != VT_NONE && vt_value_of(p, x)->rank == 3 &&
                          s->i[1] >= 0 && s->i[1] < vt_dim(p, x, 1),
                      "no tokens are left to pool"));
    VT_TRY(vt_op_out(p, s, 0, 2,
                     (int[]){vt_dim(p, x, 0), vt_dim(p, x, 2) * wide}));
done:
    return st;
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    vt_val x = s->in[0];
    int c = vt_dim(p, x, 2);

    VT_TRY(vt_op_kernel(&k, p, s, "pool", "pool"));
    VT_TRY(vt_args(p, k, "vviiii", s->out[0], x, vt_dim(p, x, 1), c, s->i[0],
                   s->i[1]));
    vt_op_blocks(k, p, c, vt_dim(p, x, 0));
done:
    return st;
}

/* in dout, x; i: kind, first */
static vitcl_status grad_shape(vt_plan *p, vt_step *s)
{
    return vt_op_like(p, s, 0, s->in[1]);
}

static vitcl_status grad_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    vt_val x = s->in[1];
    int c = vt_dim(p, x, 2);

    VT_TRY(vt_op_kernel(&k, p, s, "pool", "pool_grad"));
    VT_TRY(vt_args(p, k, "vvviiii", s->out[0], s->in[0], x, vt_dim(p, x, 1), c,
                   s->i[0], s->i[1]));
    vt_op_blocks(k, p, c, vt_dim(p, x, 0));
done:
    return st;
}

static const vt_op pool_grad = {
    .name = "pool_grad", .shape = grad_shape, .prepare = grad_prepare};

static void grad(vt_plan *p, const vt_step *s)
{
    vt_op_give(p, s->in[0],
               vt_op_append(p, &pool_grad, 2,
                            (vt_val[]){vt_grad(p, s->out[0]), s->in[0]}, 2,
                            s->i));
}

const vt_op vt_op_pool = {
    .name = "pool", .shape = shape, .prepare = prepare, .grad = grad};

vt_val vt_pool(vt_plan *p, vt_val x, vt_pool_kind kind, int first)
{
    return vt_op_append(p, &vt_op_pool, 1, &x, 2, (int[]){(int)kind, first});
}
