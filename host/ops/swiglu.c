/*
 * swiglu.c - SwiGLU, a gated activation.
 */
#include "ops/common.h"

enum { IN_X, INS };
enum { OUT_Y };

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    const vt_value *x = vt_value_of(p, s->in[IN_X]);
    int dim[4], rank = x ? x->rank : 0;

    VT_RET(vt_op_need(x && x->dim[rank - 1] % 2 == 0,
                      "a gated unit needs an even number of channels"));
    for (int i = 0; i < rank; i++)
        dim[i] = x->dim[i];
    dim[rank - 1] /= 2; /* NOLINT: every value has a dimension */
    return vt_op_out(p, s, OUT_Y, rank, dim);
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    int c = vt_dim(p, s->out[OUT_Y], -1);

    return vt_op_launch_blocks(p, s, "swiglu", "swiglu", c,
                               vt_op_rows(p, s->out[OUT_Y]), "vvi",
                               s->out[OUT_Y], s->in[IN_X], c);
}

static vitcl_status grad_prepare(vt_plan *p, vt_step *s)
{
    int c = vt_dim(p, s->in[VT_DY], -1);

    return vt_op_launch_blocks(p, s, "swiglu", "swiglu_grad", c,
                               vt_op_rows(p, s->in[VT_DY]), "vvvi",
                               s->out[VT_DX], s->in[VT_DY], s->in[IN_X], c);
}

static const vt_op swiglu_grad = {
    .name = "swiglu_grad", .prepare = grad_prepare, .reads = 1u << IN_X};

const vt_op vt_op_swiglu = {.name = "swiglu",
                            .shape = shape,
                            .prepare = prepare,
                            .grad = vt_op_grad,
                            .grads = {&swiglu_grad},
                            .half_in = 1u << IN_X,
                            .half_out = 1u << OUT_Y};

vt_val vt_swiglu(vt_plan *p, vt_val x)
{
    return vt_op_append(p, &vt_op_swiglu, INS, (vt_val[]){[IN_X] = x}, 0, NULL);
}
