/*
 * groupnorm.c - group norm, then optionally a residual and ReLU.
 */
#include "ops/common.h"

enum { IN_X, IN_GAMMA, IN_BETA, IN_RESIDUAL };
enum { OUT_Y, OUT_STAT }; /* stat: for the gradients */
enum { I_GROUPS, I_RELU, I_DRESIDUAL };
enum { F_EPS };
/* grad_x: an output more, if I_DRESIDUAL */
enum { OUT_DRESIDUAL = VT_DX + 1 };

static int plane(const vt_plan *p, vt_val x)
{
    return vt_op_count(p, x) / vt_dim(p, x, 0) / vt_dim(p, x, 1);
}

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    vt_val x = s->in[IN_X];
    int c = vt_dim(p, x, 1);

    VT_RET(vt_op_need(x != VT_NONE && s->i[I_GROUPS] >= 1 &&
                          c % s->i[I_GROUPS] == 0,
                      "channels do not divide into groups"));
    VT_RET(vt_op_need(vt_op_count(p, s->in[IN_GAMMA]) == c &&
                          vt_op_count(p, s->in[IN_BETA]) == c,
                      "gamma and beta must have one number a channel"));
    VT_RET(
        vt_op_need(s->in[IN_RESIDUAL] == VT_NONE ||
                       vt_op_count(p, s->in[IN_RESIDUAL]) == vt_op_count(p, x),
                   "the residual differs in size"));
    VT_RET(vt_op_like(p, s, OUT_Y, x));
    if (vt_plan_settings(p)->backward)
        VT_RET(vt_op_out(p, s, OUT_STAT, 3,
                         (int[]){vt_dim(p, x, 0), s->i[I_GROUPS], 2}));
    return VITCL_OK;
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vt_kernel *k;
    vt_val x = s->in[IN_X];

    VT_RET(vt_op_kernel(&k, p, s, "groupnorm", "groupnorm"));
    VT_RET(vt_args(p, k, "vvvvvviiifi", s->out[OUT_Y], s->out[OUT_STAT], x,
                   s->in[IN_GAMMA], s->in[IN_BETA], s->in[IN_RESIDUAL],
                   vt_dim(p, x, 1), plane(p, x), s->i[I_GROUPS],
                   (double)s->f[F_EPS], s->i[I_RELU]));
    vt_op_groups(k, p, vt_dim(p, x, 0) * s->i[I_GROUPS]);
    return VITCL_OK;
}

static vitcl_status x_shape(vt_plan *p, vt_step *s)
{
    VT_RET(vt_op_like(p, s, VT_DX, s->in[IN_X]));
    if (s->i[I_DRESIDUAL])
        VT_RET(vt_op_like(p, s, OUT_DRESIDUAL, s->in[IN_X]));
    return VITCL_OK;
}

static vitcl_status x_prepare(vt_plan *p, vt_step *s)
{
    vt_kernel *k;
    vt_val x = s->in[IN_X];

    VT_RET(vt_op_kernel(&k, p, s, "groupnorm", "groupnorm_grad_x"));
    VT_RET(vt_args(p, k, "vvvvvvviiii", s->out[VT_DX], s->out[OUT_DRESIDUAL],
                   s->in[VT_DY], s->in[VT_Y], x, s->in[VT_SAVED],
                   s->in[IN_GAMMA], vt_dim(p, x, 1), plane(p, x),
                   s->i[I_GROUPS], s->i[I_RELU]));
    vt_op_groups(k, p, vt_dim(p, x, 0) * s->i[I_GROUPS]);
    return VITCL_OK;
}

static const vt_op grad_x = {.name = "groupnorm_grad_x",
                             .shape = x_shape,
                             .prepare = x_prepare,
                             .reads = 1u << IN_X | 1u << IN_GAMMA |
                                      1u << VT_SAVED | 1u << VT_Y};

static vitcl_status w_prepare(vt_plan *p, vt_step *s)
{
    vt_kernel *k;
    vt_val x = s->in[IN_X];

    VT_RET(vt_op_kernel(&k, p, s, "groupnorm", "groupnorm_grad_w"));
    VT_RET(vt_args(p, k, "vvvvvviiiii", s->in[IN_GAMMA], s->in[IN_BETA],
                   s->in[VT_DY], s->in[VT_Y], x, s->in[VT_SAVED],
                   vt_dim(p, x, 0), vt_dim(p, x, 1), plane(p, x),
                   s->i[I_GROUPS], s->i[I_RELU]));
    vt_op_groups(k, p, vt_dim(p, x, 1));
    return VITCL_OK;
}

static const vt_op grad_w = {.name = "groupnorm_grad_w",
                             .prepare = w_prepare,
                             .reads = 1u << IN_X | 1u << VT_SAVED | 1u << VT_Y,
                             .adds = 1u << IN_GAMMA | 1u << IN_BETA};

static void grad(vt_plan *p, const vt_step *s)
{
    vt_step *g;

    vt_op_grad(p, s);
    if (!vt_grad_wanted(p, s->in[IN_X]) &&
        !vt_grad_wanted(p, s->in[IN_RESIDUAL]))
        return;
    g = vt_op_grad_step(p, &grad_x, s);
    if (!g)
        return;
    g->i[I_DRESIDUAL] = vt_grad_wanted(p, s->in[IN_RESIDUAL]);
    vt_step_add(p, g);
    if (vt_plan_status(p) != VITCL_OK)
        return;
    vt_op_give(p, s->in[IN_X], g->out[VT_DX]);
    vt_op_give(p, s->in[IN_RESIDUAL], g->out[OUT_DRESIDUAL]);
}

const vt_op vt_op_groupnorm = {.name = "groupnorm",
                               .shape = shape,
                               .prepare = prepare,
                               .grad = grad,
                               .grads = {&grad_w},
                               .half_in = 1u << IN_X | 1u << IN_RESIDUAL,
                               .half_out = 1u << OUT_Y};

vt_val vt_groupnorm(vt_plan *p, vt_val x, vt_val gamma, vt_val beta, int groups,
                    float eps, vt_val residual, bool relu)
{
    vt_step *s = vt_step_new(p, &vt_op_groupnorm);

    if (!s)
        return VT_NONE;
    s->in[IN_X] = x, s->in[IN_GAMMA] = gamma, s->in[IN_BETA] = beta,
    s->in[IN_RESIDUAL] = residual;
    s->i[I_GROUPS] = groups, s->i[I_RELU] = relu;
    s->f[F_EPS] = eps;
    return vt_step_add(p, s);
}
