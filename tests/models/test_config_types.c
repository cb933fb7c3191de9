/*
 * test_config_types.c - every field of a checkpoint's JSON with a value of
 * every other type: it is refused with one line, or has no effect.
 *
 * The fields are found in the text, so new cases in tests/data/models are
 * covered automatically. If a config with a wrong type is accepted, it must
 * equal the original bit for bit: a wrong type never counts as missing.
 */
#include "convert/convert.h"
#include "models/model.h"
#include "models/preprocess.h"
#include "support/paths.h"
#include "support/pictures.h"
#include "train/arch_spec.h"

#include <criterion/criterion.h>
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vitcl.h>

typedef struct span {
    size_t from, to;
    char type; /* its first letter; '0' for numbers, 'b' for true and false */
    bool label;
} span;

static struct {
    span at[512];
    size_t n;
    const char *text;
} found;

static char type_of(const char *value)
{
    return *value == 't' || *value == 'f'                    ? 'b'
           : isdigit((unsigned char)*value) || *value == '-' ? '0'
                                                             : *value;
}

static size_t skip_string(size_t at)
{
    for (at++; found.text[at] != '"'; at++)
        at += found.text[at] == '\\';
    return at + 1;
}

static size_t blank(size_t at)
{
    return at + strspn(found.text + at, " \n\r\t,:");
}

/* Notes the value at `at` and all below it; returns where it ends. */
static size_t walk(size_t at, bool label)
{
    const char *s = found.text;
    const size_t mine = found.n++;
    const size_t from = at;

    cr_assert_lt(mine, 512);
    if (s[at] == '{' || s[at] == '[') {
        const bool object = s[at] == '{';
        for (at = blank(at + 1); s[at] != '}' && s[at] != ']';) {
            bool inner = label;
            if (object) {
                inner |= strncmp(s + at, "\"label", 6) == 0 ||
                         strncmp(s + at, "\"id2label", 9) == 0;
                at = blank(skip_string(at));
            }
            at = blank(walk(at, inner));
        }
        at++;
    } else if (s[at] == '"') {
        at = skip_string(at);
    } else {
        at += strcspn(s + at, ",]} \n\r\t");
    }
    found.at[mine] = (span){from, at, type_of(s + from), label};
    return at;
}

/* Where one number does for two or three alike, each is as good. */
static bool either(const span *v, const char *other)
{
    const bool sides = strncmp(found.text + v->from, "{\"height\"", 9) == 0;

    return ((v->type == '[' || sides) && type_of(other) == '0') ||
           ((v->type == '0' || sides) && strcmp(other, "[7]") == 0);
}

static void find_spans(const char *text)
{
    found.n = 0;
    found.text = text;
    walk(0, false);
}

static const char *const others[] = {
    "true", "7",   "-1.5", "1e300",      "\"x\"",      "[]",
    "{}",   "[7]", "[[]]", "{\"a\": 7}", "{\"0\": {}}"};

/* The span with another value in its place. */
static const char *changed(size_t i, const char *value)
{
    static char text[1 << 16];

    snprintf(text, sizeof text, "%.*s%s%s", (int)found.at[i].from, found.text,
             value, found.text + found.at[i].to);
    return text;
}

static const char *slurp(const char *path)
{
    static char text[1 << 15];
    FILE *f = fopen(path, "rb");
    size_t n;

    cr_assert_not_null(f, "%s", path);
    n = fread(text, 1, sizeof text - 1, f);
    cr_assert_lt(n, sizeof text - 1);
    text[n] = 0;
    fclose(f);
    return text;
}

static const char *folder;

