/*
 * swiglu.c - SwiGLU, a gated activation.
 */
#include "ops/common.h"

enum { IN_X, INS };
enum { OUT_Y };
/* swiglu_grad */
enum { DX_DY, DX_X, DX_INS };
enum { OUT_DX };

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    const vt_value *x = vt_value_of(p, s->in[IN_X]);
    int dim[4], rank = x ? x->rank : 0;

    VT_TRY(vt_op_need(x && x->dim[rank - 1] % 2 == 0,
                      "a gated unit needs an even number of channels"));
    for (int i = 0; i < rank; i++)
        dim[i] = x->dim[i];
    dim[rank - 1] /= 2; /* NOLINT: every value has a dimension */
    VT_TRY(vt_op_out(p, s, OUT_Y, rank, dim));
done:
    return st;
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    int c = vt_dim(p, s->out[OUT_Y], -1);

    VT_TRY(vt_op_kernel(&k, p, s, "swiglu", "swiglu"));
    VT_TRY(vt_args(p, k, "vvi", s->out[OUT_Y], s->in[IN_X], c));
    vt_op_blocks(k, p, c, vt_op_rows(p, s->out[OUT_Y]));
done:
    return st;
}

static vitcl_status grad_shape(vt_plan *p, vt_step *s)
{
    return vt_op_like(p, s, OUT_DX, s->in[DX_X]);
}

static vitcl_status grad_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    int c = vt_dim(p, s->in[DX_DY], -1);

    VT_TRY(vt_op_kernel(&k, p, s, "swiglu", "swiglu_grad"));
    VT_TRY(vt_args(p, k, "vvvi", s->out[OUT_DX], s->in[DX_DY], s->in[DX_X], c));
    vt_op_blocks(k, p, c, vt_op_rows(p, s->in[DX_DY]));
done:
    return st;
}

static const vt_op swiglu_grad = {
    .name = "swiglu_grad", .shape = grad_shape, .prepare = grad_prepare};

static void grad(vt_plan *p, const vt_step *s)
{
    vt_op_give(
        p, s->in[IN_X],
        vt_op_append(
            p, &swiglu_grad, DX_INS,
            (vt_val[]){
                [DX_DY] = vt_grad(p, s->out[OUT_Y]), [DX_X] = s->in[IN_X]},
            0, NULL));
}

const vt_op vt_op_swiglu = {.name = "swiglu",
                            .shape = shape,
                            .prepare = prepare,
                            .grad = grad,
                            .half_in = 1u << IN_X,
                            .half_out = 1u << OUT_Y};

vt_val vt_swiglu(vt_plan *p, vt_val x)
{
    return vt_op_append(p, &vt_op_swiglu, INS, (vt_val[]){[IN_X] = x}, 0, NULL);
}
