/*
 * preprocess_keys.c - keys and values of any preprocessing config, checked.
 */
#include "image/preprocess_keys.h"

#include <math.h>
#include <string.h>

#define SIZE_LARGEST 16384 /* of a resize or crop; models use far less */

static bool listed(const char *const *list, const char *key)
{
    for (; list && *list; list++)
        if (strcmp(*list, key) == 0)
            return true;
    return false;
}

vitcl_status vt_how_keys(const vt_json *object, const char *const *known,
                         const char *const *more, const char *name)
{
    for (const vt_json *m = vt_json_first(object); m; m = vt_json_next(m)) {
        bool on = true;

        if (listed(known, vt_json_key(m)) || listed(more, vt_json_key(m)) ||
            vt_json_is_null(m) || (vt_json_bool(&on, m) && !on))
            continue;
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: unknown key \"%s\" may change the "
                       "pixels; remove it if it does not",
                       name, vt_json_key(m));
    }
    return VITCL_OK;
}

vitcl_status vt_how_wrong(const char *name, const char *key, const char *want)
{
    return vt_fail(VITCL_ECORRUPT, "%s: \"%s\" must be %s", name, key, want);
}

bool vt_how_absent(const vt_json *v)
{
    return !v || vt_json_is_null(v);
}

vitcl_status vt_how_doubles(double out[3], const vt_json *object,
                            const char *key, const char *name)
{
    const vt_json *v = vt_json_get(object, key);
    double three[3];

    if (vt_how_absent(v))
        return VITCL_OK;
    for (size_t i = 0; i < 3; i++) {
        const vt_json *one = vt_json_is_array(v) ? vt_json_at(v, i) : v;
        double d;

        if (vt_json_is_array(v) && vt_json_count(v) == 1)
            one = vt_json_at(v, 0);
        else if (vt_json_is_array(v) && vt_json_count(v) != 3)
            return vt_how_wrong(name, key, "three numbers");
        if (!vt_json_number(&d, one) || !(fabs(d) < 1e6))
            return vt_how_wrong(name, key, "three numbers");
        three[i] = d;
    }
    memcpy(out, three, sizeof three);
    return VITCL_OK;
}

vitcl_status vt_how_three(float out[3], const vt_json *object, const char *key,
                          const char *name)
{
    double three[3] = {(double)out[0], (double)out[1], (double)out[2]};
    const vitcl_status st = vt_how_doubles(three, object, key, name);

    for (int i = 0; i < 3; i++)
        out[i] = (float)three[i];
    return st;
}

vitcl_status vt_how_std(const vt_preprocess *p, const char *key,
                        const char *name)
{
    for (int i = 0; i < 3; i++)
        if (!(p->std[i] > 0))
            return vt_how_wrong(name, key, "above zero");
    return VITCL_OK;
}

bool vt_how_side(uint32_t *out, const vt_json *v)
{
    uint64_t u;

    if (!vt_json_uint(&u, v) || u == 0 || u > SIZE_LARGEST)
        return false;
    *out = (uint32_t)u;
    return true;
}

bool vt_how_flag(bool *out, const vt_json *object, const char *key)
{
    const vt_json *v = vt_json_get(object, key);

    if (!v)
        return true;
    if (vt_json_is_null(v))
        *out = false;
    return vt_json_is_null(v) || vt_json_bool(out, v);
}

vitcl_status vt_how_target(uint32_t height, uint32_t width)
{
    if (height == 0 || width == 0 || height > SIZE_LARGEST ||
        width > SIZE_LARGEST)
        return vt_fail(VITCL_EINVAL, "a model input of %ux%u pixels", width,
                       height);
    return VITCL_OK;
}
