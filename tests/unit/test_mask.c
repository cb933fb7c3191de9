/*
 * test_mask.c - masked patch prediction: which patches are masked and
 * predicted, the gradient, and a whole pre-training with fine-tuning.
 */
#include "data/mask.h"

#include "support/device.h"
#include "support/pictures.h"
#include "support/rng.h"
#include "train/loop.h"
#include "train/model_files.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ok(expr) cr_assert_eq((expr), VITCL_OK, "%s", vt_message())

/* ---- the mask ---- */

enum { PATCHES = 49, DRAWS = 4000 };

static void choose(int32_t *source, uint8_t *asked, int patches, uint64_t state,
                   uint64_t epoch, uint64_t picture)
{
    vt_random r = vt_random_new(state, epoch, picture);

    ok(vt_mask_choose(source, asked, patches, &r));
}

Test(mask, masks_half_with_the_papers_shares)
{
    int32_t source[PATCHES];
    uint8_t asked[PATCHES];
    int hidden[PATCHES] = {0}, masks = 0, others = 0, kept = 0;

    for (int i = 0; i < DRAWS; i++) {
        int n = 0;

        choose(source, asked, PATCHES, 3, (uint64_t)i % 7, (uint64_t)i);
        for (int k = 0; k < PATCHES; k++) {
            cr_assert(source[k] >= -1 && source[k] < PATCHES);
            cr_assert(asked[k] || source[k] == k, "an intact patch was moved");
            n += asked[k];
            hidden[k] += asked[k];
            masks += source[k] == -1;
            others += source[k] >= 0 && source[k] != k;
            kept += asked[k] && source[k] == k;
        }
        cr_assert_eq(n, 25, "%d of %d", n, PATCHES);
    }
    /* 100000 draws: five standard deviations */
    cr_expect_lt(abs(masks - 80000), 633, "%d masks", masks);
    cr_expect_lt(abs(others - 10000), 475, "%d others", others);
    cr_expect_lt(abs(kept - 10000), 475, "%d kept", kept);
    for (int k = 0; k < PATCHES; k++) /* of 4000, 25 in 49 */
        cr_expect_lt(abs(hidden[k] - 2041), 158, "patch %d: %d", k, hidden[k]);
}

/* A replaced patch becomes any of the other patches with equal probability,
 * never itself: with five patches, the shares for each pair. */
Test(mask, replaces_by_any_other_patch)
{
    enum { FEW = 5, TIMES = 100000 };
    int32_t source[FEW];
    uint8_t asked[FEW];
    int from[FEW][FEW] = {{0}}, corrupted[FEW] = {0};

    for (int i = 0; i < TIMES; i++) {
        choose(source, asked, FEW, 4, 0, (uint64_t)i);
        for (int k = 0; k < FEW; k++) {
            corrupted[k] += asked[k];
            if (asked[k] && source[k] >= 0)
                from[k][source[k]]++;
        }
    }
    for (int k = 0; k < FEW; k++)
        for (int j = 0; j < FEW; j++) {
            /* itself: a tenth, which is kept; others share a tenth */
            const double p = k == j ? 0.1 : 0.1 / (FEW - 1);
            const double n = corrupted[k];

            cr_expect_float_eq(from[k][j], n * p, 5 * sqrt(n * p * (1 - p)),
                               "%d for %d: %d of %g", j, k, from[k][j], n);
        }
}

Test(mask, depends_on_state_epoch_and_picture)
{
    static const uint64_t key[4][3] = {
        {1, 2, 3}, {9, 2, 3}, {1, 9, 3}, {1, 2, 9}};
    int32_t first[PATCHES], source[PATCHES];
    uint8_t asked[PATCHES];

    choose(first, asked, PATCHES, 1, 2, 3);
    for (int i = 0; i < 4; i++) {
        choose(source, asked, PATCHES, key[i][0], key[i][1], key[i][2]);
        cr_expect_eq(memcmp(first, source, sizeof first) == 0, i == 0);
    }
    choose(source, asked, 1, 1, 2, 3); /* a picture of one patch */
    cr_expect(asked[0] && (source[0] == 0 || source[0] == -1));
}

