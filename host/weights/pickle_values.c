/*
 * pickle_values.c - the values of a pickle, and the items of its containers.
 */
#include "weights/pickle.h"

#include "base/memory.h"

#define VALUES_MAX (1 << 22)

vitcl_status vt_pickle_refuse(const vt_pickle *p, const char *why)
{
    return vt_fail(VITCL_ECORRUPT, "%s: pickle, byte %zu: %s", p->file, p->at,
                   why);
}

vitcl_status vt_pickle_value(vt_pickle *p, vt_pk_kind kind, vt_pk_ref *out)
{
    vitcl_status st;

    if (p->value_count == VALUES_MAX)
        return vt_pickle_refuse(p, "too many values");
    VT_TRY(vt_grow(&p->values, &p->value_cap, p->value_count + 1,
                   sizeof *p->values));
    p->values[p->value_count] = (vt_pk_value){.kind = kind};
    *out = (vt_pk_ref)p->value_count++;
done:
    return st;
}

/* Counted when a value is added, not when it is asked for: a tuple may be asked
 * often. */
static bool has_tensor(const vt_pk_value *v)
{
    return v->kind == VT_PK_STORAGE || v->kind == VT_PK_TENSOR ||
           ((v->kind == VT_PK_FOREIGN || v->kind == VT_PK_TUPLE) && v->number);
}

vitcl_status vt_pickle_append(vt_pickle *p, vt_pk_ref to, vt_pk_ref key,
                              vt_pk_ref value)
{
    vitcl_status st;
    vt_pk_value *v = &p->values[to];
    uint32_t i;

    if (p->item_count == VALUES_MAX)
        return vt_pickle_refuse(p, "too many items");
    VT_TRY(
        vt_grow(&p->items, &p->item_cap, p->item_count + 2, sizeof *p->items));
    i = (uint32_t)++p->item_count;
    p->items[i] = (vt_pk_item){key, value, 0};
    if (v->count++)
        p->items[v->last].next = i;
    else
        v->first = i;
    v->last = i;
    if (v->kind == VT_PK_TUPLE && has_tensor(&p->values[value]))
        v->number = 1;
done:
    return st;
}

const vt_pk_value *vt_pickle_item(const vt_pickle *p, const vt_pk_value *of,
                                  uint32_t index, vt_pk_ref *ref)
{
    uint32_t i = of->first;

    while (index-- > 0)
        i = p->items[i].next;
    if (ref)
        *ref = p->items[i].value;
    return &p->values[p->items[i].value];
}

void vt_pickle_clear(vt_pickle *p)
{
    free(p->values);
    free(p->items);
    free(p->tensors);
    free(p->foreign);
    free(p->stack);
    free(p->memo);
    free(p->marks);
}
