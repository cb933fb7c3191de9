/*
 * test_model_files.c - untrained models, and trained ones with new heads.
 */
#include "base/memory.h"
#include "models/family.h"
#include "train/model_files.h"

#include "support/near.h"
#include "support/pictures.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vitcl.h>

static const char vit[] =
    "{\"architecture\": \"vit_tiny_patch16_224\", \"model_args\": "
    "{\"img_size\": 32, \"patch_size\": 8, \"embed_dim\": 64, \"depth\": 2, "
    "\"num_heads\": 2%s}}";

static vt_dataset *open_pictures(const char *folder)
{
    vt_dataset *d = NULL;

    vt_test_cifar(folder, 10, 1);
    cr_assert_eq(
        vt_dataset_open(&d, folder, &(vt_dataset_options){.split = "train"}),
        VITCL_OK, "%s", vt_message());
    return d;
}

static vt_json *parse(const char *text)
{
    vt_json *json = NULL;

    cr_assert_eq(vt_json_parse(&json, text, strlen(text), 8, "test"), VITCL_OK,
                 "%s", vt_message());
    return json;
}

static void make(const char *folder, const char *text, const vt_dataset *d,
                 uint64_t random_state)
{
    vt_json *json = parse(text);
    vt_model_files p = {0};

    cr_assert_eq(
        vt_model_files_random(&p, NULL, json, "test", 0, 0, d, random_state),
        VITCL_OK, "%s", vt_message());
    cr_assert_eq(vt_model_files_write(&p, folder), VITCL_OK, "%s",
                 vt_message());
    vt_model_files_free(&p);
    vt_json_free(json);
}

static double moment(vt_model *m, const char *name, uint64_t n, int power)
{
    float *x = NULL;
    double sum = 0;

    cr_assert_eq(vt_model_weight(&x, m, name, n), VITCL_OK, "%s", vt_message());
    for (uint64_t i = 0; i < n; i++)
        sum += pow((double)x[i], power);
    free(x);
    return sum / (double)n;
}

Test(model_files, draws_as_timm_does)
{
    char *folder = vt_test_folder(), text[512];
    vt_dataset *d = open_pictures(folder);
    vt_model *m = NULL;
    unsigned char *file[3];
    size_t size[3];

    snprintf(text, sizeof text, vit, ", \"init_values\": 0.25");
    for (int i = 0; i < 3; i++) {
        make(folder, text, d, i < 2 ? 1 : 2);
        file[i] = vt_test_bytes(&size[i], folder, "model.safetensors");
        cr_assert(file[i] && size[i] == size[0]);
    }
    cr_expect(memcmp(file[0], file[1], size[0]) == 0, "not the same twice");
    cr_expect(memcmp(file[0], file[2], size[0]) != 0, "the state says nothing");
    cr_assert_eq(vt_model_open(&m, folder), VITCL_OK, "%s", vt_message());
    cr_expect_eq(vt_model_config(m)->classes, 10);
    cr_expect_str_eq(vt_model_label(m, 3), "3");
    /* 12,288 numbers: the deviation is within 2 % of the requested one, the
     * mean within four standard errors of 0 */
    cr_expect_float_eq(sqrt(moment(m, "blocks.1.attn.qkv.weight", 192 * 64, 2)),
                       0.02, 4e-4);
    cr_expect_float_eq(moment(m, "blocks.1.attn.qkv.weight", 192 * 64, 1), 0,
                       8e-4);
    /* uniform of +- 1 / sqrt(192): deviation 1 / sqrt(3 * 192) */
    cr_expect_float_eq(sqrt(moment(m, "patch_embed.proj.weight", 192 * 64, 2)),
                       1 / sqrt(3 * 192.0), 1e-3);
    cr_expect_eq(moment(m, "norm.weight", 64, 1), 1);
    cr_expect_eq(moment(m, "blocks.0.ls1.gamma", 64, 1), 0.25);
    cr_expect_eq(moment(m, "blocks.0.mlp.fc1.bias", 256, 2), 0);
    vt_model_close(m);
    for (int i = 0; i < 3; i++)
        free(file[i]);
    vt_dataset_free(d);
    vt_test_remove(folder);
}

