/*
 * activation.c - activations as a step of their own (in x; out act(x) and,
 * where a backward follows, act's slope at x; i kind of vt_act).
 *
 * The slope is made on the way forward, where it shares most of its work with
 * the activation, and waits for the backward in place of x. It is a factor of
 * the gradient: vt_activated() lets the product before it take it along.
 */
#include "ops/common.h"

#include <stdio.h>

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;

    VT_TRY(vt_op_like(p, s, 0, s->in[0]));
    if (vt_plan_settings(p)->backward)
        VT_TRY(vt_op_like(p, s, 1, s->in[0]));
done:
    return st;
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    int n = vt_op_count(p, s->in[0]);
    char defines[48];

    snprintf(defines, sizeof defines, " -DKIND=%d%s", s->i[0],
             s->out[1] == VT_NONE ? "" : " -DDERIVATIVE");
    VT_TRY(vt_op_kernel_with(&k, p, s, "activation", "activation", defines));
    VT_TRY(vt_args(p, k, "vvvi", s->out[0], s->out[1], s->in[0], n));
    vt_op_blocks(k, p, n, 1);
done:
    return st;
}

static void grad(vt_plan *p, const vt_step *s)
{
    if (vt_grad_wanted(p, s->in[0]))
        vt_op_give(p, s->in[0],
                   vt_multiply(p, vt_grad(p, s->out[0]), s->out[1]));
}

const vt_op vt_op_activation = {
    .name = "activation", .shape = shape, .prepare = prepare, .grad = grad};

vt_val vt_activation(vt_plan *p, vt_val x, vt_act act)
{
    return vt_op_append(p, &vt_op_activation, 1, &x, 1, (int[]){(int)act});
}

vt_val vt_activated(const vt_plan *p, vt_val y, vt_val *slope)
{
    const vt_value *v = vt_value_of(p, y);
    const vt_step *from = v->first < 0 ? NULL : vt_plan_step(p, v->first);

    *slope = VT_NONE;
    if (!from || from->op != &vt_op_activation)
        return y;
    *slope = from->out[1];
    return from->in[0];
}
