/*
 * grad.c - walk the steps backward and let each op append its gradient.
 *
 * Reverse-mode differentiation of a list: all consumers of a value come after
 * it, so its gradient is complete when the walk reaches the step that wrote it.
 * A value that a gradient step reads lives until that step: the arena takes
 * lifetimes from the steps.
 */
#include "base/memory.h"
#include "plan/plan_private.h"

#include <fnmatch.h>
#include <stdio.h>

static bool matches(const char *const *patterns, const vt_value *v)
{
    for (; patterns && *patterns; patterns++)
        if (fnmatch(*patterns, v->name, 0) == 0)
            return true;
    return false;
}

static bool frozen(const vt_plan *p, const vt_value *v)
{
    return matches(p->o.freeze, v) || (p->o.only && !matches(p->o.only, v));
}

static void mark(vt_plan *p)
{
    for (size_t i = 0; i < p->values; i++)
        p->value[i]->wants_grad =
            p->value[i]->kind == VT_PARAM && !frozen(p, p->value[i]);
    for (size_t i = 0; i < p->steps; i++) {
        const vt_step *s = p->step[i];
        bool any = false;

        for (int k = 0; k < VT_INS; k++)
            any |= s->in[k] != VT_NONE && p->value[s->in[k]]->wants_grad;
        for (int k = 0; k < VT_OUTS; k++)
            if (s->out[k] != VT_NONE)
                p->value[s->out[k]]->wants_grad = any;
    }
}

void vt_plan_backward(vt_plan *p, vt_val loss,
                      vt_val (*add)(vt_plan *p, vt_val a, vt_val b))
{
    int last;

    if (p->status != VITCL_OK || loss == VT_NONE)
        return;
    mark(p);
    p->add = add;
    last = p->loss_step = p->value[loss]->first;
    for (int i = last; i >= 0 && p->status == VITCL_OK; i--) {
        const vt_step *s = p->step[i];
        bool reached = i == last, wanted = false;

        for (int k = 0; k < VT_OUTS; k++) {
            if (s->out[k] == VT_NONE)
                continue;
            reached |= p->value[s->out[k]]->grad != VT_NONE;
            wanted |= p->value[s->out[k]]->wants_grad;
        }
        if (!reached || !wanted)
            continue;
        if (!s->op->grad)
            vt_plan_fail(p, vt_fail(VITCL_EUNSUPPORTED,
                                    "step %d: %s cannot be trained through", i,
                                    s->op->name));
        else
            s->op->grad(p, s);
    }
}

void vt_plan_backward_from(vt_plan *p, vt_val v, vt_val gradient,
                           vt_val (*add)(vt_plan *p, vt_val a, vt_val b))
{
    if (p->status != VITCL_OK || v == VT_NONE)
        return;
    p->value[v]->grad = gradient;
    vt_plan_backward(p, v, add);
}

vt_val vt_grad(const vt_plan *p, vt_val v)
{
    return v == VT_NONE ? VT_NONE : p->value[v]->grad;
}

bool vt_grad_wanted(const vt_plan *p, vt_val v)
{
    return v != VT_NONE && p->value[v]->wants_grad;
}

void vt_grad_give(vt_plan *p, vt_val v, vt_val g)
{
    vt_val sum = g;

    if (v == VT_NONE || g == VT_NONE || !p->value[v]->wants_grad)
        return;
    if (p->value[v]->grad != VT_NONE)
        sum = p->add(p, p->value[v]->grad, g);
    if (sum != VT_NONE)
        p->value[v]->grad = sum;
}

vt_val vt_grad_param(vt_plan *p, vt_val v)
{
    char name[VT_NAME + 16];
    vt_val g;

    if (!vt_grad_wanted(p, v) || p->status != VITCL_OK)
        return VT_NONE;
    if (p->value[v]->grad != VT_NONE)
        return p->value[v]->grad;
    snprintf(name, sizeof name, "grad.%s", p->value[v]->name);
    g = vt_state(p, name, VT_F32, p->value[v]->rank, p->value[v]->dim);
    if (g != VT_NONE)
        p->value[v]->grad = g;
    return g;
}
