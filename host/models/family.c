/*
 * family.c - what a family's record says of one checkpoint.
 */
#include "models/family.h"

#include "base/memory.h"
#include "base/words.h"

#include <stdio.h>
#include <string.h>

/* Of every family, behind its own. */
static const vt_mark common[] = {
    {"_gap_", VT_SAYS_POOL, 0, "avg"},
    {"_map_", VT_SAYS_POOL, 0, "map"},
    {"", VT_SAYS_POOL, 0, "token"},
    {"quickgelu", VT_SAYS_ACT, VT_ACT_GELU_QUICK, NULL},
    {"", VT_SAYS_ACT, VT_ACT_GELU, NULL},
    {"clip", VT_SAYS_EPS, 1e-5, NULL},
    {"", VT_SAYS_EPS, 1e-6, NULL},
    {"huge_plus_", VT_SAYS_HEADS, -64, NULL},
    {"huge", VT_SAYS_HEADS, 16, NULL},
    {"gigantic", VT_SAYS_HEADS, 16, NULL},
    {"giant", VT_SAYS_HEADS, 16, NULL},
    {"so400m", VT_SAYS_HEADS, 16, NULL},
    {"enormous", VT_SAYS_HEADS, 16, NULL},
    {"vit_base_patch16_gap_224", VT_SAYS_HEADS, 16, NULL},
    {"", VT_SAYS_HEADS, -64, NULL},
    {NULL, 0, 0, NULL},
};

static const vt_mark *find(const vt_mark *m, const char *name, vt_says what)
{
    for (; m && m->part; m++)
        if (m->what == what && strstr(name, m->part))
            return m;
    return NULL;
}

const vt_mark *vt_family_says(const vt_config *c, vt_says what)
{
    const vt_mark *own = find(c->family->marks, c->name, what);

    return own ? own : find(common, c->name, what);
}

const vt_hf_class *vt_hf_class_of(const vt_family *f, const char *type)
{
    static const char *const ends[] = {"", "_vision_model", "_text_model"};
    const size_t n = strlen(type);

    for (const vt_hf_class *k = f->hf; k && k->types && n; k++)
        for (size_t i = 0; i < (k->towers ? VT_COUNT(ends) : 1); i++) {
            const size_t end = strlen(ends[i]);
            char base[64];

            if (n < end || n >= sizeof base || strcmp(type + n - end, ends[i]))
                continue;
            snprintf(base, sizeof base, "%.*s", (int)(n - end), type);
            if (vt_one_of(k->types, base))
                return k;
        }
    return NULL;
}
