/*
 * pickle.c - a bounded interpreter of the opcodes that torch.save() and
 * torch.jit.save() write.
 *
 * A pickle is a program for a stack machine that can name any Python object and
 * call it. This interpreter only builds values: the few globals that a state
 * dict needs are constants of globals.c. Every other global, and what is made
 * with it, is a value without contents, which may lie beside a state dict: the
 * arguments of a training, for example. Other opcodes are errors. Values,
 * items, stack and memo have limits; each opcode takes at least a byte, so time
 * is linear.
 */
#include "weights/pickle.h"

#include "base/memory.h"

#include <string.h>

#define MEMO_MAX (1 << 21)
#define MARKS_MAX 1000

/* ---- marks ---- */

static vitcl_status push_mark(vt_pickle *p)
{
    if (p->mark_count == MARKS_MAX)
        return vt_pickle_refuse(p, "nested too deeply");
    VT_RET(
        vt_grow(&p->marks, &p->mark_cap, p->mark_count + 1, sizeof *p->marks));
    p->marks[p->mark_count++] = (uint32_t)p->stack_count;
    return VITCL_OK;
}

static vitcl_status pop_mark(vt_pickle *p, size_t *from)
{
    if (p->mark_count == 0)
        return vt_pickle_refuse(p, "no mark on the stack");
    *from = p->marks[--p->mark_count];
    return VITCL_OK;
}

/* ---- operands ---- */

static vitcl_status take(vt_pickle *p, size_t n, const uint8_t **out)
{
    if (n > p->size - p->at)
        return vt_pickle_refuse(p, "unexpected end");
    *out = p->bytes + p->at;
    p->at += n;
    return VITCL_OK;
}

/* Reads n bytes, little-endian. */
static vitcl_status take_number(vt_pickle *p, size_t n, uint64_t *out)
{
    const uint8_t *b = NULL;
    uint64_t v = 0;

    VT_RET(take(p, n, &b));
    while (n-- > 0)
        v = v << 8 | b[n];
    *out = v;
    return VITCL_OK;
}

static vitcl_status push_int(vt_pickle *p, int64_t number)
{
    vt_pk_value *v;
    const vitcl_status st = vt_pickle_push_new(p, VT_PK_INT, &v);

    if (st == VITCL_OK)
        v->number = number;
    return st;
}

static vitcl_status push_kind(vt_pickle *p, vt_pk_kind kind)
{
    vt_pk_value *v;

    return vt_pickle_push_new(p, kind, &v);
}

/* A string with a length of `width` bytes. */
static vitcl_status push_string(vt_pickle *p, size_t width)
{
    const uint8_t *b = NULL;
    uint64_t n;
    vt_pk_value *v;

    VT_RET(take_number(p, width, &n));
    if (n > p->size)
        return vt_pickle_refuse(p, "unexpected end");
    VT_RET(take(p, (size_t)n, &b));
    VT_RET(vt_pickle_push_new(p, VT_PK_STRING, &v));
    v->text = (const char *)b;
    v->length = (size_t)n;
    return VITCL_OK;
}

/* LONG1: an n-byte two's complement number. */
static vitcl_status push_long(vt_pickle *p)
{
    const uint8_t *b = NULL;
    uint64_t n, v = 0;

    VT_RET(take_number(p, 1, &n));
    VT_RET(take(p, (size_t)n, &b));
    if (n > 8) /* not a size or count: a hash or random state */
        return push_kind(p, VT_PK_OTHER);
    for (size_t i = (size_t)n; i-- > 0;)
        v = v << 8 | b[i];
    if (n > 0 && n < 8 && b[n - 1] & 0x80)
        v |= UINT64_MAX << (8 * n);
    return push_int(p, (int64_t)v);
}

/* ---- containers ---- */

/* Makes a tuple of the values from `from` on. */
static vitcl_status make_tuple(vt_pickle *p, size_t from)
{
    vt_pk_ref v;

    VT_RET(vt_pickle_value(p, VT_PK_TUPLE, &v));
    for (size_t i = from; i < p->stack_count; i++)
        VT_RET(vt_pickle_append(p, v, 0, p->stack[i]));
    p->stack_count = from;
    return vt_pickle_push(p, v);
}

