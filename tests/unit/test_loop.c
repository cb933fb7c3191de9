/*
 * test_loop.c - complete trainings of a tiny model.
 */
#include "train/loop.h"

#include "models/model.h"
#include "support/near.h"
#include "support/pictures.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static vitcl_device *device(void)
{
    vitcl_device *d = NULL;

    cr_assert_eq(vitcl_device_open(&d, getenv("VITCL_TEST_DEVICE")), VITCL_OK,
                 "%s", vitcl_last_error());
    return d;
}

/* 64 pictures, every variant: at the end all are classified correctly. */
Test(loop, overfits)
{
    static const char *const variants[] = {
        "", ", \"class_token\": false, \"global_pool\": \"avg\"",
        ", \"pos_embed\": \"none\", \"reg_tokens\": 2, \"qk_norm\": true",
        ", \"init_values\": 0.7, \"qkv_bias\": false"};
    char *root = vt_test_folder();
    vitcl_device *d = device();

    vt_test_cifar(root, 64, 3);
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        char name[8];
        vt_test_watch w = {.stop = 0};
        vitcl_train_event last = {.size = sizeof last};

        snprintf(name, sizeof name, "out%zu", i);
        cr_assert_eq(
            vitcl_train(&last, d,
                        &(vitcl_train_options){
                            .size = sizeof(vitcl_train_options),
                            .config = vt_test_config(root, variants[i]),
                            .data = root,
                            .output = vt_test_path(root, name),
                            .epochs = 120,
                            .batch = 64,
                            .lr = 3e-3,
                            .augment = "none"},
                        vt_test_look, &w),
            VITCL_OK, "%s", vitcl_last_error());
        cr_expect_eq(last.step, 120);
        cr_expect_eq(last.accuracy, 1, "variant %zu: %.3f", i, last.accuracy);
        cr_expect_lt(last.loss, 1, "variant %zu: %.3f", i, last.loss);
        cr_expect_float_eq(w.first, log(10), 0.3, "variant %zu: %.3f", i,
                           w.first);
    }
    vitcl_device_free(d);
    vt_test_remove(root);
}

/* Interrupted at any step and resumed: the same bytes. */
Test(loop, resumes_to_the_bit)
{
    static const char *const settings[] = {
        "{\"ema\": 0.9, \"label_smoothing\": 0.1, \"dropout\": 0.1, "
        "\"drop_path\": 0.2}",
        "{\"optimizer\": \"sgd\", \"momentum\": 0.8, \"schedule\": "
        "\"linear\"}"};
    char *root = vt_test_folder();
    vitcl_device *d = device();
    unsigned x = 12345;

    vt_test_cifar(root, 70, 4);
    for (int i = 0; i < 2; i++) {
        vitcl_train_event last = {.size = sizeof last};
        vitcl_train_options o = {.size = sizeof o,
                                 .config = vt_test_config(root, ""),
                                 .data = root,
                                 .epochs = 5,
                                 .batch = 16,
                                 .micro = i ? 0 : 8,
                                 .augment = i ? "light" : "full",
                                 .random_state = 11,
                                 .hold_out = 20,
                                 .settings =
                                     vt_test_path(root, "settings.json")};
        char *whole = vt_test_path(root, i ? "whole1" : "whole0");
        char *parts = vt_test_path(root, i ? "parts1" : "parts0");

        vt_test_text(root, "settings.json", settings[i]);
        o.output = whole;
        cr_assert_eq(vitcl_train(&last, d, &o, NULL, NULL), VITCL_OK, "%s",
                     vitcl_last_error());
        cr_assert_eq(last.steps, 15, "%llu", (unsigned long long)last.steps);
        cr_expect(last.scored && last.saved);
        o.output = parts;
        for (uint64_t step = 0; step < last.steps;) {
            vt_test_watch w = {.stop = 0};

            x = x * 1664525u + 1013904223u;
            w.stop = step + 1 + (x >> 28) % 5;
            cr_assert_eq(vitcl_train(&last, d, &o, vt_test_look, &w), VITCL_OK,
                         "%s", vitcl_last_error());
            cr_assert_gt(last.step, step);
            step = last.step;
            o = (vitcl_train_options){.size = sizeof(vitcl_train_options),
                                      .output = parts,
                                      .resume = 1};
        }
        vt_test_same(whole, parts, "training.safetensors");
        vt_test_same(whole, parts, "model.safetensors");
        o.batch = 3;
        cr_expect_eq(vitcl_train(&last, d, &o, NULL, NULL), VITCL_EINVAL,
                     "another batch was taken");
    }
    vitcl_device_free(d);
    vt_test_remove(root);
}