static const char *at(const char *name)
{
    static char path[2][400];
    static int turn;

    turn = !turn;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

static void put(const char *name, const char *text)
{
    FILE *f;

    remove(at(name)); /* some file systems flush a truncated file */
    f = fopen(at(name), "wb");
    cr_assert_not_null(f);
    fputs(text, f);
    fclose(f);
}

static void begin(const char *weights)
{
    folder = vt_test_folder();
    if (weights)
        cr_assert_eq(symlink(weights, at("model.safetensors")), 0);
}

static void expect_line(const char *text)
{
    const char *m = vt_message();

    cr_expect(m && *m && !strchr(m, '\n'), "no line for %s", text);
}

typedef struct state {
    vt_config config;
    vt_preprocess how;
    vitcl_status how_status;
} state;

static vitcl_status open_state(state *s)
{
    vt_model *m = NULL;
    const vitcl_status st = vt_model_open(&m, folder);

    memset(s, 0, sizeof *s);
    if (st != VITCL_OK)
        return st;
    s->config = *vt_model_config(m);
    for (uint32_t i = 0; i < (uint32_t)s->config.classes + 1; i++) {
        const char *label = vt_model_label(m, i);
        cr_expect(!label || strlen(label) < 99);
        label = vt_model_longname(m, i);
        cr_expect(!label || strlen(label) < 99);
    }
    s->how_status = vt_model_preprocess(&s->how, m, (uint32_t)s->config.height,
                                        (uint32_t)s->config.width_px);
    vt_model_close(m);
    return st;
}

static bool same(const state *a, const state *b)
{
    return memcmp(&a->config, &b->config, sizeof a->config) == 0 &&
           (b->how_status != VITCL_OK ||
            memcmp(&a->how, &b->how, sizeof a->how) == 0);
}

/* Replaces each value of `text`, the content of `name`, by every other type. */
static int try_all(const char *name, const char *text)
{
    state good, now;
    int n = 0;

    put(name, text);
    cr_assert_eq(open_state(&good), VITCL_OK, "%s: %s", text, vt_message());
    cr_assert_eq(good.how_status, VITCL_OK, "%s: %s", text, vt_message());
    find_spans(text);
    for (size_t i = 0; i < found.n; i++)
        for (size_t k = 0; k < sizeof others / sizeof *others; k++, n++) {
            const char *wrong;
            if (type_of(others[k]) == found.at[i].type)
                continue;
            wrong = changed(i, others[k]);
            put(name, wrong);
            if (open_state(&now) != VITCL_OK) {
                expect_line(wrong);
                continue;
            }
            if (now.how_status != VITCL_OK)
                expect_line(wrong);
            cr_expect(either(&found.at[i], others[k]) || same(&good, &now),
                      "%s: %.*s became %s and is read as something else", name,
                      (int)(found.at[i].to - found.at[i].from),
                      text + found.at[i].from, others[k]);
            if (found.at[i].label && strchr("[{", found.at[i].type) &&
                vitcl_convert(at("out"), folder, "hf", NULL) != VITCL_OK)
                expect_line(wrong);
        }
    put(name, text);
    return n;
}

static int visible(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

Test(config_types, every_field_of_every_case)
{
    struct dirent **list = NULL;
    const int n = scandir(VT_DATA "/models", &list, visible, alphasort);
    int tried = 0;

    for (int i = 0; i < n; i++) {
        char path[512];
        snprintf(path, sizeof path, VT_DATA "/models/%.200s/model.safetensors",
                 list[i]->d_name);
        if (vt_have(path)) {
            begin(path);
            snprintf(path, sizeof path, VT_DATA "/models/%.200s/config.json",
                     list[i]->d_name);
            tried += try_all("config.json", slurp(path));
            vt_test_remove(folder);
        }
        free(list[i]);
    }
    free(list);
    cr_expect_gt(tried, 9000, "%d tried", tried);
}

/* Fields that those cases do not have. */
Test(config_types, rare_fields)
{
    static const char timm[] =
        "{\"architecture\": \"vit_base_patch16_224\", \"num_classes\": 5,"
        "\"global_pool\": \"token\", \"model_args\": {\"img_size\": [24, 24],"
        "\"patch_size\": [8, 8], \"embed_dim\": 16, \"depth\": 2,"
        "\"num_heads\": 2, \"reg_tokens\": 0, \"representation_size\": null,"
        "\"act_layer\": \"gelu\", \"global_pool\": \"token\","
        "\"pos_embed\": \"learn\", \"pos_injection\": \"stem\","
        "\"final_norm\": true, \"pool_include_prefix\": false},"
        "\"label_names\": {\"0\": \"a\", \"1\": \"c\", \"2\": \"d\","
        "\"3\": \"e\", \"4\": \"b\"},"
        "\"label_descriptions\": {\"b\": \"bee\"},"
        "\"pretrained_cfg\": {\"input_size\": [3, 24, 24], \"crop_pct\": 0.9,"
        "\"crop_mode\": \"center\", \"interpolation\": \"bicubic\","
        "\"mean\": [0.4, 0.5, 0.6], \"std\": [0.2, 0.3, 0.4]}}";
    static const char flat[] =
        "{\"architecture\": \"vit_base_patch16_224\", \"num_classes\": 5,"
        "\"model_args\": {\"img_size\": 24, \"patch_size\": 8,"
        "\"embed_dim\": 16, \"depth\": 2, \"num_heads\": 2},"
        "\"crop_pct\": 0.9, \"crop_mode\": \"squash\","
        "\"interpolation\": \"lanczos\", \"mean\": [0.4, 0.5, 0.6],"
        "\"std\": [0.2, 0.3, 0.4]}";
    static const char processor[] =
        "{\"image_processor_type\": \"ViTImageProcessor\","
        "\"do_resize\": true, \"size\": {\"height\": 24, \"width\": 24},"
        "\"resample\": 3, \"do_center_crop\": true,"
        "\"crop_size\": {\"height\": 24, \"width\": 24},"
        "\"do_rescale\": true, \"rescale_factor\": 0.01,"
        "\"do_normalize\": true, \"do_convert_rgb\": true,"
        "\"image_mean\": [0.4, 0.5, 0.6], \"image_std\": [0.2, 0.3, 0.4]}";

    begin(VT_DATA "/models/timm_vit/model.safetensors");
    try_all("config.json", timm);
    try_all("config.json", flat);
    vt_test_remove(folder);
    begin(VT_DATA "/models/hf_vit_resized/model.safetensors");
    put("config.json", slurp(VT_DATA "/models/hf_vit_resized/config.json"));
    try_all("preprocessor_config.json", processor);
    vt_test_remove(folder);
}

/* An index of shards, and a config that a training starts from. */
Test(config_types, other_files)
{
    static const char index[] =
        "{\"metadata\": {\"total_size\": 7}, \"weight_map\": {\"a\": \"b.st\","
        "\"c\": \"d.st\"}}";
    static const char fresh[] =
        "{\"architecture\": \"vit_small_r26_s32_224\", \"num_classes\": 5,"
        "\"global_pool\": \"token\", \"model_args\": {\"img_size\": 32,"
        "\"embed_dim\": 64, \"depth\": 1, \"num_heads\": 2, \"mlp_ratio\": 4,"
        "\"qkv_bias\": true, \"class_token\": true, \"reg_tokens\": 1,"
        "\"no_embed_class\": true, \"init_values\": 0.1, \"fc_norm\": false,"
        "\"pos_embed\": \"learn\", \"representation_size\": 8},"
        "\"stem_width\": 64, \"stem_layers\": [1], \"stem_widths\": [128],"
        "\"stem_block\": \"bottleneck\","
        "\"pretrained_cfg\": {\"crop_pct\": 0.9}}";

    begin(NULL);
    find_spans(index);
    for (size_t i = 0; i < found.n; i++)
        for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
            vt_tensors *t = NULL;
            put("model.safetensors.index.json", changed(i, others[k]));
            cr_expect_neq(vt_tensors_open(&t, folder), VITCL_OK);
            expect_line(others[k]);
            vt_tensors_free(t);
        }
    vt_test_remove(folder);
    find_spans(fresh);
    for (size_t i = 0; i < found.n; i++)
        for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
            const char *text = changed(i, others[k]);
            vt_arch_spec b;
            vt_json *json = NULL;
            cr_assert_eq(vt_json_parse(&json, text, strlen(text), 9, "x"),
                         VITCL_OK, "%s", vt_message());
            if (vt_arch_spec_read(&b, NULL, json, "x", 0, 0) != VITCL_OK)
                expect_line(text);
            vt_json_free(json);
        }
}
