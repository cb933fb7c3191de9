/*
 * l2norm.c - rows divided by their length (in x).
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

    VT_TRY(vt_op_kernel(&k, p, s, "l2norm", "l2norm"));
    VT_TRY(vt_args(p, k, "vvi", s->out[0], s->in[0], vt_dim(p, s->in[0], -1)));
    vt_op_groups(k, p, vt_op_rows(p, s->in[0]));
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

    VT_TRY(vt_op_kernel(&k, p, s, "l2norm", "l2norm_grad"));
    VT_TRY(vt_args(p, k, "vvvi", s->out[0], s->in[0], s->in[1],
                   vt_dim(p, s->in[1], -1)));
    vt_op_groups(k, p, vt_op_rows(p, s->in[1]));
done:
    return st;
}

static const vt_op l2norm_grad = {
    .name = "l2norm_grad", .shape = grad_shape, .prepare = grad_prepare};

static void grad(vt_plan *p, const vt_step *s)
{
    vt_op_give(p, s->in[0],
               vt_op_append(p, &l2norm_grad, 2,
                            (vt_val[]){vt_grad(p, s->out[0]), s->in[0]}, 0,
                            NULL));
}

const vt_op vt_op_l2norm = {
    .name = "l2norm", .shape = shape, .prepare = prepare, .grad = grad};

vt_val vt_l2norm(vt_plan *p, vt_val x)
{
    return vt_op_append(p, &vt_op_l2norm, 1, &x, 0, NULL);
}
