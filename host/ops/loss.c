/*
 * loss.c - softmax cross-entropy: where a backward pass begins.
 *
 * in logits[..,K], target[..,K]; out loss[1], rows[B,3]; f: factor. B counts
 * the rows of K.
 */
#include "ops/common.h"

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;

    VT_TRY(vt_op_need(s->in[0] != VT_NONE && vt_op_same(p, s->in[0], s->in[1]),
                      "logits and targets must both be [..,K]"));
    VT_TRY(vt_op_out(p, s, 0, 1, (int[]){1}));
    VT_TRY(vt_op_out(p, s, 1, 2, (int[]){vt_op_rows(p, s->in[0]), 3}));
done:
    return st;
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    int b = vt_op_rows(p, s->in[0]);

    VT_TRY(vt_op_kernel(&k, p, s, "loss", "loss_rows"));
    VT_TRY(vt_args(p, k, "vvvi", s->out[1], s->in[0], s->in[1],
                   vt_dim(p, s->in[0], -1)));
    vt_op_groups(k, p, b);
    VT_TRY(vt_op_kernel(&k, p, s, "loss", "loss"));
    VT_TRY(vt_args(p, k, "vvif", s->out[0], s->out[1], b, (double)s->f[0]));
    vt_op_items(k, p, 1, 1);
done:
    return st;
}

/* in logits, target, rows; f: factor */
static vitcl_status grad_shape(vt_plan *p, vt_step *s)
{
    return vt_op_like(p, s, 0, s->in[0]);
}

static vitcl_status grad_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;

    VT_TRY(vt_op_kernel(&k, p, s, "loss", "loss_grad"));
    VT_TRY(vt_args(p, k, "vvvvif", s->out[0], s->in[0], s->in[1], s->in[2],
                   vt_dim(p, s->in[0], -1), (double)s->f[0]));
    vt_op_groups(k, p, vt_op_rows(p, s->in[0]));
done:
    return st;
}

static const vt_op loss_grad = {
    .name = "loss_grad", .shape = grad_shape, .prepare = grad_prepare};

/* The gradient of the loss by itself is 1. */
static void grad(vt_plan *p, const vt_step *s)
{
    vt_step *g = vt_step_new(p, &loss_grad);

    if (!g)
        return;
    g->in[0] = s->in[0], g->in[1] = s->in[1], g->in[2] = s->out[1];
    g->f[0] = s->f[0];
    vt_op_give(p, s->in[0], vt_step_add(p, g));
}

const vt_op vt_op_loss = {
    .name = "loss", .shape = shape, .prepare = prepare, .grad = grad};

vt_val vt_cross_entropy(vt_plan *p, vt_val logits, vt_val target, float weight)
{
    vt_step *s = vt_step_new(p, &vt_op_loss);

    if (!s)
        return VT_NONE;
    s->in[0] = logits, s->in[1] = target;
    s->f[0] = logits == VT_NONE ? 0 : weight / (float)vt_op_rows(p, logits);
    return vt_step_add(p, s);
}
