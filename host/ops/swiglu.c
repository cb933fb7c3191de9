/*
 * swiglu.c - gated unit.
 */
#include "ops/common.h"

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    const vt_value *x = vt_value_of(p, s->in[0]);
    int dim[4], rank = x ? x->rank : 0;

    VT_TRY(vt_op_need(x && x->dim[rank - 1] % 2 == 0,
                      "a gated unit needs an even number of channels"));
    for (int i = 0; i < rank; i++)
        dim[i] = x->dim[i];
    dim[rank - 1] /= 2; /* NOLINT: every value has a dimension */
    VT_TRY(vt_op_out(p, s, 0, rank, dim));
done:
    return st;
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    int c = vt_dim(p, s->out[0], -1);

    VT_TRY(vt_op_kernel(&k, p, s, "swiglu", "swiglu"));
    VT_TRY(vt_args(p, k, "vvi", s->out[0], s->in[0], c));
    vt_op_blocks(k, p, c, vt_op_rows(p, s->out[0]));
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
    int c = vt_dim(p, s->in[0], -1);

    VT_TRY(vt_op_kernel(&k, p, s, "swiglu", "swiglu_grad"));
    VT_TRY(vt_args(p, k, "vvvi", s->out[0], s->in[0], s->in[1], c));
    vt_op_blocks(k, p, c, vt_op_rows(p, s->in[0]));
done:
    return st;
}

static const vt_op swiglu_grad = {
    .name = "swiglu_grad", .shape = grad_shape, .prepare = grad_prepare};

static void grad(vt_plan *p, const vt_step *s)
{
    vt_op_give(p, s->in[0],
               vt_op_append(p, &swiglu_grad, 2,
                            (vt_val[]){vt_grad(p, s->out[0]), s->in[0]}, 0,
                            NULL));
}

const vt_op vt_op_swiglu = {
    .name = "swiglu", .shape = shape, .prepare = prepare, .grad = grad};

vt_val vt_swiglu(vt_plan *p, vt_val x)
{
    return vt_op_append(p, &vt_op_swiglu, 1, &x, 0, NULL);
}
