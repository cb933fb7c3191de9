/*
 * test_variants.c - the paper's variants, from a config: each overfits 64
 * pictures, the gradients of its own parameters agree with differences of the
 * loss, and swapping patches changes nothing without positions (appendix D.4)
 * and something with them.
 *
 * One test for all: most kernels are compiled once.
 */
#include "product/device.h"
#include "support/near.h"
#include "support/oneplan.h"
#include "support/pictures.h"
#include "train/model_files.h"
#include "train/trainer.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PICTURES 64
#define SIDE 16
#define PLANE (SIDE * SIDE)
#define CLASSES 10

#define VIT(more)                                                              \
    "{\"architecture\": \"vit_tiny_patch16_224\", \"model_args\": "            \
    "{\"img_size\": 16, \"patch_size\": 4, \"embed_dim\": 32, \"depth\": 2, "  \
    "\"num_heads\": 2, \"mlp_ratio\": 2" more "}}"

static const struct {
    const char *name, *config;
    const char *own; /* parameters that no other variant has */
    bool bag;        /* of patches */
    bool conv;       /* patches are not seen one by one */
} variants[] = {
    {"1-D", VIT(""), "pos_embed", false, false},
    {"none", VIT(", \"pos_embed\": \"none\""), NULL, true, false},
    {"none, mean",
     VIT(", \"pos_embed\": \"none\", \"class_token\": false, "
         "\"global_pool\": \"avg\""),
     NULL, true, false},
    {"2-D", VIT(", \"pos_embed\": \"2d\""), "pos_embed", false, false},
    {"relative", VIT(", \"pos_embed\": \"relative\""), "rel_pos_keys", false,
     false},
    {"relative, shared, mean",
     VIT(", \"pos_embed\": \"relative\", \"pos_injection\": \"shared\", "
         "\"class_token\": false, \"global_pool\": \"avg\""),
     "rel_pos_keys", false, false},
    {"1-D in layers", VIT(", \"pos_injection\": \"layer\""), "pos_embed", false,
     false},
    {"1-D shared", VIT(", \"pos_injection\": \"shared\""), "pos_embed", false,
     false},
    {"2-D in layers",
     VIT(", \"pos_embed\": \"2d\", \"pos_injection\": \"layer\""), "pos_embed",
     false, false},
    {"2-D shared, registers, tanh head",
     VIT(", \"pos_embed\": \"2d\", \"pos_injection\": \"shared\", "
         "\"reg_tokens\": 2, \"representation_size\": 24"),
     "pre_logits", false, false},
    {"axial",
     VIT(", \"attention\": \"axial\", \"class_token\": false, "
         "\"global_pool\": \"avg\""),
     "qkv", false, false},
    {"post-norm", VIT(", \"block\": \"post-norm\""), "norm1", false, false},
    {"no skip", VIT(", \"block\": \"no-skip\""), "attn.qkv", false, false},
    {"hybrid, 2-D",
     "{\"architecture\": \"vit_tiny_r_s16_p8_224\", \"model_args\": "
     "{\"img_size\": 16, \"patch_size\": 1, \"embed_dim\": 32, \"depth\": 1, "
     "\"num_heads\": 2, \"mlp_ratio\": 2, \"pos_embed\": \"2d\"}, "
     "\"stem_width\": 32, \"stem_layers\": [1], \"stem_widths\": [128]}",
     "pos_embed", false, true},
    {"hybrid, basic blocks",
     "{\"architecture\": \"vit_tiny_r_s16_p8_224\", \"model_args\": "
     "{\"img_size\": 16, \"patch_size\": 1, \"embed_dim\": 32, \"depth\": 1, "
     "\"num_heads\": 2, \"mlp_ratio\": 2}, \"stem_width\": 32, "
     "\"stem_block\": \"basic\", \"stem_layers\": [1, 1], "
     "\"stem_widths\": [32, 64]}",
     "conv1", false, true},
    {"ResNet",
     "{\"architecture\": \"resnetv2_50x1_bit\", \"model_args\": {\"img_size\": "
     "16, \"layers\": [1, 2], \"channels\": [128, 128], \"stem_chs\": 32}}",
     "weight", false, true},
};

static float pixels[PICTURES * 3 * PLANE], targets[PICTURES * CLASSES];
static float logits[2][PICTURES * CLASSES];

