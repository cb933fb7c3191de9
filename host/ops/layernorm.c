/*
 * layernorm.c - layer norm of rows, or of the first rows of each picture.
 *
 * in x, gamma, beta; out y, stat (only where a backward follows);
 * i: take, of (1, 1: all rows); f: eps.
 */
#include "ops/common.h"

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    const vt_value *x = vt_value_of(p, s->in[0]);
    int c = vt_dim(p, s->in[0], -1), dim[4];

    VT_TRY(vt_op_need(x != NULL, "an input is missing"));
    for (int k = 1; k < 3; k++)
        VT_TRY(vt_op_need(s->in[k] == VT_NONE || vt_op_count(p, s->in[k]) == c,
                          "gamma and beta must have a row's width"));
    for (int i = 0; i < x->rank; i++)
        dim[i] = x->dim[i];
    if (s->i[1] > 1) {
        VT_TRY(vt_op_need(x->rank == 3 && s->i[0] >= 1 && s->i[0] <= s->i[1],
                          "more rows asked for than a picture has"));
        dim[1] = s->i[0];
    }
    VT_TRY(vt_op_out(p, s, 0, x->rank, dim));
    if (vt_plan_settings(p)->backward)
        VT_TRY(vt_op_out(p, s, 1, 2, (int[]){vt_op_rows(p, s->out[0]), 2}));
done:
    return st;
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;

    VT_TRY(vt_op_kernel(&k, p, s, "layernorm", "layernorm"));
    VT_TRY(vt_args(p, k, "vvvvviiif", s->out[0], s->out[1], s->in[0], s->in[1],
                   s->in[2], vt_dim(p, s->in[0], -1), s->i[0], s->i[1],
                   (double)s->f[0]));
    vt_op_groups(k, p, vt_op_rows(p, s->out[0]));
done:
    return st;
}

/* in dout, x, stat, gamma; i take, of */
static vitcl_status x_shape(vt_plan *p, vt_step *s)
{
    return vt_op_like(p, s, 0, s->in[1]);
}

static vitcl_status x_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;

    VT_TRY(vt_op_kernel(&k, p, s, "layernorm", "layernorm_grad_x"));
    VT_TRY(vt_args(p, k, "vvvvviii", s->out[0], s->in[0], s->in[1], s->in[2],
                   s->in[3], vt_dim(p, s->in[1], -1), s->i[0], s->i[1]));
    vt_op_groups(k, p, vt_op_rows(p, s->in[0]));
done:
    return st;
}

static const vt_op grad_x = {
    .name = "layernorm_grad_x", .shape = x_shape, .prepare = x_prepare};

/* in dout, x, stat, dgamma, dbeta (states); no output */
static vitcl_status w_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    int c = vt_dim(p, s->in[1], -1);

    VT_TRY(vt_op_columns(&k, p, s, "layernorm", "layernorm_grad_w", c));
    VT_TRY(vt_args(p, k, "vvvvviiii", s->in[3], s->in[4], s->in[0], s->in[1],
                   s->in[2], vt_op_rows(p, s->in[0]), c, s->i[0], s->i[1]));
done:
    return st;
}

static const vt_op grad_w = {
    .name = "layernorm_grad_w", .shape = vt_op_no_out, .prepare = w_prepare};

static void grad(vt_plan *p, const vt_step *s)
{
    vt_val g = vt_grad(p, s->out[0]), dgamma = vt_grad_param(p, s->in[1]),
           dbeta = vt_grad_param(p, s->in[2]);

    if (dgamma != VT_NONE || dbeta != VT_NONE)
        vt_op_append(p, &grad_w, 5,
                     (vt_val[]){g, s->in[0], s->out[1], dgamma, dbeta}, 2,
                     s->i);
    if (vt_grad_wanted(p, s->in[0]))
        vt_op_give(p, s->in[0],
                   vt_op_append(p, &grad_x, 4,
                                (vt_val[]){g, s->in[0], s->out[1], s->in[1]}, 2,
                                s->i));
}

const vt_op vt_op_layernorm = {
    .name = "layernorm", .shape = shape, .prepare = prepare, .grad = grad};

static vt_val append(vt_plan *p, vt_val x, vt_val gamma, vt_val beta, float eps,
                     int take, int of)
{
    vt_step *s = vt_step_new(p, &vt_op_layernorm);

    if (!s)
        return VT_NONE;
    s->in[0] = x, s->in[1] = gamma, s->in[2] = beta;
    s->i[0] = take, s->i[1] = of;
    s->f[0] = eps;
    return vt_step_add(p, s);
}

vt_val vt_layernorm(vt_plan *p, vt_val x, vt_val gamma, vt_val beta, float eps)
{
    return append(p, x, gamma, beta, eps, 1, 1);
}

vt_val vt_layernorm_rows(vt_plan *p, vt_val x, vt_val gamma, vt_val beta,
                         float eps, int count)
{
    return append(p, x, gamma, beta, eps, count, vt_dim(p, x, 1));
}
