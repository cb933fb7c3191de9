/*
 * storage.c - how activations are stored: in f32, or in the 16 bits in which
 * the plan multiplies.
 *
 * Halves are for inference. On devices of the GPU class an op waits for memory
 * more than for arithmetic. On a CPU that multiplies bf16 by dot products, what
 * only products read is stored in bf16, as they need it, so that it is rounded
 * once, where it is written; there residuals stay in f32. An int8 plan stores
 * such values in bf16 for attention, which multiplies in bf16.
 *
 * A value is stored in 16 bits if the op that writes it and all ops that read
 * it support this (vt_op.half_out, .half_in; .cpu_halves). So no step converts,
 * and an op that supports only f32 makes its neighbours' values f32, not wrong.
 * A value that no step reads is a result of the plan and stays in f32. What is
 * kept or watched has no influence, so that it does not change the bits.
 */
#include "base/memory.h"
#include "plan/plan_private.h"

/* VT_F32: the plan has no halves. */
static vt_dtype half_of(const vt_plan *p)
{
    const vt_dtype t = vt_plan_type(p);

    if (!p->o.dev || p->o.backward || p->o.train)
        return VT_F32;
    if (vt_plan_class(p) == VT_CLASS_CPU)
        return t == VT_BF16 || t == VT_I8 ? VT_BF16 : VT_F32;
    return t == VT_F16 || t == VT_BF16 ? t : VT_F32;
}

static void stay(vt_value *const *value, const vt_val *v, int n, unsigned half,
                 bool *full)
{
    for (int i = 0; i < n; i++)
        if (v[i] != VT_NONE &&
            (!(half >> i & 1u) || value[v[i]]->last <= value[v[i]]->first))
            full[v[i]] = true;
}

vitcl_status vt_storage_choose(vt_plan *p)
{
    const vt_dtype half = half_of(p);
    vitcl_status st = VITCL_OK;
    bool *full = NULL;

    if (half == VT_F32)
        return VITCL_OK;
    VT_TRY(VT_NEW(&full, p->values + 1));
    for (size_t i = 0; i < p->steps; i++) {
        const vt_step *s = p->step[i];
        unsigned in = 0, out = 0;

        if (vt_plan_class(p) == VT_CLASS_GPU)
            in = s->op->half_in, out = s->op->half_out;
        else if (s->op->cpu_halves)
            s->op->cpu_halves(p, s, &in, &out);
        stay(p->value, s->in, VT_INS, in, full);
        stay(p->value, s->out, VT_OUTS, out, full);
    }
    for (size_t i = 0; i < p->values; i++) {
        vt_value *v = p->value[i];

        if (v->kind != VT_RESULT || v->dtype != VT_F32 || v->first < 0 ||
            full[i])
            continue;
        v->dtype = half;
        v->bytes = v->bytes / vt_dtype_size(VT_F32) * vt_dtype_size(v->dtype);
    }
done:
    free(full);
    return st;
}
