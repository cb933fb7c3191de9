/*
 * weight_standardise.c - weight standardisation.
 */
#include "ops/common.h"

enum { IN_W };
enum { OUT_Y };
enum { F_EPS };

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    return vt_op_like(p, s, OUT_Y, s->in[IN_W]);
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vt_kernel *k;
    int o = vt_dim(p, s->in[IN_W], 0);

    VT_RET(vt_op_kernel(&k, p, s, "weight_standardise", "weight_standardise"));
    VT_RET(vt_args(p, k, "vvif", s->out[OUT_Y], s->in[IN_W],
                   vt_op_count(p, s->in[IN_W]) / o, (double)s->f[F_EPS]));
    vt_op_groups(k, p, o);
    return VITCL_OK;
}

static vitcl_status grad_prepare(vt_plan *p, vt_step *s)
{
    vt_kernel *k;
    int o = vt_dim(p, s->in[IN_W], 0);

    VT_RET(vt_op_kernel(&k, p, s, "weight_standardise",
                        "weight_standardise_grad"));
    VT_RET(vt_args(p, k, "vvvif", s->out[VT_DX], s->in[VT_DY], s->in[IN_W],
                   vt_op_count(p, s->in[IN_W]) / o, (double)s->f[F_EPS]));
    vt_op_groups(k, p, o);
    return VITCL_OK;
}

static const vt_op standardise_grad = {.name = "weight_standardise_grad",
                                       .prepare = grad_prepare,
                                       .reads = 1u << IN_W};

const vt_op vt_op_weight_standardise = {.name = "weight_standardise",
                                        .shape = shape,
                                        .prepare = prepare,
                                        .grad = vt_op_grad,
                                        .grads = {&standardise_grad}};

vt_val vt_weight_standardise(vt_plan *p, vt_val w, float eps)
{
    vt_step *s = vt_step_new(p, &vt_op_weight_standardise);

    if (!s)
        return VT_NONE;
    s->in[IN_W] = w;
    s->f[F_EPS] = eps;
    return vt_step_add(p, s);
}
