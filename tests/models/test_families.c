/*
 * test_families.c - the families' records: nothing in them is said twice.
 */
#include "base/memory.h"
#include "base/words.h"
#include "models/config.h"
#include "models/family.h"
#include "models/fields.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* How often the key stands in a list "a|b". */
static int times(const char *words, const char *key)
{
    const size_t n = strlen(key);
    int found = 0;

    while (words && *words) {
        const size_t m = strcspn(words, "|");

        found += n == m && memcmp(words, key, n) == 0;
        words += m + (words[m] != 0);
    }
    return found;
}

static int rows(const vt_field *f, const char *key)
{
    int found = 0;

    for (; f && f->key; f++)
        found += strcmp(f->key, key) == 0;
    return found;
}

static void once(const vt_keys *k, const char *key, const char *whose)
{
    const int n =
        rows(k->fields, key) + times(k->idle, key) + times(k->none, key);

    cr_expect_eq(n, 1, "%s: %s stands %d times", whose, key, n);
}

static void each_word(const vt_keys *k, const char *words, const char *whose)
{
    char key[64];

    for (; words && *words; words += words[0] == '|') {
        const size_t n = strcspn(words, "|");

        snprintf(key, sizeof key, "%.*s", (int)n, words);
        once(k, key, whose);
        words += n;
    }
}

static void each_row(const vt_keys *k, const vt_field *f, const char *whose)
{
    for (; f && f->key; f++) {
        once(k, f->key, whose);
        cr_expect(f->at < sizeof(vt_config) && f->kind > 0);
        cr_expect(f->kind == VT_IS_ONLY || f->kind == VT_IS_FIXED || f->at > 0,
                  "%s: %s is neither kept nor seen", whose, f->key);
    }
}

static void check_keys(const vt_keys *k, const char *whose)
{
    each_row(k, k->fields, whose);
    each_word(k, k->idle, whose);
    each_word(k, k->none, whose);
}

/* The first match counts: a type in two families would never be the second's,
 * and a mark behind one of any name never counts. */
static void check_classes(const vt_family *f)
{
    for (const vt_hf_class *k = f->hf; k && k->types; k++) {
        cr_assert(k->keys, "%s", k->types);
        cr_expect(k->eps > 0 && k->act != VT_ACT_NONE, "%s", k->types);
        cr_expect(!k->other || !k->text);
        check_keys(k->keys, k->types);
        cr_expect_eq(vt_family_of_type(k->types),
                     strchr(k->types, '|') ? NULL : f, "%s", k->types);
    }
}

static void check_marks(const vt_family *f)
{
    bool any[16] = {false};

    for (const vt_mark *m = f->marks; m && m->part; m++) {
        cr_expect_not(any[m->what], "%s: \"%s\"", f->name, m->part);
        any[m->what] = any[m->what] || !m->part[0];
    }
}

/* What is written for Hugging Face has the keys of the class that reads it. */
Test(families, written)
{
    static const vt_config models[] = {
        {.family = &vt_family_vit},
        {.family = &vt_family_vit, .dist_token = true},
        {.family = &vt_family_beit},
        {.family = &vt_family_vit, .layer_scale = true},
        {.family = &vt_family_vit, .layer_scale = true, .registers = 4},
        {.family = &vt_family_vit, .pre_norm = true},
        {.family = &vt_family_vit, .attn_pool = true},
    };
    static const char *const types[] = {"vit",
                                        "deit",
                                        "beit",
                                        "dinov2",
                                        "dinov2_with_registers",
                                        "clip_vision_model",
                                        "siglip_vision_model"};

    for (size_t i = 0; i < VT_COUNT(models); i++) {
        const vt_writing *as = vt_writing_of(&models[i], false);
        const vt_family *f = vt_family_of_type(types[i]);

        cr_assert(as && f);
        cr_expect_str_eq(as->type, types[i]);
        cr_expect_eq(vt_hf_class_of(f, types[i])->keys, as->keys, "%s",
                     types[i]);
        cr_expect(as->timm && as->names && as->prefix);
    }
}

Test(families, records)
{
    for (size_t i = 0; vt_families[i]; i++) {
        const vt_family *f = vt_families[i];

        cr_expect(f->name && f->looks && f->configure && f->build);
        cr_expect(f->hf || f->timm || f->match, "%s", f->name);
        if (f->args)
            check_keys(f->args, f->name);
        check_classes(f);
        check_marks(f);
    }
}