/* Four micro-batches of 8 give the step of one batch of 32, up to rounding. */
static void accumulate(const char *objective)
{
    char *root = vt_test_folder();
    vitcl_device *d = device();
    unsigned char *file[2] = {NULL, NULL};
    size_t size[2] = {0, 0}, header;
    double worst = 0, most = 0, loss[2];

    vt_test_cifar(root, 32, 8);
    vt_test_text(root, "s.json", "{\"optimizer\": \"sgd\"}");
    for (int i = 0; i < 2; i++) {
        vitcl_train_event last = {.size = sizeof last};
        char *out = vt_test_path(root, i ? "micro" : "whole");

        cr_assert_eq(vitcl_train(&last, d,
                                 &(vitcl_train_options){
                                     .size = sizeof(vitcl_train_options),
                                     .config = vt_test_config(root, ""),
                                     .data = root,
                                     .output = out,
                                     .objective = objective,
                                     .batch = 32,
                                     .micro = i ? 8 : 32,
                                     .epochs = 3,
                                     .settings = vt_test_path(root, "s.json"),
                                     .lr = 0.1},
                                 NULL, NULL),
                     VITCL_OK, "%s", vitcl_last_error());
        loss[i] = last.loss;
        file[i] = vt_test_bytes(&size[i], out, "model.safetensors");
        cr_assert(file[i]);
    }
    cr_expect_float_eq(loss[1], loss[0], 1e-5);
    cr_assert_eq(size[0], size[1]);
    header = 8 + (file[0][0] | (size_t)file[0][1] << 8);
    for (size_t at = header; at + 4 <= size[0]; at += 4) {
        float a, b;

        memcpy(&a, file[0] + at, 4);
        memcpy(&b, file[1] + at, 4);
        most = fmax(most, fabs((double)a));
        worst = vt_worse(worst, fabs((double)a - (double)b));
    }
    cr_expect_lt(worst, 1e-6 * most, "%g, largest %g", worst, most);
    free(file[0]);
    free(file[1]);
    vitcl_device_free(d);
    vt_test_remove(root);
}

Test(loop, accumulates)
{
    accumulate("classes");
    accumulate("masked-patch");
}

/* Dropout is off while held-out pictures are scored. */
Test(loop, drops_only_in_training)
{
    static const char *const settings[] = {"{}", "{\"dropout\": 0.5}",
                                           "{\"drop_path\": 0.5}"};
    char *root = vt_test_folder();
    vitcl_device *d = device();
    vitcl_train_event e[3];

    vt_test_cifar(root, 48, 9);
    for (int i = 0; i < 3; i++) {
        vt_test_text(root, "s.json", settings[i]);
        e[i].size = sizeof e[i];
        cr_assert_eq(
            vitcl_train(&e[i], d,
                        &(vitcl_train_options){
                            .size = sizeof(vitcl_train_options),
                            .config = vt_test_config(root, ""),
                            .data = root,
                            .output = vt_test_path(root, i == 0   ? "a"
                                                         : i == 1 ? "b"
                                                                  : "c"),
                            .batch = 32,
                            .hold_out = 16,
                            .lr = 1e-30,
                            .settings = vt_test_path(root, "s.json")},
                        NULL, NULL),
            VITCL_OK, "%s", vitcl_last_error());
        cr_expect_float_eq(e[i].held_out_loss, e[0].held_out_loss, 1e-6, "%d",
                           i);
    }
    cr_expect_neq(e[1].loss, e[0].loss, "dropout drops nothing");
    cr_expect_neq(e[2].loss, e[0].loss, "stochastic depth drops nothing");
    vitcl_device_free(d);
    vt_test_remove(root);
}