Test(model_files, presets_and_hybrids_open)
{
    static const char *const hybrids[] = {
        "{\"architecture\": \"vit_tiny_r_s16_p8_224\", \"model_args\": "
        "{\"img_size\": 64, \"depth\": 1}}",
        "{\"architecture\": \"vit_tiny_r_s16_p8_224\", \"model_args\": "
        "{\"img_size\": [32, 64], \"patch_size\": 1, \"depth\": 1}, "
        "\"stem_layers\": [1, 2], \"stem_widths\": [128, 256]}",
        "{\"architecture\": \"vit_small_r26_s32_224\", \"model_args\": "
        "{\"img_size\": 64, \"depth\": 1}}"};
    static const uint64_t tokens[] = {5, 33, 5};
    char *folder = vt_test_folder();
    vt_dataset *d = open_pictures(folder);
    vt_model *m = NULL;
    vt_model_files p = {0};

    for (int i = 0; i < 3; i++) {
        const vt_config *c;

        make(folder, hybrids[i], d, 1);
        cr_assert_eq(vt_model_open(&m, folder), VITCL_OK, "%d: %s", i,
                     vt_message());
        c = vt_model_config(m);
        cr_expect_str_eq(c->family->name, "hybrid");
        cr_expect_eq((uint64_t)vt_model_tokens(m, c->height, c->width_px),
                     tokens[i], "%d", i);
        vt_model_close(m);
    }
    cr_assert_eq(vt_model_files_random(&p, "vit-ti/16", NULL, NULL, 0, 0, d, 1),
                 VITCL_OK, "%s", vt_message());
    cr_assert_eq(vt_model_files_write(&p, folder), VITCL_OK, "%s",
                 vt_message());
    vt_model_files_free(&p);
    cr_assert_eq(vt_model_open(&m, folder), VITCL_OK, "%s", vt_message());
    /* the paper's count, its 1000 classes made ten */
    cr_expect_eq(vt_model_parameters(m), 5717416u - 990 * 193, "%llu",
                 (unsigned long long)vt_model_parameters(m));
    vt_model_close(m);
    vt_dataset_free(d);
    vt_test_remove(folder);
}

/* What training makes of a preset is as `info` says, but for the head. */
Test(model_files, presets_are_those_of_plans)
{
    static const struct {
        const char *name;
        uint32_t side;
    } cases[] = {{"vit-ti/16", 0},
                 {"vit-ti/4", 32},
                 {"vit-s/9", 45},
                 {"r+vit-ti/16", 32},
                 {"resnet50x1", 32}};
    char *folder = vt_test_folder();
    vt_dataset *d = open_pictures(folder);

    for (size_t i = 0; i < VT_COUNT(cases); i++) {
        const char *name = cases[i].name;
        const uint32_t side = cases[i].side;
        vt_model *made = NULL, *planned = NULL;
        const vt_config *a, *b;
        vt_model_files p = {0};

        cr_assert_eq(
            vt_model_files_random(&p, name, NULL, NULL, side, side, d, 1),
            VITCL_OK, "%s", vt_message());
        cr_assert_eq(vt_model_files_write(&p, folder), VITCL_OK, "%s",
                     vt_message());
        vt_model_files_free(&p);
        cr_assert_eq(vt_model_open(&made, folder), VITCL_OK, "%s",
                     vt_message());
        cr_assert_eq(vt_model_preset(&planned, name, side), VITCL_OK, "%s",
                     vt_message());
        a = vt_model_config(made), b = vt_model_config(planned);
        cr_expect_eq(a->height, b->height, "%s", name);
        cr_expect_eq(a->patch_h, b->patch_h, "%s", name);
        cr_expect_eq(a->depth, b->depth, "%s", name);
        cr_expect_eq(a->heads, b->heads, "%s", name);
        cr_expect_eq(a->mlp, b->mlp, "%s", name);
        cr_expect_eq(vt_model_parameters(planned) - vt_model_parameters(made),
                     (uint64_t)(1000 - a->classes) * (uint64_t)(a->width + 1),
                     "%s", name);
        vt_model_close(planned);
        vt_model_close(made);
    }
    vt_dataset_free(d);
    vt_test_remove(folder);
}

