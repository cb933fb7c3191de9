/*
 * classes.c - match two sets of classes by name, or by number when asked.
 */
#include "data/classes.h"

#include "base/memory.h"
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

#define NAMED 5 /* classes that a message lists */

static const char *model_label(const void *of, uint32_t index)
{
    return vt_model_label(of, index);
}

static const char *model_name(const void *of, uint32_t index)
{
    return vt_model_longname(of, index);
}

static const char *data_label(const void *of, uint32_t index)
{
    return vt_dataset_class(of, index);
}

vt_classes vt_classes_of_model(const vt_model *m, uint32_t count)
{
    return (vt_classes){count, "the model", m, model_label, model_name};
}

vt_classes vt_classes_of_data(const vt_dataset *d, const char *whose)
{
    return (vt_classes){vt_dataset_classes(d), whose, d, data_label, NULL};
}

/* ---- keys for looking a class up ---- */

enum { LABEL, NAME };
typedef struct key {
    int level;
    const char *text; /* "" when matching by number */
    unsigned long number;
    uint32_t index;
} key;

static int by_key(const void *a, const void *b)
{
    const key *x = a, *y = b;
    const int order = strcmp(x->text, y->text);

    if (x->level != y->level)
        return x->level - y->level;
    return order ? order : (x->number > y->number) - (x->number < y->number);
}

static bool all_numbers(const vt_classes *c)
{
    for (uint32_t i = 0; i < c->count; i++) {
        const char *s = c->label(c->of, i);
        const size_t n = s ? strspn(s, "0123456789") : 0;

        if (n == 0 || n > 9 || s[n])
            return false;
    }
    return true;
}

static key number_of(const vt_classes *c, uint32_t index, bool said)
{
    return (key){LABEL, "",
                 said ? strtoul(c->label(c->of, index), NULL, 10) : index,
                 index};
}

/* The sorted keys of a set; *n: their number. */
static vitcl_status make_keys(key **out, size_t *n, const vt_classes *c,
                              bool by_number)
{
    const bool said = by_number && all_numbers(c);
    key *k = NULL;

    *n = 0;
    VT_RET(vt_new(&k, (size_t)c->count * 2 + 1, sizeof *k));
    for (uint32_t i = 0; i < c->count; i++) {
        const char *label = by_number ? NULL : c->label(c->of, i);
        const char *name = by_number || !c->name ? NULL : c->name(c->of, i);

        if (by_number)
            k[(*n)++] = number_of(c, i, said);
        if (label)
            k[(*n)++] = (key){LABEL, label, 0, i};
        if (name)
            k[(*n)++] = (key){NAME, name, 0, i};
    }
    qsort(k, *n, sizeof *k, by_key);
    *out = k;
    return VITCL_OK;
}

/* 0, 1, or 2 for several classes with that key; *out: one of them. */
static int look_up(uint32_t *out, const key *keys, size_t n, key wanted)
{
    const key *found = bsearch(&wanted, keys, n, sizeof *keys, by_key);

    if (!found)
        return 0;
    *out = found->index;
    return 1 + ((found > keys && by_key(found - 1, found) == 0) ||
                (found + 1 < keys + n && by_key(found + 1, found) == 0));
}

/* ---- matching ---- */

static const char *shown(const vt_classes *c, uint32_t index)
{
    const char *s = c->label(c->of, index);

    return s ? s : "without a name";
}

/* out[i] is UINT32_MAX where class i was not found. advise: suggest matching by
 * number. */
