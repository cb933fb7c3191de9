/*
 * storage.c - how activations are stored: in f32, in the 16 bits in which the
 * plan multiplies, or as the integers that its products read.
 *
 * On devices of the GPU class halves are for inference, where an op waits for
 * memory more than for arithmetic; an int8 plan has them if the device's matrix
 * unit computes attention, which is in 16 bits then. On a CPU that multiplies
 * bf16 by dot products, what only products read is stored in bf16, as they need
 * it, so that it is rounded once, where it is written; there residuals stay in
 * f32. A training has the same bits with it, but its gradients of biases are
 * sums of rounded numbers. An int8 plan stores such values in bf16 for
 * attention, which multiplies in bf16.
 *
 * Integers are for a CPU's int8 products, which give each row a scale: an op
 * that has a whole row at once rounds it as they would (vt_product_int_rows()),
 * with the same bits. Each of them would round it again.
 *
 * A value is stored so if the op that writes it and all ops that read it
 * support this (vt_op.half_out, .half_in, .stays_f32; .cpu_stored). So no step
 * converts, and an op that supports only f32 makes its neighbours' values f32,
 * not wrong. A value that no step reads is a result of the plan and stays in
 * f32. That a value is kept or watched must not change the bits: it has no
 * influence on halves, and stays in f32 instead of integers.
 *
 * Scratch memory depends on how a product's input is stored, so it is added
 * last.
 */
#include "base/memory.h"
#include "plan/plan_private.h"

/* VT_F32: the plan has no halves. */
static vt_dtype half_of(const vt_plan *p)
{
    const vt_dtype t = vt_plan_type(p);

    if (vt_plan_class(p) == VT_CLASS_CPU)
        return t == VT_BF16 || t == VT_I8 ? VT_BF16 : VT_F32;
    if (t == VT_I8)
        return vt_product_attention(p->o.dev, vt_plan_gemm(p));
    return t == VT_F16 || t == VT_BF16 ? t : VT_F32;
}

static void stay(vt_value *const *value, const vt_val *v, int n, unsigned as,
                 bool *full)
{
    for (int i = 0; i < n; i++)
        if (v[i] != VT_NONE &&
            (!(as >> i & 1u) || value[v[i]]->last <= value[v[i]]->first))
            full[v[i]] = true;
}

static bool stored(vt_value *v, const vt_plan *p, vt_dtype t)
{
    const int c = v->dim[v->rank - 1];
    const size_t n = v->bytes / sizeof(float);
    vt_int_rows rows;

    if (t != VT_I8) {
        v->bytes = n * vt_dtype_size(t);
        return true;
    }
    if (v->keep || v->watched ||
        !vt_product_int_rows(&rows, p->o.dev, p->o.gemm, (int)n / c, c))
        return false;
    v->bytes = rows.bytes;
    return true;
}

static vitcl_status choose(vt_plan *p, vt_dtype t)
{
    vitcl_status st = VITCL_OK;
    bool *full = NULL;

    VT_TRY(VT_NEW(&full, p->values + 1));
    for (size_t i = 0; i < p->steps; i++) {
        const vt_step *s = p->step[i];
        unsigned in = 0, out = 0;

        if (vt_plan_class(p) == VT_CLASS_CPU) {
            if (s->op->cpu_stored)
                s->op->cpu_stored(p, s, t, &in, &out);
        } else if (!s->op->stays_f32 || !s->op->stays_f32(p, s, t)) {
            in = s->op->half_in, out = s->op->half_out;
        }
        stay(p->value, s->in, VT_INS, in, full);
        stay(p->value, s->out, VT_OUTS, out, full);
    }
    for (size_t i = 0; i < p->values; i++) {
        vt_value *v = p->value[i];

        if (v->kind == VT_RESULT && v->dtype == VT_F32 && v->first >= 0 &&
            !full[i] && stored(v, p, t))
            v->dtype = t;
    }
done:
    free(full);
    return st;
}

static vitcl_status add_scratch(vt_plan *p, size_t i)
{
    vt_step *s = p->step[i];
    const size_t bytes = s->op->temp_bytes && s->out[VT_TEMP] == VT_NONE
                             ? s->op->temp_bytes(p, s)
                             : 0;

    if (bytes == 0)
        return VITCL_OK;
    if (bytes / 4 >= INT32_MAX)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "a multiplication needs %.0f MB beside its data",
                       (double)bytes / 1e6);
    s->out[VT_TEMP] = vt_result(p, VT_F32, 1, (int[]){(int)((bytes + 3) / 4)});
    if (s->out[VT_TEMP] != VT_NONE)
        p->value[s->out[VT_TEMP]]->first = p->value[s->out[VT_TEMP]]->last =
            (int)i;
    return vt_plan_status(p);
}

vitcl_status vt_storage_choose(vt_plan *p)
{
    const bool cpu = vt_plan_class(p) == VT_CLASS_CPU;

    if (p->o.dev && ((!p->o.backward && !p->o.train) ||
                     (cpu && vt_plan_type(p) == VT_BF16))) {
        const vt_dtype half = half_of(p);

        if (half != VT_F32)
            VT_RET(choose(p, half));
        if (cpu && vt_plan_type(p) == VT_I8)
            VT_RET(choose(p, VT_I8));
    }
    for (size_t i = 0; i < p->steps; i++)
        VT_RET(vt_plan_in_step(p, i, add_scratch(p, i)));
    return VITCL_OK;
}
