/*
 * groupnorm.c - group norm with residual and ReLU behind it.
 *
 * in x[B,C,H,W], gamma, beta, residual or none; out y, stat (for a backward);
 * i: groups, relu; f: eps.
 */
#include "ops/common.h"

static int plane(const vt_plan *p, vt_val x)
{
    return vt_op_count(p, x) / vt_dim(p, x, 0) / vt_dim(p, x, 1);
}

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_val x = s->in[0];
    int c = vt_dim(p, x, 1);

    VT_TRY(vt_op_need(x != VT_NONE && s->i[0] >= 1 && c % s->i[0] == 0,
                      "channels do not divide into groups"));
    VT_TRY(vt_op_need(vt_op_count(p, s->in[1]) == c &&
                          vt_op_count(p, s->in[2]) == c,
                      "gamma and beta must have one number a channel"));
    VT_TRY(vt_op_need(s->in[3] == VT_NONE ||
                          vt_op_count(p, s->in[3]) == vt_op_count(p, x),
                      "the residual differs in size"));
    VT_TRY(vt_op_like(p, s, 0, x));
    if (vt_plan_settings(p)->backward)
        VT_TRY(vt_op_out(p, s, 1, 3, (int[]){vt_dim(p, x, 0), s->i[0], 2}));
done:
    return st;
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    vt_val x = s->in[0];

    VT_TRY(vt_op_kernel(&k, p, s, "groupnorm", "groupnorm"));
    VT_TRY(vt_args(p, k, "vvvvvviiifi", s->out[0], s->out[1], x, s->in[1],
                   s->in[2], s->in[3], vt_dim(p, x, 1), plane(p, x), s->i[0],
                   (double)s->f[0], s->i[1]));
    vt_op_groups(k, p, vt_dim(p, x, 0) * s->i[0]);
done:
    return st;
}

/* in dout, out, x, stat, gamma; out dx, dresidual; i: groups, relu, is there
 * a residual? */
static vitcl_status x_shape(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;

    VT_TRY(vt_op_like(p, s, 0, s->in[2]));
    if (s->i[2])
        VT_TRY(vt_op_like(p, s, 1, s->in[2]));
done:
    return st;
}

static vitcl_status x_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    vt_val x = s->in[2];

    VT_TRY(vt_op_kernel(&k, p, s, "groupnorm", "groupnorm_grad_x"));
    VT_TRY(vt_args(p, k, "vvvvvvviiii", s->out[0], s->out[1], s->in[0],
                   s->in[1], x, s->in[3], s->in[4], vt_dim(p, x, 1),
                   plane(p, x), s->i[0], s->i[1]));
    vt_op_groups(k, p, vt_dim(p, x, 0) * s->i[0]);
done:
    return st;
}

static const vt_op grad_x = {
    .name = "groupnorm_grad_x", .shape = x_shape, .prepare = x_prepare};

/* in dout, out, x, stat, dgamma, dbeta (states) */
static vitcl_status w_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    vt_val x = s->in[2];

    VT_TRY(vt_op_kernel(&k, p, s, "groupnorm", "groupnorm_grad_w"));
    VT_TRY(vt_args(p, k, "vvvvvviiiii", s->in[4], s->in[5], s->in[0], s->in[1],
                   x, s->in[3], vt_dim(p, x, 0), vt_dim(p, x, 1), plane(p, x),
                   s->i[0], s->i[1]));
    vt_op_groups(k, p, vt_dim(p, x, 1));
done:
    return st;
}

static const vt_op grad_w = {
    .name = "groupnorm_grad_w", .shape = vt_op_no_out, .prepare = w_prepare};

static void grad(vt_plan *p, const vt_step *s)
{
    vt_val g = vt_grad(p, s->out[0]), dgamma = vt_grad_param(p, s->in[1]),
           dbeta = vt_grad_param(p, s->in[2]);
    const vt_step *last;

    if (dgamma != VT_NONE || dbeta != VT_NONE)
        vt_op_append(
            p, &grad_w, 6,
            (vt_val[]){g, s->out[0], s->in[0], s->out[1], dgamma, dbeta}, 2,
            s->i);
    if (!vt_grad_wanted(p, s->in[0]) && !vt_grad_wanted(p, s->in[3]))
        return;
    vt_op_append(p, &grad_x, 5,
                 (vt_val[]){g, s->out[0], s->in[0], s->out[1], s->in[1]}, 3,
                 (int[]){s->i[0], s->i[1], vt_grad_wanted(p, s->in[3])});
    last = vt_plan_step(p, vt_plan_steps(p) - 1);
    if (vt_plan_status(p) != VITCL_OK)
        return;
    vt_op_give(p, s->in[0], last->out[0]);
    vt_op_give(p, s->in[3], last->out[1]);
}

const vt_op vt_op_groupnorm = {
    .name = "groupnorm", .shape = shape, .prepare = prepare, .grad = grad};

vt_val vt_groupnorm(vt_plan *p, vt_val x, vt_val gamma, vt_val beta, int groups,
                    float eps, vt_val residual, bool relu)
{
    vt_step *s = vt_step_new(p, &vt_op_groupnorm);

    if (!s)
        return VT_NONE;
    s->in[0] = x, s->in[1] = gamma, s->in[2] = beta, s->in[3] = residual;
    s->i[0] = groups, s->i[1] = relu;
    s->f[0] = eps;
    return vt_step_add(p, s);
}
