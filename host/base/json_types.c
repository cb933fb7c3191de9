/* json_types.c - the types of an object's members. */
#include "base/json_types.h"

#include "base/json_print.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/words.h"

#include <stdlib.h>

static bool is(const vt_json *v, int types)
{
    const char *s;
    uint64_t n;
    double d;
    bool b;

    return ((types & VT_JSON_TEXT) && vt_json_string(&s, v)) ||
           ((types & VT_JSON_COUNT) && vt_json_uint(&n, v)) ||
           ((types & VT_JSON_NUMBER) && vt_json_number(&d, v)) ||
           ((types & VT_JSON_FLAG) && vt_json_bool(&b, v)) ||
           ((types & VT_JSON_LIST) && vt_json_is_array(v)) ||
           ((types & VT_JSON_OBJECT) && vt_json_is_object(v));
}

static const char *wanted(int types)
{
    static const struct {
        int types;
        const char *words;
    } all[] = {
        {VT_JSON_TEXT, "a string"},
        {VT_JSON_COUNT, "a whole number that is not below zero"},
        {VT_JSON_NUMBER, "a number"},
        {VT_JSON_FLAG, "true or false"},
        {VT_JSON_LIST, "a list"},
        {VT_JSON_OBJECT, "an object"},
        {VT_JSON_COUNT | VT_JSON_LIST, "a whole number or a list of them"},
        {VT_JSON_LIST | VT_JSON_OBJECT, "a list or an object"},
        {VT_JSON_TEXT | VT_JSON_OBJECT, "a string or an object"},
    };

    for (size_t i = 0; i < VT_COUNT(all); i++)
        if (all[i].types == types)
            return all[i].words;
    return "of a type that is read";
}

vitcl_status vt_json_types(const vt_json *object, const vt_json_row *rows,
                           size_t count, const char *whose, const char *name)
{
    if (!vt_json_is_object(object))
        return VITCL_OK;
    for (size_t i = 0; i < count; i++)
        for (const vt_json *v = vt_json_first(object); v; v = vt_json_next(v))
            if (!vt_json_is_null(v) && !is(v, rows[i].types) &&
                vt_one_of(rows[i].keys, vt_json_key(v)))
                return vt_fail(VITCL_ECORRUPT, "%s: %s %s is not %s", name,
                               whose, vt_json_key(v), wanted(rows[i].types));
    return VITCL_OK;
}

vitcl_status vt_json_only(const vt_json *v, const char *only, const char *whose,
                          const char *name)
{
    vitcl_status st = VITCL_OK;
    vt_text text;
    char *value = NULL;

    if (!only || vt_json_is_null(v) ||
        ((vt_json_is_object(v) || vt_json_is_array(v)) &&
         vt_json_count(v) == 0))
        return VITCL_OK;
    VT_TRY(vt_text_open(&text));
    vt_json_print(text.f, v);
    VT_TRY(vt_text_take(&value, &text));
    if (!only[0])
        st = vt_fail(VITCL_EUNSUPPORTED,
                     "%s: %s %s is not supported, here %.60s", name, whose,
                     vt_json_key(v), value);
    else if (!vt_one_of(only, value))
        st = vt_fail(VITCL_EUNSUPPORTED,
                     "%s: %s %s is %.60s; only %s is supported", name, whose,
                     vt_json_key(v), value, only);
done:
    free(value);
    return st;
}
