/*
 * slice.c - some of each picture's tokens (in x[B,T,C]; i: first, count).
 */
#include "ops/common.h"

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_val x = s->in[0];
    int first = s->i[0], count = s->i[1];

    VT_TRY(vt_op_need(x != VT_NONE && vt_value_of(p, x)->rank == 3 &&
                          first >= 0 && count >= 1 &&
                          count <= vt_dim(p, x, 1) - first,
                      "tokens beyond the last"));
    VT_TRY(vt_op_out(p, s, 0, 3,
                     (int[]){vt_dim(p, x, 0), count, vt_dim(p, x, 2)}));
done:
    return st;
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    vt_val x = s->in[0];
    int c = vt_dim(p, x, 2);

    VT_TRY(vt_op_kernel(&k, p, s, "slice", "slice"));
    VT_TRY(vt_args(p, k, "vviiii", s->out[0], x, vt_dim(p, x, 1), c, s->i[0],
                   s->i[1]));
    vt_op_blocks(k, p, c, vt_op_rows(p, s->out[0]));
done:
    return st;
}

/* in dout; i: first, count, tokens of x */
static vitcl_status grad_shape(vt_plan *p, vt_step *s)
{
    vt_val g = s->in[0];

    return vt_op_out(p, s, 0, 3,
                     (int[]){vt_dim(p, g, 0), s->i[2], vt_dim(p, g, 2)});
}

static vitcl_status grad_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    int c = vt_dim(p, s->in[0], 2);

    VT_TRY(vt_op_kernel(&k, p, s, "slice", "slice_grad"));
    VT_TRY(vt_args(p, k, "vviiii", s->out[0], s->in[0], s->i[2], c, s->i[0],
                   s->i[1]));
    vt_op_blocks(k, p, c, vt_op_rows(p, s->out[0]));
done:
    return st;
}

static const vt_op slice_grad = {
    .name = "slice_grad", .shape = grad_shape, .prepare = grad_prepare};

static void grad(vt_plan *p, const vt_step *s)
{
    vt_val g = vt_grad(p, s->out[0]);

    vt_op_give(p, s->in[0],
               vt_op_append(p, &slice_grad, 1, &g, 3,
                            (int[]){s->i[0], s->i[1], vt_dim(p, s->in[0], 1)}));
}

const vt_op vt_op_slice = {
    .name = "slice", .shape = shape, .prepare = prepare, .grad = grad};

vt_val vt_slice(vt_plan *p, vt_val x, int first, int count)
{
    return vt_op_append(p, &vt_op_slice, 1, &x, 2, (int[]){first, count});
}
