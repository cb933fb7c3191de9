/*
 * pad.c - zeros around a feature map, for a pool that counts them (in
 * x[B,C,H,W]; i: top, left, bottom, right; negative: cut off).
 */
#include "ops/common.h"

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    const vt_value *x = vt_value_of(p, s->in[0]);
    int h, w;

    VT_TRY(vt_op_need(x && x->rank == 4, "a margin goes around [B,C,H,W]"));
    h = x->dim[2] + s->i[0] + s->i[2];
    w = x->dim[3] + s->i[1] + s->i[3];
    VT_TRY(vt_op_need(h > 0 && w > 0, "a margin leaves nothing"));
    VT_TRY(vt_op_out(p, s, 0, 4, (int[]){x->dim[0], x->dim[1], h, w}));
done:
    return st;
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    const int w = vt_dim(p, s->out[0], 3);

    VT_TRY(vt_op_kernel(&k, p, s, "pad", "pad"));
    VT_TRY(vt_args(p, k, "vviiiiii", s->out[0], s->in[0],
                   vt_dim(p, s->in[0], 2), vt_dim(p, s->in[0], 3),
                   vt_dim(p, s->out[0], 2), w, s->i[0], s->i[1]));
    vt_op_blocks(k, p, w, vt_op_rows(p, s->out[0]));
done:
    return st;
}

static void grad(vt_plan *p, const vt_step *s)
{
    if (vt_grad_wanted(p, s->in[0]))
        vt_op_give(p, s->in[0],
                   vt_pad(p, vt_grad(p, s->out[0]), -s->i[0], -s->i[1],
                          -s->i[2], -s->i[3]));
}

const vt_op vt_op_pad = {
    .name = "pad", .shape = shape, .prepare = prepare, .grad = grad};

vt_val vt_pad(vt_plan *p, vt_val x, int top, int left, int bottom, int right)
{
    return vt_op_append(p, &vt_op_pad, 1, &x, 4,
                        (int[]){top, left, bottom, right});
}