/* The largest change of a logit when patches 1 and 6 are swapped. */
static double swapped(const char *folder)
{
    static float x[3 * 32 * 32], y[3 * 32 * 32];
    vitcl_device *device = NULL;
    vitcl_model *model = NULL;
    vitcl_session *session = NULL;
    float a[10], b[10];
    double worst = 0;

    for (int i = 0; i < 3 * 32 * 32; i++)
        x[i] = (float)sin(i * 0.37 + 0.01 * (i % 71));
    memcpy(y, x, sizeof x);
    for (int c = 0; c < 3; c++)
        for (int r = 0; r < 8; r++) { /* (0,8) and (8,16) */
            float *one = y + c * 1024 + r * 32 + 8;
            float *two = y + c * 1024 + (8 + r) * 32 + 16;

            memcpy(one, x + (two - y), 8 * sizeof *one);
            memcpy(two, x + (one - y), 8 * sizeof *two);
        }
    cr_assert(vitcl_device_open(&device, getenv("VITCL_TEST_DEVICE")) == 0 &&
                  vitcl_model_load(&model, device, folder) == 0 &&
                  vitcl_session_new(&session, model, NULL) == 0 &&
                  vitcl_session_run_values(session, x, 1) == 0 &&
                  vitcl_session_read(a, 10, session, "logits", 1) == 0 &&
                  vitcl_session_run_values(session, y, 1) == 0 &&
                  vitcl_session_read(b, 10, session, "logits", 1) == 0,
              "%s", vitcl_last_error());
    for (int i = 0; i < 10; i++)
        worst = vt_worse(worst, fabs((double)a[i] - (double)b[i]));
    vitcl_session_free(session);
    vitcl_model_free(model);
    vitcl_device_free(device);
    return worst;
}

/* Without positions the order of patches does not matter (paper, D.4). */
Test(model_files, bag_of_patches)
{
    char *folder = vt_test_folder(), text[512];
    vt_dataset *d = open_pictures(folder);

    snprintf(text, sizeof text, vit, ", \"pos_embed\": \"none\"");
    make(folder, text, d, 3);
    cr_expect_lt(swapped(folder), 1e-6, "%g", swapped(folder));
    snprintf(text, sizeof text, vit, "");
    make(folder, text, d, 3);
    cr_expect_gt(swapped(folder), 1e-5, "%g", swapped(folder));
    vt_dataset_free(d);
    vt_test_remove(folder);
}

/* timm writes the number of classes into model_args, too, and uses it; if it
 * stayed there, the new head would not fit. */
Test(model_files, finetune_replaces_the_classes)
{
    static const char config[] =
        "{\"architecture\": \"vit_base_patch16_224\", \"num_classes\": 5, "
        "\"model_args\": {\"num_classes\": 5, \"in_chans\": 3, \"img_size\": "
        "24, "
        "\"patch_size\": 8, \"embed_dim\": 16, \"depth\": 2, "
        "\"num_heads\": 2}}";
    char *folder = vt_test_folder(), *path = NULL;
    vt_dataset *d = open_pictures(folder);
    vt_model *m = NULL;
    vt_model_files p = {0};
    FILE *f;

    cr_assert_eq(vt_format(&path, "%s/config.json", folder), VITCL_OK);
    f = fopen(path, "w");
    cr_assert_not_null(f);
    fputs(config, f);
    fclose(f);
    free(path);
    cr_assert_eq(vt_format(&path, "%s/model.safetensors", folder), VITCL_OK);
    cr_assert_eq(symlink(VT_DATA "/models/timm_vit/model.safetensors", path),
                 0);
    free(path);
    cr_assert_eq(vt_model_open(&m, folder), VITCL_OK, "%s", vt_message());
    cr_assert_eq(vt_model_files_finetune(&p, m, 0, 0, d), VITCL_OK, "%s",
                 vt_message());
    cr_expect_null(strstr(p.config, "\"num_classes\": 5"), "%s", p.config);
    cr_expect_not_null(strstr(p.config, "\"in_chans\": 3"), "%s", p.config);
    cr_expect_not_null(strstr(p.config, "\"embed_dim\": 16"), "%s", p.config);
    vt_model_files_free(&p);
    vt_model_close(m);
    vt_dataset_free(d);
    vt_test_remove(folder);
}

