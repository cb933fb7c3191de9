/*
 * json_types.h - the types of an object's members, as rows of a table.
 *
 * A getter of json.h takes a value of another type as missing. Where the
 * default would then give another answer, the types are checked first.
 */
#ifndef VT_BASE_JSON_TYPES_H
#define VT_BASE_JSON_TYPES_H
#include "base/json.h"

enum {
    VT_JSON_TEXT = 1,
    VT_JSON_COUNT = 2, /* an integer, not below zero */
    VT_JSON_NUMBER = 4,
    VT_JSON_FLAG = 8,
    VT_JSON_LIST = 16,
    VT_JSON_OBJECT = 32
};

typedef struct vt_json_row {
    const char *keys; /* with "|" between */
    int types;        /* any of these */
} vt_json_row;

/* Fails with VITCL_ECORRUPT at the first member of another type. Missing
 * members and null are right; so is anything but an object, which has no
 * members. The message is "name: whose key is not ...", with whose as in "the
 * config's". */
vitcl_status vt_json_types(const vt_json *object, const vt_json_row *rows,
                           size_t count, const char *whose, const char *name);
/* Fails with VITCL_EUNSUPPORTED if the member has a value that is not one of
 * `only`: JSON texts, separated by "|"; "": none at all; NULL: any. null and
 * what is empty are right. */
vitcl_status vt_json_only(const vt_json *v, const char *only, const char *whose,
                          const char *name);

#endif
