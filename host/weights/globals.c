/*
 * globals.c - the Python objects that a state dict names, and the opcodes that
 * name, call and fill them. A pickle can reach nothing outside globals[]: other
 * objects are only remembered by their names, and whatever is done with them
 * does nothing.
 */
#include "base/memory.h"
#include "weights/pickle.h"

#include <string.h>

typedef enum {
    DICT,    /* collections.OrderedDict() */
    TENSOR,  /* (storage, offset, size, stride, ...) */
    FIRST,   /* returns its first argument */
    STORAGE, /* never called, only named in a persistent id */
    SCRIPT   /* __torch__...: a module of TorchScript */
} role;

static const struct {
    const char *module, *name;
    role role;
    vt_element element;
} globals[] = {
    {"collections", "OrderedDict", DICT, {NULL, 0, VT_FILE_OTHER}},
    {"torch._utils", "_rebuild_tensor_v2", TENSOR, {NULL, 0, VT_FILE_OTHER}},
    {"torch._utils", "_rebuild_tensor", TENSOR, {NULL, 0, VT_FILE_OTHER}},
    {"torch._utils", "_rebuild_parameter", FIRST, {NULL, 0, VT_FILE_OTHER}},
    {"torch", "Size", FIRST, {NULL, 0, VT_FILE_OTHER}},
    {"torch.jit._pickle", "build_intlist", FIRST, {NULL, 0, VT_FILE_OTHER}},
    {"torch.jit._pickle", "build_doublelist", FIRST, {NULL, 0, VT_FILE_OTHER}},
    {"torch.jit._pickle", "build_boollist", FIRST, {NULL, 0, VT_FILE_OTHER}},
    {"torch.jit._pickle", "build_tensorlist", FIRST, {NULL, 0, VT_FILE_OTHER}},
    {"torch", "FloatStorage", STORAGE, {"float32", 4, VT_FILE_F32}},
    {"torch", "HalfStorage", STORAGE, {"float16", 2, VT_FILE_F16}},
    {"torch", "BFloat16Storage", STORAGE, {"bfloat16", 2, VT_FILE_BF16}},
    {"torch", "DoubleStorage", STORAGE, {"float64", 8, VT_FILE_F64}},
    {"torch", "LongStorage", STORAGE, {"int64", 8, VT_FILE_I64}},
    {"torch", "IntStorage", STORAGE, {"int32", 4, VT_FILE_I32}},
    {"torch", "ShortStorage", STORAGE, {"int16", 2, VT_FILE_OTHER}},
    {"torch", "CharStorage", STORAGE, {"int8", 1, VT_FILE_OTHER}},
    {"torch", "ByteStorage", STORAGE, {"uint8", 1, VT_FILE_U8}},
    {"torch", "BoolStorage", STORAGE, {"bool", 1, VT_FILE_OTHER}},
    {"__torch__", NULL, SCRIPT, {NULL, 0, VT_FILE_OTHER}},
};

static bool same(const char *a, size_t n, const char *b)
{
    return strlen(b) == n && memcmp(a, b, n) == 0;
}

/* ---- naming ---- */

static vitcl_status name_global(vt_pickle *p, const char *module, size_t m,
                                const char *name, size_t n)
{
    vt_pk_value *v;
    bool script = m >= 9 && memcmp(module, "__torch__", 9) == 0 &&
                  (m == 9 || module[9] == '.');

    for (uint32_t i = 0; i < VT_COUNT(globals); i++) {
        if (globals[i].name ? !same(module, m, globals[i].module) ||
                                  !same(name, n, globals[i].name)
                            : !script)
            continue;
        VT_RET(vt_pickle_push_new(p, VT_PK_GLOBAL, &v));
        v->other = i;
        return VITCL_OK;
    }
    VT_RET(vt_grow(&p->foreign, &p->foreign_cap, p->foreign_count + 1,
                   sizeof *p->foreign));
    VT_RET(vt_pickle_push_new(p, VT_PK_FOREIGN, &v));
    p->foreign[p->foreign_count] = (vt_pk_foreign){module, name, m, n};
    v->other = (uint32_t)p->foreign_count++;
    return VITCL_OK;
}