static void fill(void)
{
    unsigned x = 5;

    for (size_t i = 0; i < PICTURES * 3 * PLANE; i++) {
        x = x * 1664525u + 1013904223u;
        pixels[i] = (float)(x >> 8) / (float)(1 << 23) - 1;
    }
    for (int b = 0; b < PICTURES; b++)
        targets[b * CLASSES + b * 7 % CLASSES] = 1;
}

/* Swaps patches (0,1) and (2,3) of every picture. */
static void swap(void)
{
    for (int i = 0; i < PICTURES * 3; i++)
        for (int y = 0; y < 4; y++)
            for (int x = 0; x < 4; x++) {
                float *a = pixels + i * PLANE + y * SIDE + 4 + x;
                float *b = pixels + i * PLANE + (8 + y) * SIDE + 12 + x;
                const float keep = *a;

                *a = *b, *b = keep;
            }
}

static void make(const char *folder, const vt_dataset *d, const char *config)
{
    vt_json *json = NULL;
    vt_model_files p = {0};

    cr_assert_eq(vt_json_parse(&json, config, strlen(config), 8, "test"),
                 VITCL_OK, "%s", vt_message());
    cr_assert_eq(vt_model_files_random(&p, NULL, json, "test", 0, 0, d, 3),
                 VITCL_OK, "%s: %s", config, vt_message());
    cr_assert_eq(vt_model_files_write(&p, folder), VITCL_OK, "%s",
                 vt_message());
    vt_model_files_free(&p);
    vt_json_free(json);
}

static double loss_at(vt_trainer *t, size_t index, float *at, const float *from,
                      const float *g, double step, size_t n)
{
    double loss = 0;

    for (size_t i = 0; i < n; i++)
        at[i] = (float)((double)from[i] + step * (double)g[i]);
    cr_assert_eq(vt_trainer_write(t, index, "", at), VITCL_OK);
    cr_assert_eq(vt_trainer_evaluate(&loss, t, pixels, targets), VITCL_OK, "%s",
                 vt_message());
    return loss;
}

/* Along its gradient g, of `of`, the loss of t must rise by |g| per unit. The
 * step changes it by about 1e-3, thousands of times its rounding error. */
static void check_gradients(vt_trainer *t, vt_trainer *of, const char *variant,
                            const char *own)
{
    for (size_t i = 0; i < vt_trainer_parameters(t); i++) {
        const vt_value *v = vt_trainer_parameter(t, i);
        double norm = 0, step, derivative;
        float *g, *from, *at;
        size_t n = 1;

        if (!strstr(v->name, own))
            continue;
        for (int k = 0; k < v->rank; k++)
            n *= (size_t)v->dim[k];
        g = malloc(n * sizeof *g);
        from = malloc(n * sizeof *from);
        at = malloc(n * sizeof *at);
        cr_assert(vt_trainer_read(g, of, i, "grad") == VITCL_OK &&
                  vt_trainer_read(from, t, i, "") == VITCL_OK);
        for (size_t k = 0; k < n; k++)
            norm += (double)g[k] * (double)g[k];
        norm = sqrt(norm);
        cr_assert_gt(norm, 1e-5, "%s: %s has no gradient", variant, v->name);
        step = fmin(1e-3 / norm, 0.02) / norm;
        derivative = (loss_at(t, i, at, from, g, step, n) -
                      loss_at(t, i, at, from, g, -step, n)) /
                     (2 * step * norm);
        cr_expect_float_eq(derivative, norm, 0.03 * norm + 2e-5,
                           "%s: along the gradient of %s the loss rises by "
                           "%.4g, not %.4g",
                           variant, v->name, derivative, norm);
        cr_assert_eq(vt_trainer_write(t, i, "", from), VITCL_OK);
        free(g);
        free(from);
        free(at);
    }
}

static int right(const float *z)
{
    int n = 0;

    for (int b = 0; b < PICTURES; b++) {
        int best = 0;

        for (int k = 1; k < CLASSES; k++)
            if (z[b * CLASSES + k] > z[b * CLASSES + best])
                best = k;
        n += targets[b * CLASSES + best] > 0;
    }
    return n;
}

/* Steps until all are right; 0: never. Gradients are checked after some of
 * them: at first, queries and so the gradients of relative keys are tiny. */