/* Positions are resized to the new grid, and keep their form: rows of the
 * model's width, or half of it along each axis. */
Test(model_files, finetune_at_another_size)
{
    static const struct {
        const char *more, *name;
        uint32_t rank;
        uint64_t shape[3];
    } cases[] = {
        {"", "pos_embed", 3, {1, 1 + 6 * 8, 64}},
        {", \"class_token\": false, \"global_pool\": \"avg\"",
         "pos_embed",
         3,
         {1, 6 * 8, 64}},
        {", \"pos_embed\": \"2d\"", "pos_embed_x", 2, {8, 32}},
        {", \"pos_embed\": \"2d\"", "pos_embed_y", 2, {6, 32}},
        {", \"pos_embed\": \"2d\", \"pos_injection\": \"layer\"",
         "blocks.1.pos_embed_x",
         2,
         {8, 32}},
    };
    char *folder = vt_test_folder(), text[512];
    vt_dataset *d = open_pictures(folder);

    for (size_t i = 0; i < VT_COUNT(cases); i++) {
        const uint64_t *shape = cases[i].shape;
        vt_model *m = NULL;
        vt_model_files p = {0};
        size_t k = 0;

        snprintf(text, sizeof text, vit, cases[i].more);
        make(folder, text, d, 1);
        cr_assert_eq(vt_model_open(&m, folder), VITCL_OK, "%s", vt_message());
        cr_assert_eq(vt_model_files_finetune(&p, m, 48, 64, d), VITCL_OK, "%s",
                     vt_message());
        while (k < p.count && strcmp(p.tensor[k].name, cases[i].name) != 0)
            k++;
        cr_assert_lt(k, p.count, "%s: no %s", text, cases[i].name);
        cr_expect_eq(p.tensor[k].rank, cases[i].rank, "%s: rank %u", text,
                     p.tensor[k].rank);
        cr_expect(memcmp(p.tensor[k].shape, shape,
                         sizeof *shape * cases[i].rank) == 0,
                  "%s: %s has another shape", text, cases[i].name);
        vt_model_files_free(&p);
        vt_model_close(m);
    }
    vt_dataset_free(d);
    vt_test_remove(folder);
}

Test(model_files, refuses_invalid_options)
{
    static const char *const bad[] = {
        "{}",
        "{\"architecture\": \"vit_base_patch16_224\", \"model_args\": "
        "{\"num_heads\": 7}}",
        "{\"architecture\": \"vit_base_patch16_224\", \"model_args\": "
        "{\"depth\": -1}}",
        "{\"architecture\": \"vit_base_patch16_224\", \"model_args\": "
        "{\"img_size\": 30}}",
        "{\"architecture\": \"vit_base_patch16_224\", \"model_args\": "
        "{\"class_token\": false}}",
        "{\"architecture\": \"vit_base_patch0_224\"}",
        "{\"architecture\": \"vit_base_r50_s16_224\", \"stem_layers\": [2]}",
        "{\"architecture\": \"vit_base_r50_s16_224\", \"stem_layers\": [2], "
        "\"stem_widths\": [96]}",
        "{\"architecture\": \"vit_base_r50_s16_224\", \"stem_block\": "
        "\"best\"}"};
    char *folder = vt_test_folder();
    vt_dataset *d = open_pictures(folder);

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        vt_json *json = parse(bad[i]);
        vt_model_files p = {0};

        cr_expect_neq(vt_model_files_random(&p, NULL, json, "test", 0, 0, d, 0),
                      VITCL_OK, "%s", bad[i]);
        vt_json_free(json);
    }
    vt_dataset_free(d);
    vt_test_remove(folder);
}
