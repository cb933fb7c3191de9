/*
 * pickle_values.c - the values of a pickle, the items of its containers, and
 * the stack.
 */
#include "weights/pickle.h"

#include "base/memory.h"

#define VALUES_MAX (1 << 22)
#define STACK_MAX (1 << 21)

vitcl_status vt_pickle_refuse(const vt_pickle *p, const char *why)
{
    return vt_fail(VITCL_ECORRUPT, "%s: pickle, byte %zu: %s", p->file, p->at,
                   why);
}

vitcl_status vt_pickle_value(vt_pickle *p, vt_pk_kind kind, vt_pk_ref *out)
{
    if (p->value_count == VALUES_MAX)
        return vt_pickle_refuse(p, "too many values");
    VT_RET(vt_grow(&p->values, &p->value_cap, p->value_count + 1,
                   sizeof *p->values));
    p->values[p->value_count] = (vt_pk_value){.kind = kind};
    *out = (vt_pk_ref)p->value_count++;
    return VITCL_OK;
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
    vt_pk_value *v = &p->values[to];
    uint32_t i;

    if (p->item_count == VALUES_MAX)
        return vt_pickle_refuse(p, "too many items");
    VT_RET(
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
    return VITCL_OK;
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

vitcl_status vt_pickle_push(vt_pickle *p, vt_pk_ref v)
{
    if (p->stack_count == STACK_MAX)
        return vt_pickle_refuse(p, "stack too deep");
    VT_RET(vt_grow(&p->stack, &p->stack_cap, p->stack_count + 1,
                   sizeof *p->stack));
    p->stack[p->stack_count++] = v;
    return VITCL_OK;
}

vitcl_status vt_pickle_push_new(vt_pickle *p, vt_pk_kind kind,
                                vt_pk_value **out)
{
    vt_pk_ref v;

    VT_RET(vt_pickle_value(p, kind, &v));
    *out = &p->values[v];
    return vt_pickle_push(p, v);
}

bool vt_pickle_has(const vt_pickle *p, size_t n)
{
    size_t floor = p->mark_count ? p->marks[p->mark_count - 1] : 0;

    return p->stack_count - floor >= n;
}

vitcl_status vt_pickle_need(const vt_pickle *p, size_t n)
{
    return vt_pickle_has(p, n) ? VITCL_OK
                               : vt_pickle_refuse(p, "stack underflow");
}

vt_pk_ref vt_pickle_pop(vt_pickle *p)
{
    return p->stack[--p->stack_count];
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
