/*
 * globals.c - the Python objects that a state dict names, and how they are
 * handled. A pickle can reach nothing outside globals[]: other objects are only
 * remembered by their names, and whatever is done with them does nothing.
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

vitcl_status vt_pickle_global(vt_pickle *p, const char *module, size_t m,
                              const char *name, size_t n, vt_pk_ref *out)
{
    vitcl_status st = VITCL_OK;
    bool script = m >= 9 && memcmp(module, "__torch__", 9) == 0 &&
                  (m == 9 || module[9] == '.');

    for (uint32_t i = 0; i < VT_COUNT(globals); i++) {
        if (globals[i].name ? !same(module, m, globals[i].module) ||
                                  !same(name, n, globals[i].name)
                            : !script)
            continue;
        VT_TRY(vt_pickle_value(p, VT_PK_GLOBAL, out));
        p->values[*out].other = i;
        return VITCL_OK;
    }
    VT_TRY(vt_grow(&p->foreign, &p->foreign_cap, p->foreign_count + 1,
                   sizeof *p->foreign));
    VT_TRY(vt_pickle_value(p, VT_PK_FOREIGN, out));
    p->foreign[p->foreign_count] = (vt_pk_foreign){module, name, m, n};
    p->values[*out].other = (uint32_t)p->foreign_count++;
done:
    return st;
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

/* What a foreign object makes. */
static vitcl_status make_foreign(vt_pickle *p, uint32_t foreign, bool tensor,
                                 vt_pk_ref *out)
{
    const vitcl_status st = vt_pickle_value(p, VT_PK_FOREIGN, out);

    if (st == VITCL_OK) {
        p->values[*out].other = foreign;
        p->values[*out].number = tensor;
    }
    return st;
}

bool vt_pickle_is_script(const vt_pickle *p, vt_pk_ref global)
{
    const vt_pk_value *v = &p->values[global];
    return v->kind == VT_PK_GLOBAL && globals[v->other].role == SCRIPT;
}

const vt_element *vt_pickle_element(const vt_pk_value *storage)
{
    return &globals[storage->other].element;
}

static vitcl_status bad_tensor(const vt_pickle *p)
{
    return vt_fail(VITCL_ECORRUPT,
                   "%s: pickle, byte %zu: a tensor whose storage, offset, "
                   "size or stride is invalid",
                   p->file, p->at);
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

static vitcl_status rebuild(vt_pickle *p, vt_pk_ref args, vt_pk_ref *out)
{
    vitcl_status st;
    const vt_pk_value *a = &p->values[args], *storage, *offset, *size, *stride;
    vt_pk_tensor t = {0};

    if (a->count < 4)
        return bad_tensor(p);
    storage = vt_pickle_item(p, a, 0, &t.storage);
    offset = vt_pickle_item(p, a, 1, NULL);
    size = vt_pickle_item(p, a, 2, NULL);
    stride = vt_pickle_item(p, a, 3, NULL);
    if (storage->kind == VT_PK_FOREIGN)
        return make_foreign(p, storage->other, true, out);
    if (storage->kind != VT_PK_STORAGE || offset->kind != VT_PK_INT ||
        offset->number < 0 || size->count != stride->count ||
        !read_sizes(p, size, t.shape) || !read_sizes(p, stride, t.stride))
        return bad_tensor(p);
    t.rank = size->count;
    t.offset = (uint64_t)offset->number;
    VT_TRY(vt_grow(&p->tensors, &p->tensor_cap, p->tensor_count + 1,
                   sizeof *p->tensors));
    VT_TRY(vt_pickle_value(p, VT_PK_TENSOR, out));
    p->values[*out].other = (uint32_t)p->tensor_count;
    p->tensors[p->tensor_count++] = t;
done:
    return st;
}

vitcl_status vt_pickle_reduce(vt_pickle *p, vt_pk_ref what, vt_pk_ref args,
                              vt_pk_ref *out)
{
    const vt_pk_value *f = &p->values[what], *a = &p->values[args];

    if (f->kind == VT_PK_FOREIGN && a->kind == VT_PK_TUPLE)
        return make_foreign(p, f->other, f->number || a->number, out);
    if (f->kind != VT_PK_GLOBAL || a->kind != VT_PK_TUPLE)
        return vt_fail(
            VITCL_ECORRUPT,
            "%s: pickle, byte %zu: calls a value that is not a function",
            p->file, p->at);
    switch (globals[f->other].role) {
    case DICT:
        if (a->count == 0)
            return vt_pickle_value(p, VT_PK_DICT, out);
        break;
    case TENSOR:
        return rebuild(p, args, out);
    case FIRST:
        if (a->count > 0) {
            vt_pickle_item(p, a, 0, out);
            return VITCL_OK;
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
vitcl_status vt_pickle_persist(vt_pickle *p, vt_pk_ref id, vt_pk_ref *out)
{
    vitcl_status st;
    const vt_pk_value *a = &p->values[id], *tag, *type, *key, *n;
    vt_pk_value made = {.kind = VT_PK_STORAGE};

    if (a->kind != VT_PK_TUPLE || a->count != 5)
        goto invalid;
    tag = vt_pickle_item(p, a, 0, NULL);
    type = vt_pickle_item(p, a, 1, NULL);
    key = vt_pickle_item(p, a, 2, NULL);
    n = vt_pickle_item(p, a, 4, NULL);
    if (type->kind == VT_PK_FOREIGN) /* a storage of unknown elements */
        return make_foreign(p, type->other, true, out);
    if (tag->kind != VT_PK_STRING || !same(tag->text, tag->length, "storage") ||
        type->kind != VT_PK_GLOBAL || globals[type->other].role != STORAGE ||
        key->kind != VT_PK_STRING || n->kind != VT_PK_INT || n->number < 0)
        goto invalid;
    made.text = key->text;
    made.length = key->length;
    made.number = n->number;
    made.other = type->other;
    VT_TRY(vt_pickle_value(p, VT_PK_STORAGE, out));
    p->values[*out] = made;
done:
    return st;
invalid:
    return vt_fail(
        VITCL_ECORRUPT,
        "%s: pickle, byte %zu: a persistent id that is not a storage", p->file,
        p->at);
}
