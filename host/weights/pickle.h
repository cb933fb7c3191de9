/*
 * pickle.h - the subset of Python's pickle that a state dict needs, as a tree
 * of plain values: for host/weights only. No Python object is ever called.
 */
#ifndef VT_WEIGHTS_PICKLE_H
#define VT_WEIGHTS_PICKLE_H
#include "weights/reader.h"

typedef enum {
    VT_PK_OTHER, /* None, a float: ignored */
    VT_PK_INT,   /* and bool */
    VT_PK_STRING,
    VT_PK_TUPLE,
    VT_PK_LIST,
    VT_PK_DICT,
    VT_PK_OBJECT, /* TorchScript: a dict of attributes */
    VT_PK_GLOBAL,
    VT_PK_FOREIGN, /* an object that is not known, or what it made: skipped */
    VT_PK_STORAGE,
    VT_PK_TENSOR
} vt_pk_kind;

typedef uint32_t vt_pk_ref; /* index of a value */

typedef struct vt_pk_value {
    vt_pk_kind kind;
    uint32_t first, last, count; /* items: from 1; 0: none */
    int64_t number;              /* an int; a storage's elements; 1: a tuple has
                                  * a tensor, a foreign object is made from
                                  * one */
    const char *text;            /* a string; a global; a storage's key */
    size_t length;
    uint32_t other; /* a global's index; a foreign object's; a storage's type; a
                     * tensor's index */
} vt_pk_value;

typedef struct vt_pk_foreign {
    const char *module, *name;
    size_t module_length, name_length;
} vt_pk_foreign;

typedef struct vt_pk_item {
    vt_pk_ref key, value; /* key: in dicts and objects */
    uint32_t next;        /* 0: the last */
} vt_pk_item;

typedef struct vt_pk_tensor {
    vt_pk_ref storage;
    uint32_t rank;
    uint64_t offset, shape[VT_RANK_MAX], stride[VT_RANK_MAX];
} vt_pk_tensor;

typedef struct vt_pickle {
    const uint8_t *bytes;
    size_t size, at;
    const char *file; /* for messages */
    vt_pk_value *values;
    size_t value_count, value_cap;
    vt_pk_item *items; /* from 1 */
    size_t item_count, item_cap;
    vt_pk_tensor *tensors;
    size_t tensor_count, tensor_cap;
    vt_pk_foreign *foreign;
    size_t foreign_count, foreign_cap;
    vt_pk_ref *stack, *memo; /* memo: value + 1; 0: none */
    size_t stack_count, stack_cap, memo_cap, memo_count;
    uint32_t *marks;
    size_t mark_count, mark_cap;
} vt_pickle;

/* Runs the program in p->bytes; *root is its result. */
vitcl_status vt_pickle_run(vt_pickle *p, vt_pk_ref *root);

/* pickle_values.c: adds a value, and adds an item at the end of a container. */
vitcl_status vt_pickle_value(vt_pickle *p, vt_pk_kind kind, vt_pk_ref *out);
vitcl_status vt_pickle_append(vt_pickle *p, vt_pk_ref to, vt_pk_ref key,
                              vt_pk_ref value);
/* The value of item `index` of a tuple or list, which must have that many. */
const vt_pk_value *vt_pickle_item(const vt_pickle *p, const vt_pk_value *of,
                                  uint32_t index, vt_pk_ref *ref);
/* An error with the name of the file and the place in it. */
vitcl_status vt_pickle_refuse(const vt_pickle *p, const char *why);
void vt_pickle_clear(vt_pickle *p);

/* The stack: adds a value, or a new one, which is valid until the next. Are
 * there n above the last mark? need: else an error. pop needs one. */
vitcl_status vt_pickle_push(vt_pickle *p, vt_pk_ref v);
vitcl_status vt_pickle_push_new(vt_pickle *p, vt_pk_kind kind,
                                vt_pk_value **out);
bool vt_pickle_has(const vt_pickle *p, size_t n);
vitcl_status vt_pickle_need(const vt_pickle *p, size_t n);
vt_pk_ref vt_pickle_pop(vt_pickle *p);

/* globals.c: which globals are allowed, and the opcodes that name, call or fill
 * objects: GLOBAL, STACK_GLOBAL, REDUCE, NEWOBJ, BUILD, BINPERSID. */
vitcl_status vt_pickle_global(vt_pickle *p);
vitcl_status vt_pickle_stack_global(vt_pickle *p);
vitcl_status vt_pickle_reduce(vt_pickle *p);
vitcl_status vt_pickle_new_object(vt_pickle *p);
vitcl_status vt_pickle_build(vt_pickle *p);
vitcl_status vt_pickle_persist(vt_pickle *p);
/* The error that names a foreign object. */
vitcl_status vt_pickle_refuse_foreign(const vt_pickle *p, uint32_t foreign);
/* The element type of a storage. */
const vt_element *vt_pickle_element(const vt_pk_value *storage);

#endif
