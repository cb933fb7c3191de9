/*
 * stored.c - a parameter as it is in the file; a preset has random weights
 * instead.
 */
#include "models/derived.h"
#include "models/model_private.h"

#include "base/memory.h"

#include <string.h>

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* The sum of two uniform 16-bit numbers is limited to 2.4 standard deviations,
 * similar to a normal distribution of 0.026 truncated at two; for norms, which
 * are near 1, and biases, of 0.1. All are whole numbers times a power of two:
 * tools/golden_selftest.py makes them, too. One hash gives two such sums. */
static void random_weights(float *out, const char *name, uint64_t count)
{
    const size_t n = strlen(name);
    const bool bias = n > 5 && strcmp(name + n - 5, ".bias") == 0;
    const bool norm = strstr(name, "norm") != NULL;
    const float scale = bias || norm ? 0x1p-18f : 0x1p-20f;
    const float mean = norm && !bias ? 1.0f : 0.0f;
    uint64_t seed = 0x9e3779b97f4a7c15u;

    for (const char *s = name; *s; s++)
        seed = mix(seed ^ (unsigned char)*s);
    for (uint64_t i = 0; i < count; i += 2) {
        const uint64_t r = mix(seed + i * 0x9e3779b97f4a7c15u);
        const int32_t a = (int32_t)(r & 0xffff) + (int32_t)(r >> 16 & 0xffff);
        const int32_t b = (int32_t)(r >> 32 & 0xffff) + (int32_t)(r >> 48);
        out[i] = mean + (float)(a - 65535) * scale;
        if (i + 1 < count)
            out[i + 1] = mean + (float)(b - 65535) * scale;
    }
}

vitcl_status vt_stored_read(float *out, const vt_model *m, const char *name,
                            uint64_t count)
{
    const vt_weight *t;

    if (!m->weights) {
        random_weights(out, name, count);
        return VITCL_OK;
    }
    t = vt_weights_get(m->weights, name);
    if (!t)
        return vt_fail(VITCL_ECORRUPT, "%s: %s is missing", m->path, name);
    if (t->count != count)
        return vt_fail(VITCL_ECORRUPT,
                       "%s: %s has %llu elements, but this %s needs %llu%s",
                       m->path, name, (unsigned long long)t->count,
                       vt_model_looks(m), (unsigned long long)count,
                       m->json ? "; does config.json belong to these weights?"
                               : "");
    return vt_weight_f32(out, m->weights, t);
}

vitcl_status vt_weight_room(float **out, const char *name, uint64_t count)
{
    size_t n = 0;

    if (count == 0 || !vt_mul(&n, (size_t)count, sizeof **out))
        return vt_fail(VITCL_EINVAL, "%s: an unusable size", name);
    return VT_NEW(out, (size_t)count);
}

vitcl_status vt_stored_weight(float **out, const vt_model *m, const char *name,
                              uint64_t count)
{
    vitcl_status st = VITCL_OK;
    float *data = NULL;

    VT_TRY(vt_weight_room(&data, name, count));
    VT_TRY(vt_stored_read(data, m, name, count));
    *out = data, data = NULL;
done:
    free(data);
    return st;
}

bool vt_model_has(const vt_model *m, const char *name)
{
    return m->weights && vt_weights_get(m->weights, name) != NULL;
}
