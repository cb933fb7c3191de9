/*
 * json.c - a strict scan of the text, then cJSON, then a check of the tree.
 *
 * cJSON is lenient (any byte up to a space is white space, "01" is a number),
 * but it only sees text that json_scan.c found valid; if it still fails, it ran
 * out of memory. The scan also notes which numbers are written as plain
 * integers. The walk over the tree visits numbers in the same order and marks
 * them, in a bit of cJSON's type field that cJSON masks out.
 */
#include "base/json.h"

#include "base/file.h"
#include "base/json_scan.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/order.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

#define EXACT (1 << 16) /* in cJSON's type: written as an integer */

static vitcl_status check_keys(const cJSON *object, const char *name)
{
    vitcl_status st;
    const char **keys = NULL;
    size_t n = 0;

    VT_TRY(VT_NEW(&keys, vt_json_count((const vt_json *)object)));
    for (const cJSON *m = object->child; m; m = m->next)
        keys[n++] = m->string;
    qsort(keys, n, sizeof *keys, vt_by_text);
    for (size_t i = 1; i < n; i++)
        if (strcmp(keys[i - 1], keys[i]) == 0)
            VT_TRY(vt_fail(VITCL_ECORRUPT, "%s: duplicate key \"%s\"", name,
                           keys[i]));
done:
    free(keys);
    return st;
}

/* Marks exact integers and rejects duplicate keys, at most VT_JSON_DEEPEST
 * levels. */
static vitcl_status walk(cJSON *v, vt_json_scan *c, const char *name)
{
    if (cJSON_IsNumber(v) && c->exact[c->numbers++])
        v->type |= EXACT;
    if (cJSON_IsObject(v))
        VT_RET(check_keys(v, name));
    for (cJSON *m = v->child; m; m = m->next)
        VT_RET(walk(m, c, name));
    return VITCL_OK;
}

vitcl_status vt_json_parse(vt_json **out, const char *text, size_t size,
                           int depth, const char *name)
{
    return vt_json_parse_cut(out, text, size, depth, name, NULL, 0);
}

vitcl_status vt_json_parse_cut(vt_json **out, const char *text, size_t size,
                               int depth, const char *name,
                               const vt_json_cut *cuts, size_t count)
{
    vitcl_status st = VITCL_OK;
    vt_json_scan c;
    cJSON *root = NULL;
    locale_t before;

    VT_TRY(vt_json_scan_text(&c, text, size, depth));
    if (c.why) {
        const size_t at = c.at;

        for (size_t i = 0; i < count; i++)
            c.at += at >= cuts[i].at ? cuts[i].bytes : 0;
        st = vt_fail(VITCL_ECORRUPT, "%s: invalid JSON at byte %zu: %s", name,
                     c.at, c.why);
        goto done;
    }
    before = vt_point_begin(); /* cJSON calls strtod() */
    root = cJSON_ParseWithLengthOpts(text, size, NULL, 0);
    vt_point_end(before);
    if (!root)
        VT_TRY(vt_fail(VITCL_ENOMEM, "%s: out of memory for %zu JSON values",
                       name, c.values));
    c.numbers = 0;
    VT_TRY(walk(root, &c, name));
    *out = (vt_json *)root, root = NULL;
done:
    cJSON_Delete(root);
    free(c.exact);
    return st;
}

vitcl_status vt_json_load(vt_json **out, const char *path, size_t limit,
                          int depth)
{
    vitcl_status st;
    vt_file f = {0};

    VT_TRY(vt_file_read(&f, path, limit));
    VT_TRY(vt_json_parse(out, (const char *)f.data, f.size, depth, path));
done:
    vt_file_close(&f);
    return st;
}

void vt_json_free(vt_json *root)
{
    cJSON_Delete((cJSON *)root);
}

static const cJSON *tree(const vt_json *v)
{
    return (const cJSON *)v;
}

const vt_json *vt_json_get(const vt_json *object, const char *key)
{
    return vt_json_is_object(object)
               ? (const vt_json *)cJSON_GetObjectItemCaseSensitive(tree(object),
                                                                   key)
               : NULL;
}

const vt_json *vt_json_at(const vt_json *array, size_t index)
{
    const vt_json *m = vt_json_is_array(array) ? vt_json_first(array) : NULL;
    while (m && index-- > 0)
        m = vt_json_next(m);
    return m;
}

const vt_json *vt_json_first(const vt_json *container)
{
    return vt_json_is_object(container) || vt_json_is_array(container)
               ? (const vt_json *)tree(container)->child
               : NULL;
}

const vt_json *vt_json_next(const vt_json *member)
{
    return member ? (const vt_json *)tree(member)->next : NULL;
}

const char *vt_json_key(const vt_json *member)
{
    return member ? tree(member)->string : NULL;
}

size_t vt_json_count(const vt_json *container)
{
    size_t n = 0;
    for (const vt_json *m = vt_json_first(container); m; m = vt_json_next(m))
        n++;
    return n;
}

bool vt_json_is_object(const vt_json *v)
{
    return v && cJSON_IsObject(tree(v));
}

bool vt_json_is_array(const vt_json *v)
{
    return v && cJSON_IsArray(tree(v));
}

bool vt_json_is_null(const vt_json *v)
{
    return v && cJSON_IsNull(tree(v));
}

bool vt_json_string(const char **out, const vt_json *v)
{
    if (!v || !cJSON_IsString(tree(v)))
        return false;
    *out = tree(v)->valuestring;
    return true;
}

bool vt_json_number(double *out, const vt_json *v)
{
    if (!v || !cJSON_IsNumber(tree(v)) || !isfinite(tree(v)->valuedouble))
        return false;
    *out = tree(v)->valuedouble;
    return true;
}

vitcl_status vt_json_within(double *out, const vt_json *v, const char *key,
                            double low, double high, const char *name)
{
    double d;

    if (!v)
        return VITCL_OK;
    if (!vt_json_number(&d, v) || !(d >= low && d <= high))
        return vt_fail(VITCL_ECORRUPT,
                       "%s: \"%s\" must be a number from %g to %g", name, key,
                       low, high);
    *out = d;
    return VITCL_OK;
}

bool vt_json_bool(bool *out, const vt_json *v)
{
    if (!v || !cJSON_IsBool(tree(v)))
        return false;
    *out = cJSON_IsTrue(tree(v));
    return true;
}

/* 2^53 + 1 rounds to 2^53, so 2^53 is the first value to be rejected. */
bool vt_json_uint(uint64_t *out, const vt_json *v)
{
    double d;
    if (!vt_json_number(&d, v) || !(tree(v)->type & EXACT) ||
        d >= 9007199254740992.0)
        return false;
    *out = (uint64_t)d;
    return true;
}