/* A model can memorise noise, but held-out noise stays a guess. */
Test(loop, scores_held_out_pictures)
{
    enum { PICTURES = 100 };
    char *root = vt_test_folder();
    vitcl_device *d = device();
    vitcl_train_event last = {.size = sizeof last};
    uint8_t *record = malloc(PICTURES * 3073);
    unsigned x = 77;

    cr_assert(record);
    for (size_t i = 0; i < PICTURES * 3073; i++) {
        x = x * 1664525u + 1013904223u;
        record[i] = (uint8_t)(i % 3073 ? x >> 24 : (x >> 16) % 10);
    }
    for (int part = 1; part <= 5; part++) {
        char name[32];
        FILE *f;

        snprintf(name, sizeof name, "data_batch_%d.bin", part);
        f = fopen(vt_test_path(root, name), "wb");
        cr_assert(f &&
                  fwrite(record + (part - 1) * 20 * 3073, 3073, 20, f) == 20);
        fclose(f);
    }
    free(record);
    cr_assert_eq(
        vitcl_train(&last, d,
                    &(vitcl_train_options){.size = sizeof(vitcl_train_options),
                                           .config = vt_test_config(root, ""),
                                           .data = root,
                                           .output = vt_test_path(root, "out"),
                                           .epochs = 100,
                                           .batch = 50,
                                           .hold_out = 50,
                                           .lr = 3e-3,
                                           .augment = "none"},
                    NULL, NULL),
        VITCL_OK, "%s", vitcl_last_error());
    cr_expect_gt(last.accuracy, 0.9, "%g", last.accuracy);
    cr_assert(last.scored);
    cr_expect_lt(last.held_out_accuracy, 0.4, "%g", last.held_out_accuracy);
    cr_expect_gt(last.held_out_loss, 2, "%g", last.held_out_loss);
    vitcl_device_free(d);
    vt_test_remove(root);
}

/* All pictures are equal, so the saved model can be asked for the held-out
 * score; with averages, those are scored. */
Test(loop, scores_the_saved_model)
{
    char *root = vt_test_folder();
    vitcl_device *d = device();
    uint8_t picture[3073], rgb[3072];

    for (int i = 0; i < 3073; i++)
        picture[i] = (uint8_t)(i * 37 + i * i % 101);
    picture[0] = 3;
    for (int i = 0; i < 3072; i++)
        rgb[i] = picture[1 + i % 3 * 1024 + i / 3];
    for (int part = 1; part <= 5; part++) {
        char name[32];
        FILE *f;

        snprintf(name, sizeof name, "data_batch_%d.bin", part);
        f = fopen(vt_test_path(root, name), "wb");
        cr_assert(f);
        for (int i = 0; i < 4; i++)
            cr_assert_eq(fwrite(picture, 3073, 1, f), 1);
        fclose(f);
    }
    for (int k = 0; k < 2; k++) {
        char *out = vt_test_path(root, k ? "mean" : "raw");
        vitcl_train_event last = {.size = sizeof last};
        vitcl_model *m = NULL;
        vitcl_session *s = NULL;
        float logits[10];
        double sum = 0;

        vt_test_text(root, "s.json",
                     k ? "{\"ema\": 0.9, \"warmup_steps\": 0}"
                       : "{\"warmup_steps\": 0}");
        cr_assert_eq(vitcl_train(&last, d,
                                 &(vitcl_train_options){
                                     .size = sizeof(vitcl_train_options),
                                     .config = vt_test_config(root, ""),
                                     .data = root,
                                     .output = out,
                                     .epochs = 3,
                                     .batch = 8,
                                     .hold_out = 12, /* a batch and a half */
                                     .lr = 1e-3,
                                     .settings = vt_test_path(root, "s.json"),
                                     .augment = "none"},
                                 NULL, NULL),
                     VITCL_OK, "%s", vitcl_last_error());
        cr_assert_eq(vitcl_model_load(&m, d, out), VITCL_OK, "%s",
                     vitcl_last_error());
        cr_assert_eq(vitcl_session_new(&s, m, NULL), VITCL_OK, "%s",
                     vitcl_last_error());
        cr_assert_eq(vitcl_session_run_rgb(s, rgb, 1), VITCL_OK);
        cr_assert_eq(vitcl_session_read(logits, 10, s, "logits", 1), VITCL_OK);
        for (int i = 0; i < 10; i++)
            sum += exp((double)logits[i] - (double)logits[3]);
        cr_expect_float_eq(last.held_out_loss, log(sum), 1e-4, "%d: %g, %g", k,
                           last.held_out_loss, log(sum));
        cr_expect(fabs(last.loss - log(sum)) > (k ? 1e-2 : 0));
        vitcl_session_free(s);
        vitcl_model_free(m);
    }
    vitcl_device_free(d);
    vt_test_remove(root);
}

