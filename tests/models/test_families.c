/*
 * test_families.c - the families' records: nothing in them is said twice, and
 * what is stored of their models stays.
 */
#include "api/program.h"
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

/* What an index and the parts of a run that are on users' disks hold of these
 * models; made by the program before families had records. If one differs, each
 * index of such a model is refused as another model's. */
Test(families, stored_identities)
{
    static const struct {
        const char *folder, *model, *pictures; /* their first digits */
    } rows[] = {
        {"models/hf_aimv2", "175b12dd04ea1c3c", "30c5e691f072d3c6"},
        {"models/hf_altclip", "977e13a6157828e3", "30c5e691f072d3c6"},
        {"models/hf_beit_new_names", "4a1f32a85201be99", "028bf0ae9073d0f0"},
        {"models/hf_chinese_clip", "d4c9f01f52e585b5", "30c5e691f072d3c6"},
        {"models/hf_clip", "b77f94a156ba9c6e", "30c5e691f072d3c6"},
        {"models/hf_clip_classes", "0d13af17f1232cd8", "30c5e691f072d3c6"},
        {"models/hf_data2vec", "2ab2f8a3e59e9b56", "028bf0ae9073d0f0"},
        {"models/hf_deit", "6ee7a5f48a1e81ea", "541b365e714192d6"},
        {"models/hf_dinov2", "a81a009a2d8c1519", "30c5e691f072d3c6"},
        {"models/hf_dinov3", "cef427061fb7b1ee", "e4e429ba53ec1d96"},
        {"models/hf_dpt", "b6c8e09044ee4620", "028bf0ae9073d0f0"},
        {"models/hf_ijepa", "5482b4f584fa7456", "c2b96765b3a1bcea"},
        {"models/hf_metaclip_2", "d00178141b27a986", "30c5e691f072d3c6"},
        {"models/hf_naflex", "79eefe134ccb02fc", "823722e37753041b"},
        {"models/hf_siglip", "2e1b0326f1c1d418", "eed8be4f59d347e1"},
        {"models/hf_tipsv2", "12be90e65f14b4ee", "79af3234163855ad"},
        {"models/hf_vit_new_names", "bae1e3666ef3b030", "c2b96765b3a1bcea"},
        {"models/hf_yolos", "f9551f49e8063f93", "fbdb26f320302261"},
        {"models/hybrid_basic", "9d38a4d052a4ded9", "f319c3b8c89a65cd"},
        {"models/npz_vit", "997c04f0b71eeed2", "917d0137849acaeb"},
        {"models/timm_aimv2", "5bb786f1f5fe7595", "616ed12d52f3fe94"},
        {"models/timm_axial", "a808f0a1efeb2d90", "f319c3b8c89a65cd"},
        {"models/timm_beit_resized", "0da1ffc4df464e2c", "616ed12d52f3fe94"},
        {"models/timm_clip", "4e1992898a152a39", "616ed12d52f3fe94"},
        {"models/timm_deit_distilled", "3bd9da06eb88d95e", "616ed12d52f3fe94"},
        {"models/timm_diff", "f6c9fe09cf01729a", "616ed12d52f3fe94"},
        {"models/timm_dinov3", "ab70e50fa8e0be8f", "616ed12d52f3fe94"},
        {"models/timm_eva02_clip", "4abf0dc41fe859e3", "616ed12d52f3fe94"},
        {"models/timm_mobileclip", "4522c1bb4e86074c", "9c5b94e5368a94c9"},
        {"models/timm_naflex", "54b5b76b68f51846", "2600f0b5bab090f5"},
        {"models/timm_relpos_cls", "e6c2ffa5cd0c80f3", "616ed12d52f3fe94"},
        {"models/timm_resnet", "675aa868398ebf70", "3d78b874b1199707"},
        {"models/timm_resnetd", "51dc60a41bec8f12", "03824cee9af23545"},
        {"models/timm_siglip", "68c5ce6b3bd6583f", "616ed12d52f3fe94"},
        {"models/timm_vit", "c30b2d52927e2677", "616ed12d52f3fe94"},
        {"text/hf_clip", "b5fce6a47e677728", "30c5e691f072d3c6"},
        {"text/hf_siglip2", "7f52006df9a513d7", "eed8be4f59d347e1"},
        {"text/oc_clip", "dfa915c2589f24f6", "1aff60fb50a70fb0"},
        {"text/oc_eva", "194e84af2ce59489", "75349a601b385802"},
        {"text/oc_trunk", "0cfead47feaef856", "75349a601b385802"},
    };

    for (size_t i = 0; i < VT_COUNT(rows); i++) {
        char path[256], model[65], pictures[65];
        vitcl_model *m = NULL;

        snprintf(path, sizeof path, VT_DATA "/%s", rows[i].folder);
        cr_assert_eq(vitcl_model_load(&m, NULL, path), VITCL_OK, "%s",
                     vitcl_last_error());
        cr_assert_eq(vt_model_identity(model, pictures, m, 0, 0), VITCL_OK,
                     "%s", vitcl_last_error());
        cr_expect(strncmp(model, rows[i].model, 16) == 0, "%s: model %s", path,
                  model);
        cr_expect(strncmp(pictures, rows[i].pictures, 16) == 0,
                  "%s: pictures %s", path, pictures);
        vitcl_model_free(m);
    }
}