/* 3 x 5 patches of 2 x 4 pixels: each channel's mean, cut to 3 bits. */
Test(mask, classes_are_mean_colours)
{
    enum { W = 20, H = 6 };
    static uint8_t rgb[H * W * 3];
    vt_picture p = {W, H, rgb};
    int32_t colour[15];
    vt_rng r = {4};

    for (size_t i = 0; i < sizeof rgb; i++)
        rgb[i] = (uint8_t)vt_rng_bits(&r);
    memset(rgb, 255, 12); /* the first patch: white above, black below */
    memset(rgb + W * 3, 0, 12);
    vt_mask_colours(colour, &p, 2, 4);
    cr_expect_eq(colour[0], 3 * 64 + 3 * 8 + 3, "%d", colour[0]);
    for (int n = 0; n < 15; n++) {
        double mean[3] = {0, 0, 0};

        for (int i = 0; i < 8; i++)
            for (int c = 0; c < 3; c++)
                mean[c] +=
                    rgb[((n / 5 * 2 + i / 4) * W + n % 5 * 4 + i % 4) * 3 + c] /
                    8.0;
        cr_expect_eq(colour[n], (int)(mean[0] / 32) * 64 +
                                    (int)(mean[1] / 32) * 8 +
                                    (int)(mean[2] / 32));
    }
}

/* ---- the gradient ---- */

enum { BATCH = 3, GRID = 16, PIXELS = BATCH * 3 * 32 * 32 };

typedef struct bench {
    vt_model *model;
    vt_trainer *trainer;
    float pixels[PIXELS], targets[BATCH * GRID * VT_COLOURS];
    float logits[BATCH * GRID * VT_COLOURS];
    int32_t colour[BATCH * GRID];
} bench;

static void open_bench(bench *b, const char *root, const char *more)
{
    vt_optimizer_config optimizer = {.optimizer = VT_SGD};
    vt_model_files files = {0};
    vt_json *json = NULL;
    int32_t source[BATCH * GRID];
    vt_rng r = {8};

    ok(vt_json_load(&json, vt_test_config(root, more), 1 << 16, 8));
    ok(vt_model_files_random(&files, NULL, json, "test", 0, 0, NULL, 2));
    ok(vt_model_files_write(&files, root));
    ok(vt_model_open(&b->model, root));
    cr_expect_eq(vt_model_config(b->model)->classes, 0);
    ok(vt_trainer_new(&b->trainer, b->model, &optimizer,
                      &(vt_trainer_options){.dev = vt_test_device(),
                                            .gemm = "plain",
                                            .batch = BATCH,
                                            .height = 32,
                                            .width = 32,
                                            .masked = true}));
    cr_assert_eq(vt_trainer_rows(b->trainer), GRID);
    cr_assert_eq(vt_trainer_classes(b->trainer), VT_COLOURS);
    vt_rng_fill(&r, b->pixels, PIXELS, 1, 0);
    for (int i = 0; i < BATCH; i++) {
        uint8_t asked[GRID];

        choose(source + i * GRID, asked, GRID, 1, 0, (uint64_t)i);
        for (int n = 0; n < GRID; n++)
            b->colour[i * GRID + n] = asked[n] ? (i * 100 + n * 7) % 512 : -1;
    }
    ok(vt_trainer_corrupt(b->trainer, source));
    vt_mask_targets(b->targets, b->colour, BATCH * GRID, 0);
    vt_model_files_free(&files);
    vt_json_free(json);
}

static void close_bench(bench *b)
{
    vt_trainer_free(b->trainer);
    vt_model_close(b->model);
}

/* The mean loss over the patches to predict, from the logits. */
static double loss_of(const bench *b)
{
    double sum = 0;
    int n = 0;

    for (int i = 0; i < BATCH * GRID; i++) {
        const float *z = b->logits + i * VT_COLOURS;
        double all = 0;

        if (b->colour[i] < 0)
            continue;
        for (int k = 0; k < VT_COLOURS; k++)
            all += exp((double)z[k]);
        sum += log(all) - (double)z[b->colour[i]];
        n++;
    }
    return sum / n;
}

/* Along the gradient the loss must rise at the rate of its norm; this tests
 * every component that matters. */