static int learn(vt_trainer *t, size_t variant)
{
    double loss;

    for (int step = 0; step < 150; step++) {
        cr_assert_eq(vt_trainer_batch(&loss, t, pixels, targets), VITCL_OK,
                     "%s", vt_message());
        cr_assert_eq(vt_trainer_logits(logits[0], t), VITCL_OK);
        if (step == 8 && variants[variant].own)
            check_gradients(t, t, variants[variant].name,
                            variants[variant].own);
        if (right(logits[0]) == PICTURES)
            return step + 1;
        cr_assert_eq(vt_trainer_update(t, 4e-3, step), VITCL_OK);
    }
    return 0;
}

/* Positions are tables with two dimensions; code must not read a third. */
static void check_tables(const vt_trainer *t, const char *variant)
{
    for (size_t i = 0; i < vt_trainer_parameters(t); i++) {
        const vt_value *v = vt_trainer_parameter(t, i);

        if (strstr(v->name, "pos_embed"))
            cr_expect_eq(v->rank, 2, "%s: %s has %d dimensions", variant,
                         v->name, v->rank);
    }
}

/* The largest change of a logit when patches are swapped. */
static double moved(vt_trainer *t)
{
    double loss, worst = 0;

    for (int i = 0; i < 2; i++) {
        cr_assert_eq(vt_trainer_evaluate(&loss, t, pixels, targets), VITCL_OK);
        cr_assert_eq(vt_trainer_logits(logits[i], t), VITCL_OK);
        swap();
    }
    for (int i = 0; i < PICTURES * CLASSES; i++)
        worst =
            vt_worse(worst, fabs((double)logits[0][i] - (double)logits[1][i]));
    return worst;
}

static vt_trainer *open_trainer(vt_model *m, vt_dev *dev, const char *gemm,
                                vitcl_precision precision)
{
    static const vt_optimizer_config optimizer = {
        .optimizer = VT_ADAMW, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8};
    vt_trainer *t = NULL;

    cr_assert_eq(vt_trainer_new(&t, m, &optimizer,
                                &(vt_trainer_options){.dev = dev,
                                                      .gemm = gemm,
                                                      .precision = precision,
                                                      .batch = PICTURES,
                                                      .height = SIDE,
                                                      .width = SIDE}),
                 VITCL_OK, "%s", vt_message());
    return t;
}

static void check_variant(vt_dev *dev, const char *folder, const vt_dataset *d,
                          size_t i)
{
    const char *name = variants[i].name;
    vt_model *m = NULL;
    vt_trainer *t;
    int steps;

    make(folder, d, variants[i].config);
    cr_assert_eq(vt_model_open(&m, folder), VITCL_OK, "%s: %s", name,
                 vt_message());
    t = open_trainer(m, dev, NULL, VITCL_F32);
    check_tables(t, name);
    steps = learn(t, i);
    cr_expect_gt(steps, 0, "%s: %d of 64 after 150 steps", name,
                 right(logits[0]));
    cr_log_info("%-34s %3d steps", name, steps);
    if (variants[i].bag)
        cr_expect_lt(moved(t), 3e-5, "%s: patches have positions: %g", name,
                     moved(t));
    else if (!variants[i].conv)
        cr_expect_gt(moved(t), 3e-4, "%s: patches have no positions: %g", name,
                     moved(t));
    vt_trainer_free(t);
    vt_model_close(m);
}

/* Runs a check with a device, and a folder whose data set is d. */
static void with_data(void (*check)(vt_dev *dev, const char *folder,
                                    const vt_dataset *d))
{
    char *folder = vt_test_folder();
    vt_dataset *d = NULL;
    vt_dev *dev = NULL;

    vt_check(vt_product_open(&dev, getenv("VITCL_TEST_DEVICE")));
    fill();
    vt_test_cifar(folder, CLASSES, 1);
    vt_check(
        vt_dataset_open(&d, folder, &(vt_dataset_options){.split = "train"}));
    check(dev, folder, d);
    vt_dev_free(dev);
    vt_dataset_free(d);
    vt_test_remove(folder);
}

static void check_variants(vt_dev *dev, const char *folder, const vt_dataset *d)
{
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
        check_variant(dev, folder, d, i);
}

Test(variants, overfit_64_pictures)
{
    with_data(check_variants);
}

/* Gradients in bf16, after some steps, against differences of the loss in f32:
 * of bf16's own loss they would be noise. Rounding the factors of a product to
 * 8 bits changes a gradient by about 1 %, and most of that is not along it. */
