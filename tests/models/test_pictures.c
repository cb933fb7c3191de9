/*
 * test_pictures.c - which of a folder's files define the preprocessing, and the
 * defaults if none does.
 */
#include "base/memory.h"
#include "models/family.h"
#include "models/preprocess.h"
#include "support/paths.h"
#include "support/pictures.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vitcl.h>

static const char *folder;

static const char *at(const char *name)
{
    static char path[4][400];
    static int turn;

    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

static void put(const char *name, const char *text)
{
    FILE *f = fopen(at(name), "wb");

    cr_assert_not_null(f);
    fputs(text, f);
    fclose(f);
}

/* A folder with this case's weights; config NULL: the case's own. */
static void begin(const char *model, const char *config)
{
    char path[256];

    folder = vt_test_folder();
    snprintf(path, sizeof path, VT_DATA "/models/%s/model.safetensors", model);
    cr_assert_eq(symlink(path, at("model.safetensors")), 0);
    snprintf(path, sizeof path, VT_DATA "/models/%s/config.json", model);
    if (config)
        put("config.json", config);
    else
        cr_assert_eq(symlink(path, at("config.json")), 0);
}

typedef struct answer {
    vt_preprocess how;
    uint32_t height, width;
} answer;

static vitcl_status ask(answer *a, const char *path)
{
    vt_model *m = NULL;
    vitcl_status st;

    memset(a, 0, sizeof *a);
    VT_TRY(vt_model_open(&m, path));
    vt_model_input(&a->height, &a->width, m);
    VT_TRY(vt_model_preprocess(&a->how, m, a->height, a->width));
done:
    vt_model_close(m);
    return st;
}

static answer expect(const char *path)
{
    answer a;

    cr_assert_eq(ask(&a, path), VITCL_OK, "%s", vt_message());
    return a;
}

static bool same(const vt_preprocess *a, const vt_preprocess *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

#define CLIP_LIKE                                                              \
    "{\"image_processor_type\": \"CLIPImageProcessor\", \"resample\": 3,"      \
    "\"size\": {\"shortest_edge\": 24}, \"do_center_crop\": true,"             \
    "\"crop_size\": {\"height\": 24, \"width\": 24},"                          \
    "\"image_mean\": [0.4, 0.5, 0.6], \"image_std\": [0.2, 0.3, 0.4]}"
#define OTHER                                                                  \
    "{\"image_processor_type\": \"ViTImageProcessor\", \"resample\": 0,"       \
    "\"size\": {\"height\": 24, \"width\": 24}}"

/* transformers reads processor_config.json first, and the other file if the
 * first has no image processor. */
Test(pictures, processor_files)
{
    answer old, new, both, other;

    begin("hf_clip", NULL);
    put("preprocessor_config.json", CLIP_LIKE);
    old = expect(folder);
    cr_expect(old.how.mean[0] == 0.4f && old.how.fit == VT_FIT_SHORTEST);
    put("preprocessor_config.json", OTHER);
    other = expect(folder);
    cr_expect_eq(other.how.filter, VT_NEAREST);
    put("processor_config.json", "{\"image_processor\": " CLIP_LIKE
                                 ", \"processor_class\": \"CLIPProcessor\"}");
    both = expect(folder);
    remove(at("preprocessor_config.json"));
    new = expect(folder);
    /* one file is of transformers 5, which resizes by torchvision */
    cr_expect_eq(new.how.pixels, VT_PIXELS_TORCHVISION);
    old.how.pixels = VT_PIXELS_TORCHVISION;
    cr_expect(same(&new.how, &old.how));
    cr_expect(same(&both.how, &old.how));
    put("preprocessor_config.json", OTHER);
    put("processor_config.json", "{\"processor_class\": \"CLIPProcessor\"}");
    new = expect(folder);
    cr_expect(same(&new.how, &other.how));
    vt_test_remove(folder);
}

/* Without a file: the defaults of transformers' class, from its own dump in
 * tests/data/preprocess/defaults. */
Test(pictures, defaults_are_the_librarys)
{
    DIR *d = opendir(VT_DATA "/preprocess/defaults");
    int n = 0;

    cr_assert_not_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        char path[512], type[64];
        const vt_family *f;
        const char *usual;
        vt_preprocess all, none;
        vt_json *json = NULL;

        if (!strstr(e->d_name, ".json"))
            continue;
        snprintf(path, sizeof path, VT_DATA "/preprocess/defaults/%.60s",
                 e->d_name);
        snprintf(type, sizeof type, "%.*s",
                 (int)(strlen(e->d_name) - strlen(".json")), e->d_name);
        f = vt_family_of_type(type);
        usual = f ? vt_hf_class_of(f, type)->processor : type;
        memset(&all, 0, sizeof all);
        memset(&none, 0, sizeof none);
        cr_assert_eq(vt_json_load(&json, path, 1 << 16, 8), VITCL_OK);
        for (uint32_t px = 224; px <= 448; px += 224) {
            cr_assert_eq(
                vt_preprocess_hf(&all, json, VT_PROCESSORS(""), px, px, "x"),
                VITCL_OK, "%s: %s", type, vt_message());
            cr_assert_eq(vt_preprocess_hf(&none, NULL, VT_PROCESSORS(usual), px,
                                          px, "x"),
                         VITCL_OK, "%s: %s", type, vt_message());
            cr_expect(same(&all, &none), "%s at %u", type, px);
        }
        vt_json_free(json);
        n++;
    }
    closedir(d);
    cr_expect_geq(n, 10);
}

Test(pictures, nothing_is_guessed)
{
    vt_preprocess how;
    answer a, clip;

    cr_expect_eq(
        vt_preprocess_hf(&how, NULL, VT_PROCESSORS("swin"), 224, 224, "x"),
        VITCL_EUNSUPPORTED);
    cr_expect_not_null(strstr(vt_message(), "swin"));
    begin("hf_clip", NULL);
    clip = expect(folder);
    cr_expect_float_eq(clip.how.mean[0], 0.48145466f, 1e-7f);
    cr_expect(clip.how.fit == VT_FIT_SHORTEST && clip.how.crop == VT_CROP_HF &&
              clip.how.filter == VT_BICUBIC);
    /* an unknown processor is an error and gets no defaults */
    put("processor_config.json",
        "{\"image_processor\": {\"image_processor_type\": \"XProcessor\"}}");
    cr_expect_eq(ask(&a, folder), VITCL_EUNSUPPORTED);
    put("processor_config.json", "{\"image_processor\": 7}");
    cr_expect_eq(ask(&a, folder), VITCL_ECORRUPT);
    vt_test_remove(folder);
}

/* HF's DINOv2 takes any size, so the processor's is the model's; a ViT's is
 * its own, to which the processor's sizes are scaled. */
Test(pictures, the_processors_size)
{
    static const char crop[] =
        "{\"image_processor_type\": \"BitImageProcessor\","
        "\"size\": {\"shortest_edge\": 18},"
        "\"crop_size\": {\"height\": 16, \"width\": 8}}";
    answer a;

    begin("hf_dinov2", NULL);
    put("preprocessor_config.json", crop);
    a = expect(folder);
    cr_expect(a.height == 16 && a.width == 8, "%ux%u", a.height, a.width);
    cr_expect_eq(a.how.resize_height, 18);
    put("preprocessor_config.json",
        "{\"size\": {\"height\": 32, \"width\": 24},"
        "\"do_center_crop\": false}");
    a = expect(folder);
    cr_expect(a.height == 32 && a.width == 24, "%ux%u", a.height, a.width);
    /* smaller than a patch: no size for this model */
    put("preprocessor_config.json", "{\"crop_size\": 4}");
    a = expect(folder);
    cr_expect(a.height == 24 && a.width == 24, "%ux%u", a.height, a.width);
    remove(at("preprocessor_config.json"));
    a = expect(folder);
    cr_expect(a.height == 24 && a.width == 24, "%ux%u", a.height, a.width);
    vt_test_remove(folder);
    begin("hf_vit_resized", NULL);
    put("preprocessor_config.json", "{\"size\": 16}");
    a = expect(folder);
    cr_expect(a.height == 24 && a.how.resize_height == 24);
    vt_test_remove(folder);
}

#define TIMM                                                                   \
    "{\"architecture\": \"vit_base_patch16_224\", \"num_classes\": 5,"         \
    "\"model_args\": {\"img_size\": 24, \"patch_size\": 8, \"embed_dim\": 16," \
    "\"depth\": 2, \"num_heads\": 2}, "
#define WORDS                                                                  \
    "\"crop_pct\": 0.75, \"interpolation\": \"lanczos\","                      \
    "\"mean\": [0.1, 0.2, 0.3], \"std\": [0.4, 0.5, 0.6]"

/* timm's words inside or outside pretrained_cfg, with a file of HF's in the
 * same folder. */
Test(pictures, timms_folder)
{
    answer nested, flat, both, out;

    begin("timm_vit", TIMM "\"pretrained_cfg\": {" WORDS "}}");
    nested = expect(folder);
    cr_expect(nested.how.mean[2] == 0.3f && nested.how.filter == VT_LANCZOS &&
              nested.how.resize_height == 32);
    put("preprocessor_config.json", OTHER);
    both = expect(folder);
    cr_expect(same(&both.how, &nested.how));
    put("preprocessor_config.json", "{\"size\": "); /* timm never opens it */
    put("processor_config.json", "no JSON at all");
    both = expect(folder);
    cr_expect(same(&both.how, &nested.how));
    remove(at("preprocessor_config.json"));
    remove(at("processor_config.json"));
    put("config.json", TIMM WORDS "}");
    flat = expect(folder);
    cr_expect(same(&flat.how, &nested.how));
    cr_assert_eq(vitcl_convert(at("hf"), folder, "hf", NULL), VITCL_OK, "%s",
                 vt_message());
    out = expect(at("hf"));
    cr_expect(memcmp(out.how.mean, flat.how.mean, sizeof out.how.mean) == 0);
    cr_expect(memcmp(out.how.std, flat.how.std, sizeof out.how.std) == 0);
    cr_expect(out.how.filter == flat.how.filter &&
              out.how.fit == flat.how.fit &&
              out.how.resize_height == flat.how.resize_height &&
              out.height == flat.height);
    vt_test_remove(folder);
}

/* An invalid processor file is an error only where it is needed. */
Test(pictures, broken_processor_files)
{
    static const char broken[] = "{\"size\": ";
    const char *const names[] = {"preprocessor_config.json",
                                 "processor_config.json"};
    size_t size, config_size;
    unsigned char *weights, *config;
    vt_model *m = NULL;
    answer a;

    begin("hf_clip", NULL);
    for (int i = 0; i < 2; i++) {
        put(names[i], broken);
        cr_expect_eq(ask(&a, folder), VITCL_ECORRUPT);
        cr_expect_not_null(strstr(vt_message(), names[i]), "%s", vt_message());
        remove(at(names[i]));
    }
    for (int i = 0; i < 2; i++) {
        if (i)
            begin("timm_vit", NULL);
        weights = vt_test_bytes(&size, folder, "model.safetensors");
        config = vt_test_bytes(&config_size, folder, "config.json");
        cr_expect_eq(
            vt_model_open_memory(
                &m,
                &(vitcl_model_files){.size = sizeof(vitcl_model_files),
                                     .weights = weights,
                                     .weights_bytes = size,
                                     .config = (const char *)config,
                                     .config_bytes = config_size,
                                     .preprocessor = broken,
                                     .preprocessor_bytes = sizeof broken - 1}),
            i ? VITCL_OK : VITCL_ECORRUPT, "%s", vt_message());
        vt_model_close(m);
        free(weights);
        free(config);
        vt_test_remove(folder);
    }
}
