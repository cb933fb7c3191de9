/*
 * weight_standardise.c - weight standardisation (in w; i: jax; f: eps).
 */
#include "ops/common.h"

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    return vt_op_like(p, s, 0, s->in[0]);
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    int o = vt_dim(p, s->in[0], 0);

    VT_TRY(vt_op_kernel(&k, p, s, "weight_standardise", "weight_standardise"));
    VT_TRY(vt_args(p, k, "vvif", s->out[0], s->in[0],
                   vt_op_count(p, s->in[0]) / o, (double)s->f[0]));
    vt_op_groups(k, p, o);
done:
    return st;
}

/* in dout, w; i and f as above */
static vitcl_status grad_shape(vt_plan *p, vt_step *s)
{
    return vt_op_like(p, s, 0, s->in[1]);
}

static vitcl_status grad_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    int o = vt_dim(p, s->in[1], 0);

    VT_TRY(vt_op_kernel(&k, p, s, "weight_standardise",
                        "weight_standardise_grad"));
    VT_TRY(vt_args(p, k, "vvvif", s->out[0], s->in[0], s->in[1],
                   vt_op_count(p, s->in[1]) / o, (double)s->f[0]));
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
    g->in[0] = vt_grad(p, s->out[0]);
    g->in[1] = s->in[0];
    g->f[0] = s->f[0];
    vt_op_give(p, s->in[0], vt_step_add(p, g));
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
    s->in[0] = w;
    s->f[0] = eps;
    return vt_step_add(p, s);
}