/* The operand is two lines. */
vitcl_status vt_pickle_global(vt_pickle *p)
{
    const char *start[2];
    size_t length[2];

    for (int i = 0; i < 2; i++) {
        const uint8_t *from = p->bytes + p->at;
        const uint8_t *end = memchr(from, '\n', p->size - p->at);

        if (!end)
            return vt_pickle_refuse(p, "unexpected end");
        start[i] = (const char *)from;
        length[i] = (size_t)(end - from);
        p->at += length[i] + 1;
    }
    return name_global(p, start[0], length[0], start[1], length[1]);
}

vitcl_status vt_pickle_stack_global(vt_pickle *p)
{
    const vt_pk_value *name, *module;

    VT_RET(vt_pickle_need(p, 2));
    name = &p->values[vt_pickle_pop(p)];
    module = &p->values[vt_pickle_pop(p)];
    if (name->kind != VT_PK_STRING || module->kind != VT_PK_STRING)
        return vt_pickle_refuse(p, "a global whose name is not a string");
    return name_global(p, module->text, module->length, name->text,
                       name->length);
}

vitcl_status vt_pickle_refuse_foreign(const vt_pickle *p, uint32_t foreign)
{
    const vt_pk_foreign *f = &p->foreign[foreign];

    return vt_fail(VITCL_EUNSUPPORTED,
                   "%s: pickle: %.*s.%.*s is not allowed in a state dict: save "
                   "the state dict alone",
                   p->file, (int)VT_MIN(f->module_length, 80), f->module,
                   (int)VT_MIN(f->name_length, 80), f->name);
}

const vt_element *vt_pickle_element(const vt_pk_value *storage)
{
    return &globals[storage->other].element;
}

/* ---- calling ---- */

/* What a foreign object makes. */
static vitcl_status make_foreign(vt_pickle *p, uint32_t foreign, bool tensor)
{
    vt_pk_value *v;
    const vitcl_status st = vt_pickle_push_new(p, VT_PK_FOREIGN, &v);

    if (st == VITCL_OK)
        v->other = foreign, v->number = tensor;
    return st;
}

static vitcl_status bad_tensor(const vt_pickle *p)
{
    return vt_pickle_refuse(p, "a tensor whose storage, offset, size or stride "
                               "is invalid");
}

/* The ints of a tuple; false: it has other values or too many. */
static bool read_sizes(const vt_pickle *p, const vt_pk_value *tuple,
                       uint64_t out[VT_RANK_MAX])
{
    uint32_t n = 0;

    if ((tuple->kind != VT_PK_TUPLE && tuple->kind != VT_PK_LIST) ||
        tuple->count > VT_RANK_MAX)
        return false;
    for (uint32_t i = tuple->first; n < tuple->count; i = p->items[i].next) {
        const vt_pk_value *v = &p->values[p->items[i].value];
        if (v->kind != VT_PK_INT || v->number < 0)
            return false;
        out[n++] = (uint64_t)v->number;
    }
    return true;
}

static vitcl_status rebuild(vt_pickle *p, const vt_pk_value *a)
{
    const vt_pk_value *storage, *offset, *size, *stride;
    vt_pk_value *v;
    vt_pk_tensor t = {0};

    if (a->count < 4)
        return bad_tensor(p);
    storage = vt_pickle_item(p, a, 0, &t.storage);
    offset = vt_pickle_item(p, a, 1, NULL);
    size = vt_pickle_item(p, a, 2, NULL);
    stride = vt_pickle_item(p, a, 3, NULL);
    if (storage->kind == VT_PK_FOREIGN)
        return make_foreign(p, storage->other, true);
    if (storage->kind != VT_PK_STORAGE || offset->kind != VT_PK_INT ||
        offset->number < 0 || size->count != stride->count ||
        !read_sizes(p, size, t.shape) || !read_sizes(p, stride, t.stride))
        return bad_tensor(p);
    t.rank = size->count;
    t.offset = (uint64_t)offset->number;
    VT_RET(vt_grow(&p->tensors, &p->tensor_cap, p->tensor_count + 1,
                   sizeof *p->tensors));
    VT_RET(vt_pickle_push_new(p, VT_PK_TENSOR, &v));
    v->other = (uint32_t)p->tensor_count;
    p->tensors[p->tensor_count++] = t;
    return VITCL_OK;
}