static vitcl_status extend(vt_pickle *p, size_t from, bool dict)
{
    vt_pk_ref to;
    size_t step = dict ? 2 : 1;

    if (!vt_pickle_has(p, p->stack_count - from +
                              1)) /* the container below them */
        return vt_pickle_refuse(p, "items without a container");
    to = p->stack[from - 1];
    if (p->values[to].kind == VT_PK_FOREIGN) {
        p->stack_count = from;
        return VITCL_OK;
    }
    if (p->values[to].kind != (dict ? VT_PK_DICT : VT_PK_LIST) ||
        (p->stack_count - from) % step)
        return vt_pickle_refuse(p, "items without a container");
    for (size_t i = from; i < p->stack_count; i += step)
        VT_RET(vt_pickle_append(p, to, dict ? p->stack[i] : 0,
                                p->stack[i + step - 1]));
    p->stack_count = from;
    return VITCL_OK;
}

static vitcl_status extend_from_mark(vt_pickle *p, bool dict)
{
    size_t from = 0;

    VT_RET(pop_mark(p, &from));
    return extend(p, from, dict);
}

/* ---- memo ---- */

static vitcl_status put(vt_pickle *p, uint64_t index)
{
    if (!vt_pickle_has(p, 1))
        return vt_pickle_refuse(p, "memo of an empty stack");
    if (index >= MEMO_MAX)
        return vt_pickle_refuse(p, "memo too large");
    VT_RET(vt_grow(&p->memo, &p->memo_cap, (size_t)index + 1, sizeof *p->memo));
    p->memo[index] = p->stack[p->stack_count - 1] + 1;
    p->memo_count++;
    return VITCL_OK;
}

static vitcl_status get(vt_pickle *p, uint64_t index)
{
    if (index >= p->memo_cap || p->memo[index] == 0)
        return vt_pickle_refuse(p, "reads an empty memo entry");
    return vt_pickle_push(p, p->memo[index] - 1);
}

static vitcl_status memo(vt_pickle *p, size_t width, bool store)
{
    uint64_t index;

    VT_RET(take_number(p, width, &index));
    return store ? put(p, index) : get(p, index);
}

/* ---- the machine ---- */

static const struct {
    uint8_t code;
    const char *name;
} refused[] = {
    {'i', "INST"},         {'o', "OBJ"},
    {0x82, "EXT1"},        {0x83, "EXT2"},
    {0x84, "EXT4"},        {'P', "PERSID"},
    {'I', "INT"},          {'L', "LONG"},
    {0x8b, "LONG4"},       {'F', "FLOAT"},
    {'S', "STRING"},       {'V', "UNICODE"},
    {0x97, "NEXT_BUFFER"}, {0x98, "READONLY_BUFFER"},
    {'d', "DICT"},         {'l', "LIST"},
    {'p', "PUT"},          {'g', "GET"},
    {'2', "DUP"},
};

static vitcl_status refuse_code(vt_pickle *p, uint8_t code)
{
    const char *name = "unknown";

    for (size_t i = 0; i < VT_COUNT(refused); i++)
        if (refused[i].code == code)
            name = refused[i].name;
    return vt_fail(
        VITCL_EUNSUPPORTED,
        "%s: pickle, byte %zu: opcode 0x%02x (%s) is not allowed in a "
        "state dict",
        p->file, p->at - 1, code, name);
}

static vitcl_status skip(vt_pickle *p, size_t n)
{
    const uint8_t *b = NULL;
    return take(p, n, &b);
}

/* Bytes with a length of `width` bytes. */
static vitcl_status skip_bytes(vt_pickle *p, size_t width)
{
    uint64_t n;

    VT_RET(take_number(p, width, &n));
    if (n > p->size)
        return vt_pickle_refuse(p, "unexpected end");
    VT_RET(skip(p, (size_t)n));
    return push_kind(p, VT_PK_OTHER);
}

/* NEWOBJ_EX: class, arguments, named arguments. */
static vitcl_status new_object_ex(vt_pickle *p)
{
    if (!vt_pickle_has(p, 3))
        return vt_pickle_refuse(p, "stack underflow in NEWOBJ_EX");
    vt_pickle_pop(p);
    return vt_pickle_new_object(p);
}

static vitcl_status small_tuple(vt_pickle *p, size_t n)
{
    const vitcl_status st = vt_pickle_need(p, n);

    return st == VITCL_OK ? make_tuple(p, p->stack_count - n) : st;
}

static vitcl_status push_number(vt_pickle *p, size_t width)
{
    uint64_t v;

    VT_RET(take_number(p, width, &v));
    return push_int(p, width == 4 ? (int32_t)(uint32_t)v : (int64_t)v);
}

static vitcl_status tuple_from_mark(vt_pickle *p)
{
    size_t from = 0;

    VT_RET(pop_mark(p, &from));
    return make_tuple(p, from);
}

static vitcl_status drop(vt_pickle *p, bool to_mark)
{
    size_t from = p->stack_count - 1;
    const vitcl_status st = to_mark ? pop_mark(p, &from) : vt_pickle_need(p, 1);

    if (st == VITCL_OK)
        p->stack_count = from;
    return st;
}

