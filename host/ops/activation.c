/*
 * activation.c - activations as a step of their own.
 *
 * In a plan with a backward pass the step also writes act'(x): this shares most
 * of its work with the activation, and the backward pass keeps it instead of x.
 * The gradient is multiplied by it: with vt_activated() the product that
 * computes the gradient does so in its epilogue.
 */
#include "ops/common.h"

#include <stdio.h>

enum { IN_X, INS };
enum { OUT_Y, OUT_DERIVATIVE };
enum { I_KIND, INTS }; /* a vt_act */

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    VT_RET(vt_op_like(p, s, OUT_Y, s->in[IN_X]));
    if (vt_plan_settings(p)->backward)
        VT_RET(vt_op_like(p, s, OUT_DERIVATIVE, s->in[IN_X]));
    return VITCL_OK;
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vt_kernel *k;
    int n = vt_op_count(p, s->in[IN_X]);
    char defines[48];

    snprintf(defines, sizeof defines, " -DACT=%d%s", s->i[I_KIND],
             s->out[OUT_DERIVATIVE] == VT_NONE ? "" : " -DDERIVATIVE");
    VT_RET(vt_op_kernel_with(&k, p, s, "activation", "activation", defines));
    VT_RET(vt_args(p, k, "vvvi", s->out[OUT_Y], s->out[OUT_DERIVATIVE],
                   s->in[IN_X], n));
    vt_op_blocks(k, p, n, 1);
    return VITCL_OK;
}

static void grad(vt_plan *p, const vt_step *s)
{
    if (vt_grad_wanted(p, s->in[IN_X]))
        vt_op_give(
            p, s->in[IN_X],
            vt_multiply(p, vt_grad(p, s->out[OUT_Y]), s->out[OUT_DERIVATIVE]));
}

static void cpu_stored(const vt_plan *p, const vt_step *s, vt_dtype t,
                       unsigned *in, unsigned *out)
{
    (void)s, (void)in;
    if (t == VT_BF16 && vt_plan_type(p) == t)
        *out = 1u << OUT_Y;
}

const vt_op vt_op_activation = {.name = "activation",
                                .shape = shape,
                                .prepare = prepare,
                                .grad = grad,
                                .cpu_stored = cpu_stored};

vt_val vt_activation(vt_plan *p, vt_val x, vt_act act)
{
    return vt_op_append(p, &vt_op_activation, INS, (vt_val[]){[IN_X] = x}, INTS,
                        (int[]){[I_KIND] = (int)act});
}

vt_val vt_activated(const vt_plan *p, vt_val y, vt_val *derivative)
{
    const vt_value *v = vt_value_of(p, y);
    const vt_step *from = v->first < 0 ? NULL : vt_plan_step(p, v->first);

    *derivative = VT_NONE;
    if (!from || from->op != &vt_op_activation)
        return y;
    *derivative = from->out[OUT_DERIVATIVE];
    return from->in[IN_X];
}
