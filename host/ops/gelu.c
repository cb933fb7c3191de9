/*
 * gelu.c - activations as a step of their own (in x; i kind of vt_act).
 */
#include "ops/common.h"

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    return vt_op_like(p, s, 0, s->in[0]);
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    int n = vt_op_count(p, s->in[0]);

    VT_TRY(vt_op_kernel(&k, p, s, "gelu", "gelu"));
    VT_TRY(vt_args(p, k, "vvii", s->out[0], s->in[0], n, s->i[0]));
    vt_op_blocks(k, p, n, 1);
done:
    return st;
}

/* in dout, x */
static vitcl_status grad_shape(vt_plan *p, vt_step *s)
{
    return vt_op_like(p, s, 0, s->in[1]);
}

static vitcl_status grad_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    int n = vt_op_count(p, s->in[1]);

    VT_TRY(vt_op_kernel(&k, p, s, "gelu", "gelu_grad"));
    VT_TRY(vt_args(p, k, "vvvii", s->out[0], s->in[0], s->in[1], n, s->i[0]));
    vt_op_blocks(k, p, n, 1);
done:
    return st;
}

static const vt_op gelu_grad = {
    .name = "gelu_grad", .shape = grad_shape, .prepare = grad_prepare};

static void grad(vt_plan *p, const vt_step *s)
{
    vt_op_give(p, s->in[0],
               vt_op_append(p, &gelu_grad, 2,
                            (vt_val[]){vt_grad(p, s->out[0]), s->in[0]}, 1,
                            s->i));
}

const vt_op vt_op_gelu = {
    .name = "gelu", .shape = shape, .prepare = prepare, .grad = grad};

vt_val vt_activation(vt_plan *p, vt_val x, vt_act act)
{
    return vt_op_append(p, &vt_op_gelu, 1, &x, 1, (int[]){(int)act});
}