static void check_bf16(vt_dev *dev, const char *folder, const vt_dataset *d)
{
    vt_model *m = NULL;
    vt_trainer *rounded, *exact;
    double loss;

    make(folder, d, variants[0].config);
    vt_check(vt_model_open(&m, folder));
    rounded = open_trainer(m, dev, "native", VITCL_BF16);
    exact = open_trainer(m, dev, "native", VITCL_F32);
    for (int step = 0; step <= 8; step++) {
        vt_check(vt_trainer_batch(&loss, rounded, pixels, targets));
        if (step < 8)
            vt_check(vt_trainer_update(rounded, 4e-3, step));
    }
    for (size_t i = 0; i < vt_trainer_parameters(exact); i++) {
        const vt_value *v = vt_trainer_parameter(exact, i);
        size_t n = 1;
        float *w;

        for (int k = 0; k < v->rank; k++)
            n *= (size_t)v->dim[k];
        w = malloc(n * sizeof *w);
        vt_check(vt_trainer_read(w, rounded, i, ""));
        vt_check(vt_trainer_write(exact, i, "", w));
        free(w);
    }
    check_gradients(exact, rounded, "bf16", ".weight");
    vt_trainer_free(rounded);
    vt_trainer_free(exact);
    vt_model_close(m);
}

/* By the instructions that are found faster here, or FMAs; on matrix units:
 * test_train.c. */
Test(variants, bf16)
{
    with_data(check_bf16);
}

/* Refused before training starts. */
Test(variants, refused)
{
    static const char *const bad[] = {
        VIT(", \"pos_embed\": \"relative\", \"pos_injection\": \"stem\""),
        VIT(", \"pos_embed\": \"none\", \"pos_injection\": \"layer\""),
        VIT(", \"pos_embed\": \"3d\""),
        VIT(", \"pos_injection\": \"sometimes\""),
        VIT(", \"pos_injection\": \"layer\", \"no_embed_class\": true"),
        VIT(", \"representation_size\": 0"),
        VIT(", \"attention\": \"local\""),
        VIT(", \"block\": \"none\""),
        VIT(", \"attention\": \"axial\""),
        "{\"architecture\": \"vit_tiny_patch16_224\", \"model_args\": "
        "{\"img_size\": 16, \"patch_size\": 4, \"embed_dim\": 32, \"depth\": "
        "3, \"num_heads\": 2, \"class_token\": false, \"global_pool\": "
        "\"avg\", \"attention\": \"axial\"}}",
        VIT(", \"attention\": \"axial\", \"class_token\": false, "
            "\"global_pool\": \"avg\", \"reg_tokens\": 1"),
        VIT(", \"attention\": \"axial\", \"class_token\": false, "
            "\"global_pool\": \"avg\", \"pos_embed\": \"relative\""),
        "{\"architecture\": \"resnetv2_50\"}",
        "{\"architecture\": \"vit_small_resnet26d_224\"}",
        "{\"architecture\": \"vit_base_mci_224\"}",
        "{\"architecture\": \"resnetv2_51x1_bit\"}",
        "{\"architecture\": \"resnetv2_50x1_bit\", \"model_args\": "
        "{\"channels\": [128, 100]}}",
        "{\"architecture\": \"resnetv2_50x1_bit\", \"model_args\": "
        "{\"channels\": [128]}}",
        "{\"architecture\": \"resnetv2_50x1_bit\", \"model_args\": "
        "{\"img_size\": 40}}"};
    char *folder = vt_test_folder();
    vt_dataset *d = NULL;

    vt_test_cifar(folder, CLASSES, 1);
    cr_assert_eq(
        vt_dataset_open(&d, folder, &(vt_dataset_options){.split = "train"}),
        VITCL_OK, "%s", vt_message());
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        vt_json *json = NULL;
        vt_model_files p = {0};

        cr_assert_eq(vt_json_parse(&json, bad[i], strlen(bad[i]), 8, "test"),
                     VITCL_OK);
        cr_expect_neq(vt_model_files_random(&p, NULL, json, "test", 0, 0, d, 0),
                      VITCL_OK, "%s", bad[i]);
        vt_json_free(json);
    }
    vt_dataset_free(d);
    vt_test_remove(folder);
}
