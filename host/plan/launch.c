/*
 * launch.c - enqueue what steps launch; before that, read the weight of a step
 * whose plan runs once.
 */
#include "base/memory.h"
#include "plan/plan_private.h"

vitcl_status vt_plan_in_step(const vt_plan *p, size_t i, vitcl_status st)
{
    const vt_step *s = p->step[i];
    const vt_value *v = vt_value_of(p, s->out[0]);

    return st == VITCL_OK
               ? st
               : vt_fail_in(st, "step %zu %s%s%s", i, s->op->name,
                            v && v->name[0] ? " " : "", v ? v->name : "");
}

static vitcl_status fill_slot(vt_plan *p, const vt_step *s)
{
    void *rows;

    VT_RET(vt_slot_fill(&rows, p->slot[s->slot]));
    VT_RET(vt_store_read(rows, p->o.store, p->value[s->streamed]->name,
                         vt_elements(p, s->streamed)));
    return vt_slot_give(p->slot[s->slot]);
}

static vitcl_status launch(vt_plan *p, vt_step *s)
{
    if (s->streamed != VT_NONE)
        VT_RET(fill_slot(p, s));
    for (size_t i = 0; i < VT_COUNT(s->kernel) && s->kernel[i]; i++)
        VT_RET(vt_kernel_launch(p->queue, s->kernel[i]));
    if (s->gemm)
        VT_RET(vt_gemm_launch(p->queue, s->gemm));
    if (s->streamed != VT_NONE)
        VT_RET(vt_slot_back(p->slot[s->slot]));
    return VITCL_OK;
}

vitcl_status vt_plan_launch(vt_plan *p, size_t from, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        if (!p->step[i]->passed || i == from)
            VT_RET(vt_plan_in_step(p, i, launch(p, p->step[i])));
        p->step[i]->launched = vt_queue_launched(p->queue);
    }
    return VITCL_OK;
}
