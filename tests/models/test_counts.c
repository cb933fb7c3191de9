/*
 * test_counts.c - presets: the paper's models have exactly these sizes.
 *
 * Parameters with a head of 1000 classes, biases included, and
 * multiply-accumulates of one picture (spec: counted by hand from table 1 of
 * arXiv:2010.11929).
 */
#include "api/program.h"
#include "models/model.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>
#include <vitcl_train.h>

Test(counts, presets)
{
    static const struct {
        const char *name;
        uint32_t size;
        uint64_t parameters;
        double gmac;
        int tokens;
    } cases[] = {
        {"vit-b/16", 224, 86567656, 17.56, 197},
        {"vit-b/16", 384, 86859496, 55.48, 577},
        {"vit-b/32", 224, 88224232, 4.41, 50},
        {"vit-l/16", 224, 304326632, 61.55, 197},
        {"vit-l/16", 512, 305174504, 361.99, 1025},
        {"vit-l/32", 224, 306535400, 15.38, 50},
        {"vit-h/14", 224, 632045800, 167.30, 257},
        {"vit-h/14", 518, 633470440, 1016.72, 1370},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        vt_model *m = NULL;
        double macs = 0;
        const int px = (int)cases[i].size;
        cr_assert_eq(vt_model_preset(&m, cases[i].name, cases[i].size),
                     VITCL_OK, "%s", vt_message());
        cr_expect_eq(vt_model_parameters(m), cases[i].parameters, "%s: %llu",
                     cases[i].name, (unsigned long long)vt_model_parameters(m));
        cr_expect_eq(vt_model_tokens(m, px, px), cases[i].tokens);
        cr_assert_eq(vt_model_macs(&macs, m, px, px), VITCL_OK, "%s",
                     vt_message());
        cr_expect(fabs(macs / 1e9 - cases[i].gmac) < 0.006, "%s@%d: %.3f GMAC",
                  cases[i].name, px, macs / 1e9);
        vt_model_close(m);
    }
}

/* Other names than "vit-b/16"; parameters as timm.create_model() counts. */
Test(counts, names_of_timm_and_the_paper)
{
    static const struct {
        const char *name, *family;
        uint64_t parameters;
        int tokens;
    } cases[] = {
        {"ViT-B/16", "vit", 86567656, 197},
        {"vit_base_patch16_384", "vit", 86859496, 197},
        {"vit_tiny_r_s16_p8_224", "hybrid", 6337704, 50},
        {"R+ViT-Ti/16", "hybrid", 6337704, 50},
        {"vit_small_r26_s32_224", "hybrid", 36431912, 50},
        {"r26+vit-s/32", "hybrid", 36431912, 50},
        {"R26+ViT-B/32", "hybrid", 101383976, 50},
        {"vit_base_r50_s16_224", "hybrid", 98659112, 197},
        {"R50+ViT-B/16", "hybrid", 98659112, 197},
        {"R50+B/16", "hybrid", 98659112, 197},
        {"vit_large_r50_s32_224", "hybrid", 328994856, 50},
        {"resnetv2_50x1_bit", "resnet", 25549352, 49},
        {"ResNet50x1", "resnet", 25549352, 49},
        {"R101x1", "resnet", 44541480, 49},
        {"resnet152x2", "resnet", 236335208, 49},
        {"Axial-ViT-B/16", "axial", 171620584, 196},
        {"axial-vit-ti/16", "axial", 11055400, 196},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        vt_model *m = NULL;

        cr_assert_eq(vt_model_preset(&m, cases[i].name, 0), VITCL_OK, "%s",
                     vt_message());
        cr_expect_str_eq(vt_model_family(m), cases[i].family);
        cr_expect_eq(vt_model_parameters(m), cases[i].parameters, "%s: %llu",
                     cases[i].name, (unsigned long long)vt_model_parameters(m));
        cr_expect_eq(vt_model_tokens(m, 224, 224), cases[i].tokens, "%s: %d",
                     cases[i].name, vt_model_tokens(m, 224, 224));
        vt_model_close(m);
    }
}

/* The paper's table 6, in exaFLOPs: over JFT-300M's 303 million pictures, two
 * operations a multiply-accumulate, backward twice as much as forward, without
 * the head. ViT-B/32 has 55 there, 2 % less than its layers need. */