/* A head of zeros gives all classes the same probability. */
Test(loop, fine_tunes_from_ln_k)
{
    char *root = vt_test_folder();
    vitcl_device *d = device();
    vitcl_train_event last = {.size = sizeof last};
    vt_test_watch w = {.stop = 1};
    vt_model *m = NULL;

    vt_test_cifar(root, 32, 5);
    cr_assert_eq(
        vitcl_train(&last, d,
                    &(vitcl_train_options){.size = sizeof(vitcl_train_options),
                                           .config = vt_test_config(root, ""),
                                           .data = root,
                                           .output = vt_test_path(root, "base"),
                                           .batch = 16},
                    NULL, NULL),
        VITCL_OK, "%s", vitcl_last_error());
    cr_assert_eq(
        vitcl_train(&last, d,
                    &(vitcl_train_options){
                        .size = sizeof(vitcl_train_options),
                        .model = vt_test_path(root, "base"),
                        .data = root,
                        .output = vt_test_path(root, "tuned"),
                        .height = 64,
                        .width = 64,
                        .freeze = (const char *const[]){"blocks.0.*", NULL},
                        .batch = 16},
                    vt_test_look, &w),
        VITCL_OK, "%s", vitcl_last_error());
    cr_expect_float_eq(w.first, log(10), 1e-6, "%.9f", w.first);
    cr_assert_eq(vt_model_open(&m, vt_test_path(root, "tuned")), VITCL_OK, "%s",
                 vt_message());
    cr_expect_eq(vt_model_config(m)->height, 64);
    vt_model_close(m);
    vitcl_device_free(d);
    vt_test_remove(root);
}

/* The loss of the only step is that of the weights before it. Without eps,
 * those whose gradient is 0, all but the head's, become NaN. */
Test(loop, saves_no_weights_that_are_not_finite)
{
    char *root = vt_test_folder(), *start = vt_test_path(root, "start");
    vitcl_device *d = device();
    vitcl_train_options o = {.size = sizeof o,
                             .config = vt_test_config(root, ""),
                             .data = root,
                             .output = start,
                             .batch = 16};
    vitcl_train_event last = {.size = sizeof last};

    vt_test_cifar(root, 16, 6);
    vt_test_text(root, "s.json", "{\"optimizer\": \"adam\", \"eps\": 0}");
    cr_assert_eq(vitcl_train(&last, d, &o, NULL, NULL), VITCL_OK, "%s",
                 vitcl_last_error());
    o.config = NULL;
    o.model = start;
    o.output = vt_test_path(root, "out");
    o.settings = vt_test_path(root, "s.json");
    cr_expect_eq(vitcl_train(&last, d, &o, NULL, NULL), VITCL_EINVAL);
    cr_expect(strstr(vitcl_last_error(), "is not finite and is not saved"),
              "%s", vitcl_last_error());
    cr_expect_neq(access(o.output, F_OK), 0);
    vitcl_device_free(d);
    vt_test_remove(root);
}

Test(loop, names_the_step_of_a_loss_that_is_not_finite)
{
    char *root = vt_test_folder();
    vitcl_device *d = device();
    vitcl_train_event last = {.size = sizeof last};

    vt_test_cifar(root, 32, 6);
    vt_test_text(root, "s.json",
                 "{\"optimizer\": \"sgd\", \"clip_grad_norm\": 0, "
                 "\"warmup_steps\": 0, \"schedule\": \"constant\"}");
    cr_expect_neq(vitcl_train(&last, d,
                              &(vitcl_train_options){
                                  .size = sizeof(vitcl_train_options),
                                  .config = vt_test_config(root, ""),
                                  .data = root,
                                  .output = vt_test_path(root, "out"),
                                  .epochs = 50,
                                  .lr = 9e5,
                                  .settings = vt_test_path(root, "s.json"),
                                  .batch = 16},
                              NULL, NULL),
                  VITCL_OK);
    cr_expect(strstr(vitcl_last_error(), "step "), "%s", vitcl_last_error());
    cr_expect(strstr(vitcl_last_error(), "of the plan, "), "%s",
              vitcl_last_error());
    vitcl_device_free(d);
    vt_test_remove(root);
}
