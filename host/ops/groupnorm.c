/*
 * groupnorm.c - group norm, then optionally a residual and ReLU.
 */
#include "ops/common.h"

enum { IN_X, IN_GAMMA, IN_BETA, IN_RESIDUAL };
enum { OUT_Y, OUT_STAT }; /* stat: for the gradients */
enum { I_GROUPS, I_RELU, INTS };
enum { F_EPS };
/* grad_x */
enum { DX_DY, DX_Y, DX_X, DX_STAT, DX_GAMMA, DX_INS };
enum { OUT_DX, OUT_DRESIDUAL };
enum { I_DRESIDUAL = INTS, DX_INTS }; /* is it wanted? */
/* grad_w */
enum { DW_DY, DW_Y, DW_X, DW_STAT, DW_DGAMMA, DW_DBETA, DW_INS };

static int plane(const vt_plan *p, vt_val x)
{
    return vt_op_count(p, x) / vt_dim(p, x, 0) / vt_dim(p, x, 1);
}

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_val x = s->in[IN_X];
    int c = vt_dim(p, x, 1);

    VT_TRY(vt_op_need(x != VT_NONE && s->i[I_GROUPS] >= 1 &&
                          c % s->i[I_GROUPS] == 0,
                      "channels do not divide into groups"));
    VT_TRY(vt_op_need(vt_op_count(p, s->in[IN_GAMMA]) == c &&
                          vt_op_count(p, s->in[IN_BETA]) == c,
                      "gamma and beta must have one number a channel"));
    VT_TRY(
        vt_op_need(s->in[IN_RESIDUAL] == VT_NONE ||
                       vt_op_count(p, s->in[IN_RESIDUAL]) == vt_op_count(p, x),
                   "the residual differs in size"));
    VT_TRY(vt_op_like(p, s, OUT_Y, x));
    if (vt_plan_settings(p)->backward)
        VT_TRY(vt_op_out(p, s, OUT_STAT, 3,
                         (int[]){vt_dim(p, x, 0), s->i[I_GROUPS], 2}));
done:
    return st;
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    vt_val x = s->in[IN_X];

    VT_TRY(vt_op_kernel(&k, p, s, "groupnorm", "groupnorm"));
    VT_TRY(vt_args(p, k, "vvvvvviiifi", s->out[OUT_Y], s->out[OUT_STAT], x,
                   s->in[IN_GAMMA], s->in[IN_BETA], s->in[IN_RESIDUAL],
                   vt_dim(p, x, 1), plane(p, x), s->i[I_GROUPS],
                   (double)s->f[F_EPS], s->i[I_RELU]));
    vt_op_groups(k, p, vt_dim(p, x, 0) * s->i[I_GROUPS]);
done:
    return st;
}

static vitcl_status x_shape(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;

    VT_TRY(vt_op_like(p, s, OUT_DX, s->in[DX_X]));
    if (s->i[I_DRESIDUAL])
        VT_TRY(vt_op_like(p, s, OUT_DRESIDUAL, s->in[DX_X]));
done:
    return st;
}

static vitcl_status x_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    vt_val x = s->in[DX_X];

    VT_TRY(vt_op_kernel(&k, p, s, "groupnorm", "groupnorm_grad_x"));
    VT_TRY(vt_args(p, k, "vvvvvvviiii", s->out[OUT_DX], s->out[OUT_DRESIDUAL],
                   s->in[DX_DY], s->in[DX_Y], x, s->in[DX_STAT],
                   s->in[DX_GAMMA], vt_dim(p, x, 1), plane(p, x),
                   s->i[I_GROUPS], s->i[I_RELU]));
    vt_op_groups(k, p, vt_dim(p, x, 0) * s->i[I_GROUPS]);
done:
    return st;
}

static const vt_op grad_x = {
    .name = "groupnorm_grad_x", .shape = x_shape, .prepare = x_prepare};

static vitcl_status w_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    vt_val x = s->in[DW_X];

    VT_TRY(vt_op_kernel(&k, p, s, "groupnorm", "groupnorm_grad_w"));
    VT_TRY(vt_args(p, k, "vvvvvviiiii", s->in[DW_DGAMMA], s->in[DW_DBETA],
                   s->in[DW_DY], s->in[DW_Y], x, s->in[DW_STAT],
                   vt_dim(p, x, 0), vt_dim(p, x, 1), plane(p, x),
                   s->i[I_GROUPS], s->i[I_RELU]));
    vt_op_groups(k, p, vt_dim(p, x, 1));
done:
    return st;
}

static const vt_op grad_w = {
    .name = "groupnorm_grad_w", .shape = vt_op_no_out, .prepare = w_prepare};

static void grad(vt_plan *p, const vt_step *s)
{
    vt_val g = vt_grad(p, s->out[OUT_Y]),
           dgamma = vt_grad_param(p, s->in[IN_GAMMA]),
           dbeta = vt_grad_param(p, s->in[IN_BETA]);
    const vt_step *last;

    if (dgamma != VT_NONE || dbeta != VT_NONE)
        vt_op_append(p, &grad_w, DW_INS,
                     (vt_val[]){[DW_DY] = g,
                                [DW_Y] = s->out[OUT_Y],
                                [DW_X] = s->in[IN_X],
                                [DW_STAT] = s->out[OUT_STAT],
                                [DW_DGAMMA] = dgamma,
                                [DW_DBETA] = dbeta},
                     INTS, s->i);
    if (!vt_grad_wanted(p, s->in[IN_X]) &&
        !vt_grad_wanted(p, s->in[IN_RESIDUAL]))
        return;
    vt_op_append(
        p, &grad_x, DX_INS,
        (vt_val[]){[DX_DY] = g,
                   [DX_Y] = s->out[OUT_Y],
                   [DX_X] = s->in[IN_X],
                   [DX_STAT] = s->out[OUT_STAT],
                   [DX_GAMMA] = s->in[IN_GAMMA]},
        DX_INTS,
        (int[]){[I_GROUPS] = s->i[I_GROUPS],
                [I_RELU] = s->i[I_RELU],
                [I_DRESIDUAL] = vt_grad_wanted(p, s->in[IN_RESIDUAL])});
    last = vt_plan_step(p, vt_plan_steps(p) - 1);
    if (vt_plan_status(p) != VITCL_OK)
        return;
    vt_op_give(p, s->in[IN_X], last->out[OUT_DX]);
    vt_op_give(p, s->in[IN_RESIDUAL], last->out[OUT_DRESIDUAL]);
}

const vt_op vt_op_groupnorm = {.name = "groupnorm",
                               .shape = shape,
                               .prepare = prepare,
                               .grad = grad,
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
