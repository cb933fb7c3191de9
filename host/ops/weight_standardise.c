/*
 * weight_standardise.c - weight standardisation.
 */
#include "ops/common.h"

enum { IN_W };
enum { OUT_Y };
enum { F_EPS };
/* standardise_grad */
enum { DX_DY, DX_W };
enum { OUT_DW };

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    return vt_op_like(p, s, OUT_Y, s->in[IN_W]);
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    int o = vt_dim(p, s->in[IN_W], 0);

    VT_TRY(vt_op_kernel(&k, p, s, "weight_standardise", "weight_standardise"));
    VT_TRY(vt_args(p, k, "vvif", s->out[OUT_Y], s->in[IN_W],
                   vt_op_count(p, s->in[IN_W]) / o, (double)s->f[F_EPS]));
    vt_op_groups(k, p, o);
done:
    return st;
}

static vitcl_status grad_shape(vt_plan *p, vt_step *s)
{
    return vt_op_like(p, s, OUT_DW, s->in[DX_W]);
}

static vitcl_status grad_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    int o = vt_dim(p, s->in[DX_W], 0);

    VT_TRY(vt_op_kernel(&k, p, s, "weight_standardise",
                        "weight_standardise_grad"));
    VT_TRY(vt_args(p, k, "vvvif", s->out[OUT_DW], s->in[DX_DY], s->in[DX_W],
                   vt_op_count(p, s->in[DX_W]) / o, (double)s->f[F_EPS]));
    vt_op_groups(k, p, o);
done:
    return st;
}

static const vt_op standardise_grad = {.name = "weight_standardise_grad",
                                       .shape = grad_shape,
                                       .prepare = grad_prepare};

static void grad(vt_plan *p, const vt_step *s)
{
    vt_step *g = vt_step_new(p, &standardise_grad);

    if (!g)
        return;
    g->in[DX_DY] = vt_grad(p, s->out[OUT_Y]);
    g->in[DX_W] = s->in[IN_W];
    g->f[F_EPS] = s->f[F_EPS];
    vt_op_give(p, s->in[IN_W], vt_step_add(p, g));
}

const vt_op vt_op_weight_standardise = {.name = "weight_standardise",
                                        .shape = shape,
                                        .prepare = prepare,
                                        .grad = grad};

vt_val vt_weight_standardise(vt_plan *p, vt_val w, float eps)
{
    vt_step *s = vt_step_new(p, &vt_op_weight_standardise);

    if (!s)
        return VT_NONE;
    s->in[IN_W] = w;
    s->f[F_EPS] = eps;
    return vt_step_add(p, s);
}