static void check_derivative(bench *b, const char *name)
{
    const vt_value *v = NULL;
    size_t i = 0, n = 1;
    double length = 0, loss[2], derivative, h = 0.02;
    float *g, *w, *moved;

    while (i < vt_trainer_parameters(b->trainer) &&
           strcmp(vt_trainer_parameter(b->trainer, i)->name, name) != 0)
        i++;
    cr_assert_lt(i, vt_trainer_parameters(b->trainer), "%s", name);
    v = vt_trainer_parameter(b->trainer, i);
    for (int d = 0; d < v->rank; d++)
        n *= (size_t)v->dim[d];
    g = malloc(n * sizeof *g), w = malloc(n * sizeof *w);
    moved = malloc(n * sizeof *moved);
    ok(vt_trainer_read(g, b->trainer, i, "grad"));
    ok(vt_trainer_read(w, b->trainer, i, ""));
    for (size_t k = 0; k < n; k++)
        length += (double)g[k] * (double)g[k];
    length = sqrt(length);
    cr_assert_gt(length, 1e-3, "%s: %g", name, length);
    for (int side = 0; side < 2; side++) {
        for (size_t k = 0; k < n; k++)
            moved[k] = w[k] + (float)((side ? -h : h) * (double)g[k] / length);
        ok(vt_trainer_write(b->trainer, i, "", moved));
        ok(vt_trainer_evaluate(&loss[side], b->trainer, b->pixels, b->targets));
    }
    derivative = (loss[0] - loss[1]) / (2 * h);
    cr_expect_float_eq(derivative / length, 1, 0.02, "%s: %g, not %g", name,
                       derivative, length);
    ok(vt_trainer_write(b->trainer, i, "", w));
    free(g), free(w), free(moved);
}

Test(mask, gradient_matches_differences)
{
    static const char *const variants[] = {
        "", ", \"class_token\": false, \"global_pool\": \"avg\""};
    static bench b;

    for (int i = 0; i < 2; i++) {
        char *root = vt_test_folder();
        double loss;

        open_bench(&b, root, variants[i]);
        ok(vt_trainer_batch(&loss, b.trainer, b.pixels, b.targets));
        ok(vt_trainer_logits(b.logits, b.trainer));
        cr_expect_float_eq(loss, loss_of(&b), 1e-5, "%.7f", loss);
        check_derivative(&b, "mpp_mask");
        check_derivative(&b, "patch_embed.proj.weight");
        check_derivative(&b, "pos_embed");
        check_derivative(&b, "mpp_head.weight");
        close_bench(&b);
        vt_test_remove(root);
    }
}

/* ---- a whole pre-training ---- */

Test(mask, pre_trains_resumes_and_is_fine_tuned)
{
    char *root = vt_test_folder();
    vitcl_device *d = NULL;
    vitcl_train_event last = {.size = sizeof last};
    vt_test_watch w = {.stop = 0};
    vitcl_train_options o = {.size = sizeof o,
                             .config = vt_test_config(root, ""),
                             .data = root,
                             .output = vt_test_path(root, "whole"),
                             .objective = "masked-patch",
                             .epochs = 30,
                             .batch = 16,
                             .micro = 8,
                             .hold_out = 8,
                             .lr = 3e-3};
    const char *whole = o.output, *parts = vt_test_path(root, "parts");

    cr_assert_eq(vitcl_device_open(&d, getenv("VITCL_TEST_DEVICE")), VITCL_OK,
                 "%s", vitcl_last_error());
    vt_test_cifar(root, 40, 2);
    ok(vitcl_train(&last, d, &o, vt_test_look, &w));
    cr_expect_float_eq(w.first, log(512), 0.1, "%.3f", w.first);
    cr_expect_lt(last.loss, 2.5, "%.3f", last.loss);
    cr_expect_lt(last.held_out_loss, 2.5, "%.3f", last.held_out_loss);
    cr_expect_gt(last.accuracy, 0.3, "%.3f", last.accuracy);
    w = (vt_test_watch){.stop = 23};
    o.output = parts;
    ok(vitcl_train(&last, d, &o, vt_test_look, &w));
    cr_assert_eq(last.step, 23);
    ok(vitcl_train(&last, d,
                   &(vitcl_train_options){.size = sizeof(vitcl_train_options),
                                          .output = parts,
                                          .resume = 1},
                   NULL, NULL));
    vt_test_same(whole, parts, "training.safetensors");
    vt_test_same(whole, parts, "model.safetensors");
    o = (vitcl_train_options){.size = sizeof(vitcl_train_options),
                              .model = whole,
                              .data = root,
                              .output = vt_test_path(root, "tuned"),
                              .batch = 16};
    w = (vt_test_watch){.stop = 1};
    ok(vitcl_train(&last, d, &o, vt_test_look, &w));
    cr_expect_float_eq(w.first, log(10), 1e-6, "%.9f", w.first);
    o.output = vt_test_path(root, "other");
    o.objective = "masked-patch";
    cr_expect_eq(vitcl_train(&last, d, &o, NULL, NULL), VITCL_EUNSUPPORTED);
    o.objective = "colours";
    cr_expect_eq(vitcl_train(&last, d, &o, NULL, NULL), VITCL_EINVAL);
    vitcl_device_free(d);
    vt_test_remove(root);
}
