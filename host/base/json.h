/*
 * json.h - a bounded, read-only view of a JSON text.
 *
 * cJSON parses. This layer adds what hostile files need: limits on size and
 * depth, an error on duplicate keys, no NUL in strings, no text after the
 * value, and integers only where they are written as integers.
 */
#ifndef VT_BASE_JSON_H
#define VT_BASE_JSON_H
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct vt_json vt_json; /* a value; the root owns all */

/* `name` is used in messages. depth: the deepest nesting accepted, at most 64.
 * A text may have at most two million values. */
vitcl_status vt_json_parse(vt_json **out, const char *text, size_t size,
                           int depth, const char *name);
/* The same for what is left of a text: behind its byte `at`, `bytes` of the
 * file are missing. Messages give the byte of the file. */
typedef struct vt_json_cut {
    size_t at, bytes;
} vt_json_cut;
vitcl_status vt_json_parse_cut(vt_json **out, const char *text, size_t size,
                               int depth, const char *name,
                               const vt_json_cut *cuts, size_t count);
vitcl_status vt_json_load(vt_json **out, const char *path, size_t limit,
                          int depth);
void vt_json_free(vt_json *root);

/* Each getter treats NULL and a wrong type as "absent". get() and at() walk the
 * members one by one: iterate a large container with first() and next(). */
const vt_json *vt_json_get(const vt_json *object, const char *key);
const vt_json *vt_json_at(const vt_json *array, size_t index);
const vt_json *vt_json_first(const vt_json *container); /* iterate members */
const vt_json *vt_json_next(const vt_json *member);
const char *vt_json_key(const vt_json *member);
size_t vt_json_count(const vt_json *container);
bool vt_json_is_object(const vt_json *v);
bool vt_json_is_array(const vt_json *v);
bool vt_json_is_null(const vt_json *v);
bool vt_json_string(const char **out, const vt_json *v);
bool vt_json_number(double *out, const vt_json *v);
/* An optional setting: if v is NULL, *out stays. Anything but a number from low
 * to high is an error that names the key. */
vitcl_status vt_json_within(double *out, const vt_json *v, const char *key,
                            double low, double high, const char *name);
bool vt_json_bool(bool *out, const vt_json *v);
/* Exact integers 0 <= v < 2^53, not written with '.', 'e' or '-'. */
bool vt_json_uint(uint64_t *out, const vt_json *v);

#endif