static vitcl_status name_missing(const uint32_t *out, const vt_classes *these,
                                 const vt_classes *those, uint32_t found,
                                 bool advise)
{
    const uint32_t missing = these->count - found;
    char list[384] = "", more[32] = "";
    uint32_t listed = 0;

    for (uint32_t i = 0; i < these->count && listed < NAMED; i++)
        if (out[i] == UINT32_MAX) {
            const size_t n = strlen(list);
            const char *name = shown(these, i);

            snprintf(list + n, sizeof list - n, "%s'%.*s'", n ? ", " : "",
                     (int)vt_utf8_cut(name, 40), name);
            listed++;
        }
    if (missing > listed)
        snprintf(more, sizeof more, " and %u more", missing - listed);
    return vt_fail(
        VITCL_EINVAL, "%s %s%s of %s %s of %s (%u of %u are)%s",
        missing > 1 ? "classes" : "class", list, more, these->whose,
        missing > 1 ? "are not classes" : "is not a class", those->whose, found,
        these->count,
        found || !advise ? "" : "; --classes-by number matches them by number");
}

static vitcl_status twice(const vt_classes *these, uint32_t index,
                          const vt_classes *those)
{
    const char *name = shown(these, index);

    return vt_fail(
        VITCL_EINVAL, "class '%.*s' of %s matches several classes of %s",
        (int)vt_utf8_cut(name, 80), name, these->whose, those->whose);
}

/* *found: how many are. */
static vitcl_status find_all(uint32_t *out, uint32_t *found,
                             const vt_classes *these, const vt_classes *those,
                             bool by_number)
{
    vitcl_status st = VITCL_OK;
    const bool said = by_number && all_numbers(these);
    key *keys = NULL;
    size_t n = 0;

    if (by_number && !said && these->count != those->count)
        return vt_fail(VITCL_EINVAL,
                       "%u class%s of %s and %u of %s cannot be matched by "
                       "number",
                       these->count, these->count == 1 ? "" : "es",
                       these->whose, those->count, those->whose);
    *found = 0;
    VT_TRY(make_keys(&keys, &n, those, by_number));
    for (uint32_t i = 0; i < these->count; i++) {
        const char *label = these->label(these->of, i);
        key wanted = by_number ? number_of(these, i, said)
                               : (key){LABEL, label ? label : "", 0, 0};
        int times = 0;

        out[i] = UINT32_MAX;
        for (; (by_number || label) && !times && wanted.level <= NAME;
             wanted.level++)
            times = look_up(&out[i], keys, n, wanted);
        if (times > 1)
            VT_TRY(twice(these, i, those));
        *found += times > 0;
    }
done:
    free(keys);
    return st;
}

static vitcl_status match(uint32_t *out, const vt_classes *these,
                          const vt_classes *those, bool by_number, bool advise)
{
    uint32_t found = 0;
    vitcl_status st = find_all(out, &found, these, those, by_number);

    if (st == VITCL_OK && found < these->count)
        st = name_missing(out, these, those, found, advise);
    return st;
}

vitcl_status vt_classes_match(uint32_t *out, const vt_classes *these,
                              const vt_classes *those, bool by_number)
{
    /* names from a label file are never matched by number */
    return match(out, these, those, by_number,
                 !by_number && these->label == data_label);
}

vitcl_status vt_classes_match_some(uint32_t *out, const vt_classes *these,
                                   const vt_classes *those, bool by_number)
{
    uint32_t found = 0;
    vitcl_status st = find_all(out, &found, these, those, by_number);

    if (st == VITCL_OK && !found)
        st = name_missing(out, these, those, found, !by_number);
    return st;
}

vitcl_status vt_classes_same(const vt_classes *these, const vt_classes *those)
{
    vitcl_status st = VITCL_OK;
    uint32_t *ignored = NULL, i = 0;

    while (i < these->count && i < those->count) {
        const char *a = these->label(these->of, i);
        const char *b = those->label(those->of, i);

        if (!a || !b || strcmp(a, b) != 0)
            break;
        i++;
    }
    if (i == these->count && i == those->count)
        return VITCL_OK;
    VT_TRY(vt_new(&ignored, (size_t)these->count + those->count + 1,
                  sizeof *ignored));
    VT_TRY(match(ignored, these, those, false, false));
    VT_TRY(match(ignored, those, these, false, false));
    st = vt_fail(VITCL_EINVAL,
                 "the classes of %s are in another order than those of %s",
                 these->whose, those->whose);
done:
    free(ignored);
    return st;
}
