/*
 * qknorm.c - layer norm, or root mean square norm, of each head of q and k, or
 * of a value that is one part.
 */
#include "ops/common.h"

#include <stdio.h>

enum { IN_QKV, IN_Q_GAMMA, IN_Q_BETA, IN_K_GAMMA, IN_K_BETA };
enum { OUT_Y, OUT_STAT };                 /* stat: for the gradients */
enum { I_HEADS, I_PART, I_PARTS, I_RMS }; /* part, of grad_w: 0: q, 1: k */
enum { F_EPS };

static int head_width(const vt_plan *p, const vt_step *s, vt_val qkv)
{
    return vt_dim(p, qkv, -1) / s->i[I_PARTS] / s->i[I_HEADS];
}

static vitcl_status kernel(vt_kernel **out, vt_plan *p, vt_step *s,
                           const char *name)
{
    char defines[32];

    snprintf(defines, sizeof defines, " -DPARTS=%d%s", s->i[I_PARTS],
             s->i[I_RMS] ? " -DRMS" : "");
    return vt_op_kernel_with(out, p, s, "qknorm", name, defines);
}

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    int d;

    VT_RET(vt_op_need(
        s->in[IN_QKV] != VT_NONE && s->i[I_HEADS] >= 1 &&
            vt_dim(p, s->in[IN_QKV], -1) % (s->i[I_PARTS] * s->i[I_HEADS]) == 0,
        "the width of qkv is not 3 * heads * D"));
    d = head_width(p, s, s->in[IN_QKV]);
    for (int k = IN_Q_GAMMA; k <= IN_K_BETA; k++)
        VT_RET(vt_op_need(s->in[k] == VT_NONE || vt_op_count(p, s->in[k]) == d,
                          "gamma and beta must have a head's width"));
    VT_RET(vt_op_like(p, s, OUT_Y, s->in[IN_QKV]));
    if (vt_plan_settings(p)->backward)
        VT_RET(vt_op_out(
            p, s, OUT_STAT, 3,
            (int[]){vt_op_rows(p, s->in[IN_QKV]), 2 * s->i[I_HEADS], 2}));
    return VITCL_OK;
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vt_kernel *k;

    VT_RET(kernel(&k, p, s, "qknorm"));
    VT_RET(vt_args(p, k, "vvvvvvviif", s->out[OUT_Y], s->out[OUT_STAT],
                   s->in[IN_QKV], s->in[IN_Q_GAMMA], s->in[IN_Q_BETA],
                   s->in[IN_K_GAMMA], s->in[IN_K_BETA], s->i[I_HEADS],
                   head_width(p, s, s->in[IN_QKV]), (double)s->f[F_EPS]));
    vt_op_items(k, p, s->i[I_PARTS] * s->i[I_HEADS],
                vt_op_rows(p, s->in[IN_QKV]));
    return VITCL_OK;
}

static vitcl_status x_prepare(vt_plan *p, vt_step *s)
{
    vt_kernel *k;

    VT_RET(kernel(&k, p, s, "qknorm_grad_x"));
    VT_RET(vt_args(p, k, "vvvvvvii", s->out[VT_DX], s->in[VT_DY], s->in[IN_QKV],
                   s->in[VT_SAVED], s->in[IN_Q_GAMMA], s->in[IN_K_GAMMA],
                   s->i[I_HEADS], head_width(p, s, s->in[IN_QKV])));
    vt_op_items(k, p, s->i[I_PARTS] * s->i[I_HEADS],
                vt_op_rows(p, s->in[IN_QKV]));
    return VITCL_OK;
}

static const vt_op grad_x = {.name = "qknorm_grad_x",
                             .prepare = x_prepare,
                             .reads = 1u << IN_QKV | 1u << IN_Q_GAMMA |
                                      1u << IN_K_GAMMA | 1u << VT_SAVED};

static vitcl_status w_prepare(vt_plan *p, vt_step *s)
{
    vt_kernel *k;
    int d = head_width(p, s, s->in[IN_QKV]);

    VT_RET(vt_op_columns(&k, p, s, "qknorm", "qknorm_grad_w", d));
    VT_RET(vt_args(p, k, "vvvvviiiii", s->in[IN_Q_GAMMA], s->in[IN_Q_BETA],
                   s->in[VT_DY], s->in[IN_QKV], s->in[VT_SAVED],
                   vt_op_rows(p, s->in[IN_QKV]), s->i[I_HEADS], d, s->i[I_PART],
                   s->i[I_PARTS]));
    if (vt_op_cpu(p)) /* not in blocks: there are few */
        vt_op_items(k, p, d, 1);
    return VITCL_OK;
}

static const vt_op grad_w = {.name = "qknorm_grad_w",
                             .prepare = w_prepare,
                             .reads = 1u << IN_QKV | 1u << VT_SAVED};

static void grad(vt_plan *p, const vt_step *s)
{
    for (int part = 0; part < VT_MIN(s->i[I_PARTS], 2); part++) {
        const vt_val dgamma = vt_grad_param(
                         p, s->in[part ? IN_K_GAMMA : IN_Q_GAMMA]),
                     dbeta =
                         vt_grad_param(p, s->in[part ? IN_K_BETA : IN_Q_BETA]);
        vt_step *g = dgamma == VT_NONE && dbeta == VT_NONE
                         ? NULL
                         : vt_op_grad_step(p, &grad_w, s);

        if (!g)
            continue;
        /* of either part in q's slots */
        g->in[IN_Q_GAMMA] = dgamma, g->in[IN_Q_BETA] = dbeta;
        g->i[I_PART] = part;
        vt_step_add(p, g);
    }
    vt_op_grad(p, s);
}

const vt_op vt_op_qknorm = {.name = "qknorm",
                            .shape = shape,
                            .prepare = prepare,
                            .grad = grad,
                            .grads = {&grad_x},
                            .half_in = 1u << IN_QKV,
                            .half_out = 1u << OUT_Y};

static vt_val norm(vt_plan *p, vt_val qkv, int heads, const vt_val weights[4],
                   float eps, int parts, bool rms)
{
    vt_step *s = vt_step_new(p, &vt_op_qknorm);

    if (!s)
        return VT_NONE;
    s->in[IN_QKV] = qkv;
    for (int k = 0; k < 4; k++)
        s->in[IN_Q_GAMMA + k] = weights[k];
    s->i[I_HEADS] = heads;
    s->i[I_PARTS] = parts;
    s->i[I_RMS] = rms;
    s->f[F_EPS] = eps;
    return vt_step_add(p, s);
}

vt_val vt_qknorm(vt_plan *p, vt_val qkv, int heads, vt_val q_gamma,
                 vt_val q_beta, vt_val k_gamma, vt_val k_beta, float eps)
{
    return norm(p, qkv, heads,
                (const vt_val[]){q_gamma, q_beta, k_gamma, k_beta}, eps, 3,
                false);
}

vt_val vt_qk_rmsnorm(vt_plan *p, vt_val qkv, int heads, vt_val q_gamma,
                     vt_val k_gamma, float eps)
{
    return norm(p, qkv, heads,
                (const vt_val[]){q_gamma, VT_NONE, k_gamma, VT_NONE}, eps, 3,
                true);
}

vt_val vt_head_rmsnorm(vt_plan *p, vt_val x, int heads, vt_val gamma, float eps)
{
    return norm(p, x, heads, (const vt_val[]){gamma, VT_NONE, VT_NONE, VT_NONE},
                eps, 1, true);
}