/* ADDITEMS to a set below the mark, FROZENSET of what is above it. */
static vitcl_status set(vt_pickle *p, bool frozen)
{
    vitcl_status st = drop(p, true);

    if (st == VITCL_OK && frozen)
        return push_kind(p, VT_PK_OTHER);
    if (st == VITCL_OK && !vt_pickle_has(p, 1))
        return vt_pickle_refuse(p, "items without a container");
    return st;
}

static vitcl_status extend_by_one(vt_pickle *p, bool dict)
{
    const size_t n = dict ? 2 : 1;
    const vitcl_status st = vt_pickle_need(p, n + 1);

    return st == VITCL_OK ? extend(p, p->stack_count - n, dict) : st;
}

/* The switch over all opcodes is long, but clearer than a table of functions
 * with different arguments. */
static vitcl_status step(vt_pickle *p, uint8_t code)
{
    switch (code) {
    case 0x80: /* PROTO */
        return skip(p, 1);
    case 0x95: /* FRAME */
        return skip(p, 8);
    case '(':
        return push_mark(p);
    case '0':
        return drop(p, false);
    case '1':
        return drop(p, true);
    case 'N':
        return push_kind(p, VT_PK_OTHER);
    case 0x88: /* NEWTRUE */
    case 0x89: /* NEWFALSE */
        return push_int(p, code == 0x88);
    case 'J':
        return push_number(p, 4);
    case 'K':
        return push_number(p, 1);
    case 'M':
        return push_number(p, 2);
    case 0x8a:
        return push_long(p);
    case 'G': {
        vitcl_status st = skip(p, 8);
        return st == VITCL_OK ? push_kind(p, VT_PK_OTHER) : st;
    }
    case 'X': /* BINUNICODE */
    case 'T': /* BINSTRING */
        return push_string(p, 4);
    case 0x8c: /* SHORT_BINUNICODE */
    case 'U':  /* SHORT_BINSTRING */
        return push_string(p, 1);
    case 0x8d: /* BINUNICODE8 */
        return push_string(p, 8);
    case 'C': /* SHORT_BINBYTES */
        return skip_bytes(p, 1);
    case 'B': /* BINBYTES */
        return skip_bytes(p, 4);
    case 0x8e: /* BINBYTES8 */
    case 0x96: /* BYTEARRAY8 */
        return skip_bytes(p, 8);
    case 0x8f: /* EMPTY_SET */
        return push_kind(p, VT_PK_OTHER);
    case 0x90: /* ADDITEMS */
    case 0x91: /* FROZENSET */
        return set(p, code == 0x91);
    case ')':
        return push_kind(p, VT_PK_TUPLE);
    case 't':
        return tuple_from_mark(p);
    case 0x85: /* TUPLE1 */
    case 0x86:
    case 0x87:
        return small_tuple(p, code - 0x84u);
    case ']':
        return push_kind(p, VT_PK_LIST);
    case 'a':
        return extend_by_one(p, false);
    case 'e':
        return extend_from_mark(p, false);
    case '}':
        return push_kind(p, VT_PK_DICT);
    case 's':
        return extend_by_one(p, true);
    case 'u':
        return extend_from_mark(p, true);
    case 'q':
        return memo(p, 1, true);
    case 'r':
        return memo(p, 4, true);
    case 0x94: /* MEMOIZE */
        return put(p, p->memo_count);
    case 'h':
        return memo(p, 1, false);
    case 'j':
        return memo(p, 4, false);
    case 'c':
        return vt_pickle_global(p);
    case 0x93: /* STACK_GLOBAL */
        return vt_pickle_stack_global(p);
    case 'R':
        return vt_pickle_reduce(p);
    case 0x81: /* NEWOBJ */
        return vt_pickle_new_object(p);
    case 0x92: /* NEWOBJ_EX */
        return new_object_ex(p);
    case 'b':
        return vt_pickle_build(p);
    case 'Q':
        return vt_pickle_persist(p);
    default:
        return refuse_code(p, code);
    }
}

vitcl_status vt_pickle_run(vt_pickle *p, vt_pk_ref *root)
{
    const uint8_t *code = NULL;

    for (;;) {
        VT_RET(take(p, 1, &code));
        if (*code == '.')
            break;
        VT_RET(step(p, *code));
    }
    if (p->stack_count != 1 || p->mark_count)
        return vt_pickle_refuse(p, "does not end with exactly one value");
    *root = p->stack[0];
    if (p->values[*root].kind == VT_PK_FOREIGN)
        return vt_pickle_refuse_foreign(p, p->values[*root].other);
    return VITCL_OK;
}