Test(counts, table_6)
{
    static const struct {
        const char *name;
        int epochs;
        double exaflops;
    } cases[] = {
        {"vit-b/16", 7, 224},   {"vit-l/32", 7, 196},   {"vit-l/16", 7, 783},
        {"vit-l/16", 14, 1567}, {"vit-h/14", 14, 4262},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        vt_model *m = NULL;
        double macs = 0, have;

        cr_assert_eq(vt_model_preset(&m, cases[i].name, 0), VITCL_OK, "%s",
                     vt_message());
        cr_assert_eq(vt_model_macs(&macs, m, 224, 224), VITCL_OK, "%s",
                     vt_message());
        macs -= (double)vt_model_config(m)->width * 1000;
        have = 6 * macs * 303e6 * cases[i].epochs / 1e18;
        cr_expect(fabs(have / cases[i].exaflops - 1) < 0.0025, "%s: %.1f",
                  cases[i].name, have);
        vt_model_close(m);
    }
}

/* Names that only look like a preset's. */
Test(counts, no_presets)
{
    static const char *const names[] = {
        "",
        "vit-b/",
        "vit-b/0",
        "vit-b/65",
        "b/16",
        "r50+vit-b/14",
        "r26+b/16",
        "r51+vit-b/16",
        "+vit-b/16",
        "r50+",
        "resnet50",
        "resnet51x1",
        "resnet50x",
        "resnet50x1x",
        "resnet50x10",
        "r50x0",
        "vit_base_patch16",
        "vit_base_patch16_clip_224",
        "vit_base_",
        "vit_base_r50_s16",
        "vit_base_patch16_224.augreg",
        "vit_",
        "resnetv2_50x1",
        "resnetv2_50x1_bitm",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        vt_model *m = NULL;

        cr_expect_eq(vt_model_preset(&m, names[i], 0), VITCL_EINVAL, "%s",
                     names[i]);
        vt_model_close(m);
    }
}

Test(counts, preset_names)
{
    vt_model *m = NULL;
    uint32_t n = 0;
    char names[512];

    cr_expect_eq(vt_preset_check("?"), VITCL_EINVAL);
    snprintf(names, sizeof names, "%s", strstr(vt_message(), " are ") + 5);
    for (char *name = strtok(names, ", ");
         strchr(name, '/') || strchr(name, 'x'); name = strtok(NULL, ", ")) {
        cr_expect_eq(vt_preset_check(name), VITCL_OK, "%s", name);
        n++;
    }
    cr_expect_eq(n, 17);
    cr_expect_eq(vt_preset_check("vit-x/16"), VITCL_EINVAL);
    cr_expect_eq(vt_model_preset(&m, "vit-x/16", 0), VITCL_EINVAL);
    cr_expect_not_null(strstr(vt_message(), "vit-b/16"), "%s", vt_message());
    cr_expect_eq(vt_model_preset(&m, "vit-b/16", 230), VITCL_EINVAL);
    cr_expect_eq(vt_model_preset(&m, "vit-h/14", 224), VITCL_OK);
    vt_model_close(m);
}

/* Random weights are small, have the right deviation, are reproducible, and
 * differ by name. */
Test(counts, random_weights)
{
    enum { N = 100000 };
    static float a[N], b[N];
    const double n = (double)N;
    vt_model *m = NULL;
    double sum = 0, square = 0, most = 0;

    cr_assert_eq(vt_model_preset(&m, "vit-ti/16", 0), VITCL_OK);
    cr_assert_eq(vt_model_read_param(a, m, "blocks.0.attn.qkv.weight", N),
                 VITCL_OK);
    cr_assert_eq(vt_model_read_param(b, m, "blocks.0.attn.qkv.weight", N),
                 VITCL_OK);
    cr_expect_eq(memcmp(a, b, sizeof a), 0);
    for (int i = 0; i < N; i++) {
        sum += a[i];
        square += (double)a[i] * a[i];
        most = fmax(most, fabs(a[i]));
    }
    cr_expect(fabs(sum / n) < 3e-4, "mean %g", sum / n);
    cr_expect(fabs(sqrt(square / n) - 0.0255) < 3e-4, "deviation %g",
              sqrt(square / n));
    cr_expect(most < 0.0626, "%g", most);
    cr_assert_eq(vt_model_read_param(b, m, "blocks.1.attn.qkv.weight", N),
                 VITCL_OK);
    cr_expect_neq(memcmp(a, b, sizeof a), 0);
    cr_assert_eq(vt_model_read_param(b, m, "norm.weight", 192), VITCL_OK);
    cr_expect(fabs(b[191] - 1) < 0.25, "%g", b[191]);
    cr_assert_eq(vt_model_read_param(b, m, "norm.bias", 192), VITCL_OK);
    cr_expect(b[191] != 0 && fabs(b[191]) < 0.25, "%g", b[191]);
    vt_model_close(m);
}
