/*
 * slab.c - values that lie in one buffer, so that one launch covers all.
 *
 * A training has its parameters in slabs, and their gradients and the
 * optimiser's tensors in others with the same places. Each value begins where
 * the device allows a view, so that all other kernels still get a buffer of its
 * own. What lies between is zero at first, and nothing reads it.
 */
#include "base/memory.h"
#include "plan/plan_private.h"

#include <stdio.h>

/* A state of n bytes, itself its slab. */
static vt_val new_slab(vt_plan *p, size_t bytes)
{
    const vt_val s =
        vt_state(p, "", VT_F32, 1, (int[]){(int)(bytes / sizeof(float))});

    if (s != VT_NONE)
        p->value[s]->slab = s;
    return s;
}

size_t vt_slab(vt_val *out, vt_plan *p, const vt_val *v, size_t n)
{
    const size_t most =
        VT_MIN(vt_arena_limit(p), (size_t)INT32_MAX * sizeof(float));
    size_t bytes = 0, taken = 0;

    *out = VT_NONE;
    for (; taken < n && v[taken] != VT_NONE; taken++) {
        vt_value *x = p->value[v[taken]];
        const size_t at = vt_arena_next(p, bytes);

        if (taken && (at > most || x->bytes > most - at))
            break;
        x->offset = at;
        bytes = at + x->bytes;
    }
    if (taken)
        *out = new_slab(p, bytes);
    for (size_t i = 0; i < taken && *out != VT_NONE; i++)
        p->value[v[i]]->slab = *out;
    return *out == VT_NONE ? n : taken;
}

vt_val vt_state_like(vt_plan *p, vt_val v, const char *prefix)
{
    char name[VT_NAME + 16];
    const size_t values = p->values;
    const vt_value *x = vt_value_of(p, v);
    vt_val like;

    if (!x)
        return VT_NONE;
    if (x->slab != v) {
        snprintf(name, sizeof name, "%s.%s", prefix, x->name);
        return vt_state(p, name, x->dtype, x->rank, x->dim);
    }
    like = new_slab(p, x->bytes);
    for (size_t i = 0; i < values && like != VT_NONE; i++) {
        vt_val part;

        if (p->value[i]->slab != v || (vt_val)i == v)
            continue;
        part = vt_state_like(p, (vt_val)i, prefix);
        if (part == VT_NONE)
            return VT_NONE;
        p->value[part]->slab = like;
        p->value[part]->offset = p->value[i]->offset;
    }
    return like;
}

static vitcl_status read_param(vt_plan *p, vt_val v)
{
    vitcl_status st = VITCL_OK;
    const vt_value *x = p->value[v];
    float *rows = NULL;

    if (!p->o.store)
        return vt_fail(VITCL_EINVAL, "%s: the plan has no store", x->name);
    VT_TRY(vt_new(&rows, vt_elements(p, v), sizeof *rows));
    VT_TRY(vt_store_read(rows, p->o.store, x->name, vt_elements(p, v)));
    VT_TRY(vt_buf_write(p->queue, x->buf, 0, rows, x->bytes));
done:
    free(rows);
    return st;
}

vitcl_status vt_slabs_claim(vt_plan *p)
{
    for (size_t i = 0; i < p->values; i++) {
        vt_value *v = p->value[i];

        if (v->slab == VT_NONE || v->slab == (vt_val)i)
            continue;
        VT_RET(
            vt_buf_view(&v->buf, p->value[v->slab]->buf, v->offset, v->bytes));
        if (v->kind == VT_PARAM)
            VT_RET(read_param(p, (vt_val)i));
    }
    return VITCL_OK;
}
