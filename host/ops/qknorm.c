/*
 * qknorm.c - layer norm of each head of q and k.
 *
 * in qkv, q_gamma, q_beta, k_gamma, k_beta; out, stat (for a backward);
 * i: heads; f: eps.
 */
#include "ops/common.h"

static int head_width(const vt_plan *p, const vt_step *s, vt_val qkv)
{
    return vt_dim(p, qkv, -1) / 3 / s->i[0];
}

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    int d;

    VT_TRY(vt_op_need(s->in[0] != VT_NONE && s->i[0] >= 1 &&
                          vt_dim(p, s->in[0], -1) % (3 * s->i[0]) == 0,
                      "the width of qkv is not 3 * heads * D"));
    d = head_width(p, s, s->in[0]);
    for (int k = 1; k < 5; k++)
        VT_TRY(vt_op_need(s->in[k] == VT_NONE || vt_op_count(p, s->in[k]) == d,
                          "gamma and beta must have a head's width"));
    VT_TRY(vt_op_like(p, s, 0, s->in[0]));
    if (vt_plan_settings(p)->backward)
        VT_TRY(vt_op_out(p, s, 1, 3,
                         (int[]){vt_op_rows(p, s->in[0]), 2 * s->i[0], 2}));
done:
    return st;
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;

    VT_TRY(vt_op_kernel(&k, p, s, "qknorm", "qknorm"));
    VT_TRY(vt_args(p, k, "vvvvvvviif", s->out[0], s->out[1], s->in[0], s->in[1],
                   s->in[2], s->in[3], s->in[4], s->i[0],
                   head_width(p, s, s->in[0]), (double)s->f[0]));
    vt_op_items(k, p, 3 * s->i[0], vt_op_rows(p, s->in[0]));
done:
    return st;
}

/* in dout, qkv, stat, q_gamma, k_gamma; i heads */
static vitcl_status x_shape(vt_plan *p, vt_step *s)
{
    return vt_op_like(p, s, 0, s->in[1]);
}

static vitcl_status x_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;

    VT_TRY(vt_op_kernel(&k, p, s, "qknorm", "qknorm_grad_x"));
    VT_TRY(vt_args(p, k, "vvvvvvii", s->out[0], s->in[0], s->in[1], s->in[2],
                   s->in[3], s->in[4], s->i[0], head_width(p, s, s->in[1])));
    vt_op_items(k, p, 3 * s->i[0], vt_op_rows(p, s->in[1]));
done:
    return st;
}

static const vt_op grad_x = {
    .name = "qknorm_grad_x", .shape = x_shape, .prepare = x_prepare};

/* in dout, qkv, stat, dgamma, dbeta (states); i heads, part */
static vitcl_status w_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    int d = head_width(p, s, s->in[1]);

    VT_TRY(vt_op_kernel(&k, p, s, "qknorm", "qknorm_grad_w"));
    VT_TRY(vt_args(p, k, "vvvvviiii", s->in[3], s->in[4], s->in[0], s->in[1],
                   s->in[2], vt_op_rows(p, s->in[1]), s->i[0], d, s->i[1]));
    vt_op_items(k, p, d, 1);
done:
    return st;
}

static const vt_op grad_w = {
    .name = "qknorm_grad_w", .shape = vt_op_no_out, .prepare = w_prepare};

static void grad(vt_plan *p, const vt_step *s)
{
    vt_val g = vt_grad(p, s->out[0]);

    for (int part = 0; part < 2; part++) {
        vt_val dgamma = vt_grad_param(p, s->in[1 + 2 * part]),
               dbeta = vt_grad_param(p, s->in[2 + 2 * part]);

        if (dgamma != VT_NONE || dbeta != VT_NONE)
            vt_op_append(p, &grad_w, 5,
                         (vt_val[]){g, s->in[0], s->out[1], dgamma, dbeta}, 2,
                         (int[]){s->i[0], part});
    }
    if (vt_grad_wanted(p, s->in[0]))
        vt_op_give(
            p, s->in[0],
            vt_op_append(p, &grad_x, 5,
                         (vt_val[]){g, s->in[0], s->out[1], s->in[1], s->in[3]},
                         1, s->i));
}

const vt_op vt_op_qknorm = {
    .name = "qknorm", .shape = shape, .prepare = prepare, .grad = grad};

vt_val vt_qknorm(vt_plan *p, vt_val qkv, int heads, vt_val q_gamma,
                 vt_val q_beta, vt_val k_gamma, vt_val k_beta, float eps)
{
    vt_step *s = vt_step_new(p, &vt_op_qknorm);

    if (!s)
        return VT_NONE;
    s->in[0] = qkv;
    s->in[1] = q_gamma, s->in[2] = q_beta;
    s->in[3] = k_gamma, s->in[4] = k_beta;
    s->i[0] = heads;
    s->f[0] = eps;
    return vt_step_add(p, s);
}
