/*
 * qknorm.c - layer norm of each head of q and k.
 */
#include "ops/common.h"

enum { IN_QKV, IN_Q_GAMMA, IN_Q_BETA, IN_K_GAMMA, IN_K_BETA };
enum { OUT_Y, OUT_STAT }; /* stat: for the gradients */
enum { I_HEADS, INTS };
enum { F_EPS };
/* grad_x */
enum { DX_DY, DX_QKV, DX_STAT, DX_Q_GAMMA, DX_K_GAMMA, DX_INS };
enum { OUT_DQKV };
/* grad_w */
enum { DW_DY, DW_QKV, DW_STAT, DW_DGAMMA, DW_DBETA, DW_INS };
enum { I_PART = INTS, DW_INTS }; /* 0: q, 1: k */

static int head_width(const vt_plan *p, const vt_step *s, vt_val qkv)
{
    return vt_dim(p, qkv, -1) / 3 / s->i[I_HEADS];
}

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    int d;

    VT_TRY(
        vt_op_need(s->in[IN_QKV] != VT_NONE && s->i[I_HEADS] >= 1 &&
                       vt_dim(p, s->in[IN_QKV], -1) % (3 * s->i[I_HEADS]) == 0,
                   "the width of qkv is not 3 * heads * D"));
    d = head_width(p, s, s->in[IN_QKV]);
    for (int k = IN_Q_GAMMA; k <= IN_K_BETA; k++)
        VT_TRY(vt_op_need(s->in[k] == VT_NONE || vt_op_count(p, s->in[k]) == d,
                          "gamma and beta must have a head's width"));
    VT_TRY(vt_op_like(p, s, OUT_Y, s->in[IN_QKV]));
    if (vt_plan_settings(p)->backward)
        VT_TRY(vt_op_out(
            p, s, OUT_STAT, 3,
            (int[]){vt_op_rows(p, s->in[IN_QKV]), 2 * s->i[I_HEADS], 2}));
done:
    return st;
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;

    VT_TRY(vt_op_kernel(&k, p, s, "qknorm", "qknorm"));
    VT_TRY(vt_args(p, k, "vvvvvvviif", s->out[OUT_Y], s->out[OUT_STAT],
                   s->in[IN_QKV], s->in[IN_Q_GAMMA], s->in[IN_Q_BETA],
                   s->in[IN_K_GAMMA], s->in[IN_K_BETA], s->i[I_HEADS],
                   head_width(p, s, s->in[IN_QKV]), (double)s->f[F_EPS]));
    vt_op_items(k, p, 3 * s->i[I_HEADS], vt_op_rows(p, s->in[IN_QKV]));
done:
    return st;
}

static vitcl_status x_shape(vt_plan *p, vt_step *s)
{
    return vt_op_like(p, s, OUT_DQKV, s->in[DX_QKV]);
}

static vitcl_status x_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;

    VT_TRY(vt_op_kernel(&k, p, s, "qknorm", "qknorm_grad_x"));
    VT_TRY(vt_args(p, k, "vvvvvvii", s->out[OUT_DQKV], s->in[DX_DY],
                   s->in[DX_QKV], s->in[DX_STAT], s->in[DX_Q_GAMMA],
                   s->in[DX_K_GAMMA], s->i[I_HEADS],
                   head_width(p, s, s->in[DX_QKV])));
    vt_op_items(k, p, 3 * s->i[I_HEADS], vt_op_rows(p, s->in[DX_QKV]));
done:
    return st;
}

static const vt_op grad_x = {
    .name = "qknorm_grad_x", .shape = x_shape, .prepare = x_prepare};

static vitcl_status w_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    int d = head_width(p, s, s->in[DW_QKV]);

    VT_TRY(vt_op_columns(&k, p, s, "qknorm", "qknorm_grad_w", d));
    VT_TRY(vt_args(p, k, "vvvvviiii", s->in[DW_DGAMMA], s->in[DW_DBETA],
                   s->in[DW_DY], s->in[DW_QKV], s->in[DW_STAT],
                   vt_op_rows(p, s->in[DW_QKV]), s->i[I_HEADS], d,
                   s->i[I_PART]));
    if (vt_op_cpu(p)) /* not in blocks: there are few */
        vt_op_items(k, p, d, 1);
done:
    return st;
}

static const vt_op grad_w = {
    .name = "qknorm_grad_w", .shape = vt_op_no_out, .prepare = w_prepare};

static void grad(vt_plan *p, const vt_step *s)
{
    vt_val g = vt_grad(p, s->out[OUT_Y]);

    for (int part = 0; part < 2; part++) {
        vt_val dgamma = vt_grad_param(p, s->in[part ? IN_K_GAMMA : IN_Q_GAMMA]),
               dbeta = vt_grad_param(p, s->in[part ? IN_K_BETA : IN_Q_BETA]);

        if (dgamma != VT_NONE || dbeta != VT_NONE)
            vt_op_append(p, &grad_w, DW_INS,
                         (vt_val[]){[DW_DY] = g,
                                    [DW_QKV] = s->in[IN_QKV],
                                    [DW_STAT] = s->out[OUT_STAT],
                                    [DW_DGAMMA] = dgamma,
                                    [DW_DBETA] = dbeta},
                         DW_INTS,
                         (int[]){[I_HEADS] = s->i[I_HEADS], [I_PART] = part});
    }
    if (vt_grad_wanted(p, s->in[IN_QKV]))
        vt_op_give(p, s->in[IN_QKV],
                   vt_op_append(p, &grad_x, DX_INS,
                                (vt_val[]){[DX_DY] = g,
                                           [DX_QKV] = s->in[IN_QKV],
                                           [DX_STAT] = s->out[OUT_STAT],
                                           [DX_Q_GAMMA] = s->in[IN_Q_GAMMA],
                                           [DX_K_GAMMA] = s->in[IN_K_GAMMA]},
                                INTS, s->i));
}

const vt_op vt_op_qknorm = {.name = "qknorm",
                            .shape = shape,
                            .prepare = prepare,
                            .grad = grad,
                            .half_in = 1u << IN_QKV,
                            .half_out = 1u << OUT_Y};

vt_val vt_qknorm(vt_plan *p, vt_val qkv, int heads, vt_val q_gamma,
                 vt_val q_beta, vt_val k_gamma, vt_val k_beta, float eps)
{
    vt_step *s = vt_step_new(p, &vt_op_qknorm);

    if (!s)
        return VT_NONE;
    s->in[IN_QKV] = qkv;
    s->in[IN_Q_GAMMA] = q_gamma, s->in[IN_Q_BETA] = q_beta;
    s->in[IN_K_GAMMA] = k_gamma, s->in[IN_K_BETA] = k_beta;
    s->i[I_HEADS] = heads;
    s->f[F_EPS] = eps;
    return vt_step_add(p, s);
}
