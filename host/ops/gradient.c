/*
 * gradient.c - give gradients to the inputs of an op: to a value, or added to
 * the state that holds the gradient of a parameter (kernels of cl/add.cl).
 */
#include "ops/common.h"

#include <string.h>

/* add_to, which accumulates in a state */
enum { TO_SUM, TO_X, TO_INS };

static vitcl_status to_shape(vt_plan *p, vt_step *s)
{
    int sum = vt_op_count(p, s->in[TO_SUM]), x = vt_op_count(p, s->in[TO_X]);

    return vt_op_need(sum > 0 && x > 0 && x % sum == 0,
                      "a gradient does not fit its parameter");
}

static vitcl_status to_prepare(vt_plan *p, vt_step *s)
{
    vt_kernel *k;
    int n = vt_op_count(p, s->in[TO_SUM]),
        rows = vt_op_count(p, s->in[TO_X]) / n;

    if (rows == 1) {
        VT_RET(vt_op_kernel(&k, p, s, "add", "add_to"));
        VT_RET(vt_args(p, k, "vvi", s->in[TO_SUM], s->in[TO_X], n));
        vt_op_blocks(k, p, n, 1);
    } else {
        VT_RET(vt_op_columns(&k, p, s, "add", "add_rows_grad", n));
        VT_RET(vt_args(p, k, "vvii", s->in[TO_SUM], s->in[TO_X], rows, n));
    }
    return VITCL_OK;
}

/* No grad: only steps of a backward pass. */
static const vt_op add_to = {
    .name = "add_to", .shape = to_shape, .prepare = to_prepare};

void vt_add_to(vt_plan *p, vt_val g, vt_val x)
{
    if (g != VT_NONE && x != VT_NONE)
        vt_op_append(p, &add_to, TO_INS, (vt_val[]){[TO_SUM] = g, [TO_X] = x},
                     0, NULL);
}

vt_step *vt_op_grad_step(vt_plan *p, const vt_op *op, const vt_step *s)
{
    vt_step *g = vt_step_new(p, op);

    if (!g)
        return NULL;
    for (int k = 0; k < VT_SAVED; k++)
        if (op->adds >> k & 1u)
            g->in[k] = vt_grad_param(p, s->in[k]);
        else if (op->reads >> k & 1u)
            g->in[k] = s->in[k];
    if (op->reads >> VT_SAVED & 1u)
        g->in[VT_SAVED] = s->out[1];
    if (op->reads >> VT_Y & 1u)
        g->in[VT_Y] = s->out[0];
    g->in[VT_DY] = vt_grad(p, s->out[0]);
    memcpy(g->i, s->i, sizeof g->i);
    memcpy(g->f, s->f, sizeof g->f);
    return g;
}

static bool wanted(vt_plan *p, const vt_op *op, const vt_step *s)
{
    bool any = false;

    for (int k = 0; k < VT_SAVED; k++)
        if (op->adds >> k & 1u)
            any |= vt_grad_param(p, s->in[k]) != VT_NONE;
    return op->adds ? any : vt_grad_wanted(p, s->in[0]);
}

void vt_op_grad(vt_plan *p, const vt_step *s)
{
    for (size_t i = 0; i < VT_COUNT(s->op->grads) && s->op->grads[i]; i++) {
        const vt_op *op = s->op->grads[i];
        vt_step *g = wanted(p, op, s) ? vt_op_grad_step(p, op, s) : NULL;

        if (!g)
            continue;
        if (!op->adds)
            vt_op_like(p, g, VT_DX, s->in[0]);
        vt_op_give(p, s->in[0], vt_step_add(p, g));
    }
}

void vt_op_grad_w(vt_plan *p, const vt_op *op, vt_val g, vt_val x, vt_val w,
                  int ints, const int *i)
{
    vt_val sum = VT_NONE, dw;
    bool param;

    if (!vt_grad_wanted(p, w))
        return;
    param = vt_value_of(p, w)->kind == VT_PARAM;
    if (param)
        sum = vt_grad_param(p, w);
    dw = vt_op_append(
        p, op, VT_DW_INS,
        (vt_val[]){
            [VT_DW_DY] = g, [VT_DW_X] = x, [VT_DW_W] = w, [VT_DW_SUM] = sum},
        ints, i);
    if (!param)
        vt_grad_give(p, w, dw);
}

void vt_op_give(vt_plan *p, vt_val v, vt_val g)
{
    if (!vt_grad_wanted(p, v) || g == VT_NONE)
        return;
    if (vt_value_of(p, v)->kind == VT_PARAM)
        vt_add_to(p, vt_grad_param(p, v), g);
    else
        vt_grad_give(p, v, g);
}