vitcl_status vt_pickle_reduce(vt_pickle *p)
{
    const vt_pk_value *f, *a;
    vt_pk_value *v;
    vt_pk_ref first;

    VT_RET(vt_pickle_need(p, 2));
    a = &p->values[vt_pickle_pop(p)];
    f = &p->values[vt_pickle_pop(p)];
    if (f->kind == VT_PK_FOREIGN && a->kind == VT_PK_TUPLE)
        return make_foreign(p, f->other, f->number || a->number);
    if (f->kind != VT_PK_GLOBAL || a->kind != VT_PK_TUPLE)
        return vt_pickle_refuse(p, "calls a value that is not a function");
    switch (globals[f->other].role) {
    case DICT:
        if (a->count == 0)
            return vt_pickle_push_new(p, VT_PK_DICT, &v);
        break;
    case TENSOR:
        return rebuild(p, a);
    case FIRST:
        if (a->count > 0) {
            vt_pickle_item(p, a, 0, &first);
            return vt_pickle_push(p, first);
        }
        break;
    case STORAGE:
    case SCRIPT:
        break;
    }
    return vt_fail(VITCL_ECORRUPT,
                   "%s: pickle, byte %zu: calls %s with invalid arguments",
                   p->file, p->at,
                   globals[f->other].name ? globals[f->other].name
                                          : "a TorchScript class");
}

/* ('storage', type, key, location, elements) */
vitcl_status vt_pickle_persist(vt_pickle *p)
{
    vitcl_status st;
    const vt_pk_value *a, *tag, *type, *key, *n;
    vt_pk_value made = {.kind = VT_PK_STORAGE}, *v;

    VT_TRY(vt_pickle_need(p, 1));
    a = &p->values[vt_pickle_pop(p)];
    if (a->kind != VT_PK_TUPLE || a->count != 5)
        goto invalid;
    tag = vt_pickle_item(p, a, 0, NULL);
    type = vt_pickle_item(p, a, 1, NULL);
    key = vt_pickle_item(p, a, 2, NULL);
    n = vt_pickle_item(p, a, 4, NULL);
    if (type->kind == VT_PK_FOREIGN) /* a storage of unknown elements */
        return make_foreign(p, type->other, true);
    if (tag->kind != VT_PK_STRING || !same(tag->text, tag->length, "storage") ||
        type->kind != VT_PK_GLOBAL || globals[type->other].role != STORAGE ||
        key->kind != VT_PK_STRING || n->kind != VT_PK_INT || n->number < 0)
        goto invalid;
    made.text = key->text;
    made.length = key->length;
    made.number = n->number;
    made.other = type->other;
    VT_TRY(vt_pickle_push_new(p, VT_PK_STORAGE, &v));
    *v = made;
done:
    return st;
invalid:
    return vt_pickle_refuse(p, "a persistent id that is not a storage");
}

/* ---- objects of TorchScript ---- */

vitcl_status vt_pickle_new_object(vt_pickle *p)
{
    const vt_pk_value *class;
    vt_pk_value *v;
    vt_pk_ref at;

    VT_RET(vt_pickle_need(p, 2));
    vt_pickle_pop(p);
    at = vt_pickle_pop(p);
    class = &p->values[at];
    if (class->kind == VT_PK_FOREIGN)
        return vt_pickle_push(p, at);
    if (class->kind != VT_PK_GLOBAL || globals[class->other].role != SCRIPT)
        return vt_pickle_refuse(
            p, "creates an object that is not a TorchScript module");
    return vt_pickle_push_new(p, VT_PK_OBJECT, &v);
}

/* A module's attributes are its state. The state of an OrderedDict (its
 * _metadata) is ignored. */
vitcl_status vt_pickle_build(vt_pickle *p)
{
    const vt_pk_value *state;
    vt_pk_value *v;

    VT_RET(vt_pickle_need(p, 2));
    state = &p->values[vt_pickle_pop(p)];
    v = &p->values[p->stack[p->stack_count - 1]];
    if (v->kind == VT_PK_DICT || v->kind == VT_PK_FOREIGN)
        return VITCL_OK;
    if (v->kind != VT_PK_OBJECT || state->kind != VT_PK_DICT || v->count)
        return vt_pickle_refuse(p, "sets the state of a value that has none");
    v->first = state->first;
    v->last = state->last;
    v->count = state->count;
    return VITCL_OK;
}
