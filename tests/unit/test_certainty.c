/*
 * test_certainty.c - temperature, threshold and range of detail against a
 * search of all values, and what becomes of config.json.
 */
#include "train/certainty.h"

#include "base/file.h"
#include "base/random.h"
#include "image/image.h"
#include "support/pictures.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vitcl_train.h>

enum { N = 3000, K = 7 };

static double detail[N]; /* of no meaning */

static double likeliest(double *p, const float *row, uint32_t label, double t)
{
    double sum = 0, most = -1e30;

    for (int c = 0; c < K; c++)
        most = fmax(most, (double)row[c] / t);
    for (int c = 0; c < K; c++)
        sum += exp((double)row[c] / t - most);
    *p = 1 / sum;
    return log(sum) + most - (double)row[label] / t;
}

static double nll(const float *z, const uint32_t *y, double t)
{
    double sum = 0, p;

    for (size_t i = 0; i < N; i++)
        sum += likeliest(&p, z + i * K, y[i], t);
    return sum / (double)N;
}

/* Logits whose honest temperature is near `hot`: the labels are drawn from
 * their softmax at it. */
static void draw(float *z, uint32_t *y, double hot)
{
    vt_random r = vt_random_new(5, 6, 7);

    for (size_t i = 0; i < N; i++) {
        double sum = 0, at;

        for (int c = 0; c < K; c++) {
            z[i * K + (size_t)c] = (float)(8 * vt_random_uniform(&r));
            sum += exp((double)z[i * K + (size_t)c] / hot);
        }
        at = sum * vt_random_uniform(&r);
        for (y[i] = 0; y[i] + 1 < K; y[i]++)
            if ((at -= exp((double)z[i * K + y[i]] / hot)) < 0)
                break;
    }
}

Test(certainty, is_the_best_of_all_values)
{
    static const double heats[] = {0.5, 1, 2.2};
    float *z = malloc(N * K * sizeof *z);
    uint32_t *y = malloc(N * sizeof *y);

    cr_assert(z && y);
    for (size_t h = 0; h < 3; h++) {
        vt_certainty c;
        size_t sure = 0, right = 0;
        double p;

        draw(z, y, heats[h]);
        cr_assert_eq(vt_certainty_fit(&c, z, y, detail, N, K), VITCL_OK);
        cr_expect_float_eq(c.temperature / heats[h], 1, 0.1, "%g for %g",
                           c.temperature, heats[h]);
        for (double t = 0.3; t < 4; t *= 1.01)
            cr_expect_leq(nll(z, y, c.temperature), nll(z, y, t) + 1e-9,
                          "%g is better than %g", t, c.temperature);
        /* Above the threshold 95 % are right; no lower one has that. */
        for (size_t i = 0; i < N; i++) {
            const double loss = likeliest(&p, z + i * K, y[i], c.temperature);

            sure += p >= c.threshold - 1e-12;
            right += p >= c.threshold - 1e-12 && loss <= -log(p) + 1e-9;
        }
        if (c.threshold < 1)
            cr_expect_geq((double)right, 0.95 * (double)sure);
        for (size_t i = 0; i < N && c.threshold > 0.5; i++) {
            size_t n = 0, good = 0;
            double q;

            (void)likeliest(&p, z + i * K, y[i], c.temperature);
            if (p >= c.threshold - 1e-12 || i % 10)
                continue;
            for (size_t j = 0; j < N; j++) {
                const double loss =
                    likeliest(&q, z + j * K, y[j], c.temperature);

                n += q >= p;
                good += q >= p && loss <= -log(q) + 1e-9;
            }
            cr_expect_lt((double)good, 0.95 * (double)n, "%g would do", p);
        }
    }
    free(z);
    free(y);
}

/* Certain and right: not a temperature of zero. Always wrong: never sure. */
Test(certainty, ends_are_bounded)
{
    float z[60][2];
    uint32_t y[60];
    vt_certainty c;

    for (int i = 0; i < 60; i++)
        z[i][0] = 3, z[i][1] = 0, y[i] = 0;
    cr_assert_eq(vt_certainty_fit(&c, z[0], y, detail, 60, 2), VITCL_OK);
    cr_expect_float_eq(c.temperature, 0.2, 1e-6);
    cr_expect_geq(c.threshold, 0.5);
    for (int i = 0; i < 60; i++)
        y[i] = 1;
    cr_assert_eq(vt_certainty_fit(&c, z[0], y, detail, 60, 2), VITCL_OK);
    cr_expect_float_eq(c.temperature, 5, 1e-6);
    cr_expect_eq(c.threshold, 1);
}

/* A sum over all pixels in double, of a picture whose waves are known. */
Test(certainty, detail_is_that_of_its_waves)
{
    enum { H = 24, W = 36 };
    static const int lengths[] = {2, 3, 4, 6, 12};
    uint8_t rgb[H * W * 3], again[sizeof rgb];

    for (size_t l = 0; l < 5; l++) {
        const double part = 4 * pow(sin(M_PI / lengths[l]), 2);
        double plain;

        for (int i = 0; i < H * W; i++) {
            const double wave = sin(2 * M_PI * (i % W + 0.5) / lengths[l]);

            for (int c = 0; c < 3; c++)
                rgb[3 * i + c] = (uint8_t)lround(120 + (40 + 20 * c) * wave);
        }
        plain = vt_detail(rgb, H, W);
        cr_expect_float_eq(plain / part, 1, 0.1, "%g for waves of %d, not %g",
                           plain, lengths[l], part);
        for (size_t i = 0; i < sizeof rgb; i++) /* less contrast, brighter */
            again[i] = (uint8_t)(rgb[i] / 2 + 100);
        cr_expect_float_eq(vt_detail(again, H, W) / plain, 1, 0.05);
    }
    memset(rgb, 9, sizeof rgb);
    cr_expect_eq(vt_detail(rgb, H, W), 0);
    for (uint32_t side = 1; side < 3; side++)
        cr_expect_leq(vt_detail(again, side, side), VT_DETAIL_MAX);
}

/* Pixel values and 8-bit pixels are the same picture. */
Test(certainty, detail_of_what_was_normalised)
{
    enum { H = 5, W = 7 };
    const vt_preprocess how = {.height = H,
                               .width = W,
                               .scale = 1.0f / 255,
                               .mean = {0.485f, 0.456f, 0.406f},
                               .std = {0.229f, 0.224f, 0.225f}};
    vt_random r = vt_random_new(1, 2, 3);
    uint8_t rgb[H * W * 3], back[sizeof rgb];
    float pixels[sizeof rgb];

    for (size_t i = 0; i < sizeof rgb; i++) {
        rgb[i] = (uint8_t)vt_random_below(&r, 256);
        pixels[i % 3 * H * W + i / 3] =
            ((float)rgb[i] * how.scale - how.mean[i % 3]) / how.std[i % 3];
    }
    vt_unnormalise(back, pixels, &how);
    cr_expect_arr_eq(back, rgb, sizeof rgb);
}

/* One in a hundred is outside; of few, none. */
Test(certainty, range_holds_the_usual)
{
    static const float z[1000][2] = {{0}};
    static const uint32_t y[1000] = {0};
    vt_certainty c;

    for (int i = 0; i < 1000; i++)
        detail[i] = (i * 387 % 1000) / 500.0; /* each of 0 .. 999 once */
    cr_assert_eq(vt_certainty_fit(&c, z[0], y, detail, 1000, 2), VITCL_OK);
    cr_expect_eq(c.detail[0], 5 / 500.0);
    cr_expect_eq(c.detail[1], 994 / 500.0);
    cr_assert_eq(vt_certainty_fit(&c, z[0], y, detail, 60, 2), VITCL_OK);
    for (int i = 0; i < 60; i++)
        cr_expect(c.detail[0] <= detail[i] && detail[i] <= c.detail[1]);
}

static char *text_of(const char *path)
{
    vt_file f;
    char *text;

    cr_assert_eq(vt_file_read(&f, path, 1000), VITCL_OK);
    text = calloc(f.size + 1, 1);
    memcpy(text, f.data, f.size);
    vt_file_close(&f);
    return text;
}

Test(certainty, replaces_what_the_config_has)
{
    static const char *const before[] = {
        "{\n  \"a\": 1,\n  \"b\": [\"x}\"]\n}\n",
        "{\n  \"a\": 1,\n  \"b\": [\"x}\"],\n"
        "  \"vitcl_certainty\": {\"temperature\": 9, \"threshold\": 1}\n}\n"};
    char *root = vt_test_folder(), *path = vt_test_path(root, "config.json");

    for (size_t i = 0; i < 2; i++) {
        char *text;

        vt_test_text(root, "config.json", before[i]);
        cr_assert_eq(vt_certainty_write(
                         root, &(vt_certainty){0.78, 0.7992, {0.25, 1.234567}}),
                     VITCL_OK);
        text = text_of(path);
        cr_expect_str_eq(
            text, "{\n  \"a\": 1,\n  \"b\": [\"x}\"],\n  \"vitcl_certainty\": "
                  "{\"temperature\": 0.78, \"threshold\": 0.7992, "
                  "\"detail\": [0.25, 1.235]}\n}\n");
        free(text);
    }
    vt_test_text(root, "config.json", "[]");
    cr_expect_eq(vt_certainty_write(root, &(vt_certainty){.temperature = 1}),
                 VITCL_ECORRUPT);
    vt_test_remove(root);
}

/* Few pictures, one class or numbers that are not finite: writes nothing. */
Test(certainty, needs_enough)
{
    char *root = vt_test_folder();
    static const float row[2] = {0}, bad[2] = {1, NAN};
    vt_evidence e;

    for (int turn = 0; turn < 4; turn++) {
        cr_assert_eq(vt_evidence_new(&e, turn ? 60 : 49, turn == 1 ? 1 : 2),
                     VITCL_OK);
        for (int i = 0; i < 60; i++)
            vt_evidence_add(&e, turn == 2 && i == 7 ? bad : row, 0, 1);
        cr_expect_eq(vt_evidence_save(&e, root),
                     turn < 3 ? VITCL_OK : VITCL_EIO); /* no config.json */
        vt_evidence_free(&e);
    }
    vt_test_remove(root);
}

/* More pictures than fit, class by class: some of each class are taken. */
Test(certainty, takes_evenly_spaced_pictures)
{
    const uint32_t classes = 1 << 16; /* so that 64 pictures fit */
    float *row = calloc(classes, sizeof *row);
    vt_evidence e;

    cr_assert_eq(vt_evidence_new(&e, 192, classes), VITCL_OK);
    for (uint32_t i = 0; i < 192; i++)
        vt_evidence_add(&e, row, i, 1);
    cr_assert_eq(e.n, 64);
    for (uint32_t i = 0; i < 64; i++)
        cr_expect_eq(e.label[i] / 3, i);
    vt_evidence_free(&e);
    free(row);
}

/* A plain picture has less than noise, as the training's pictures are, and a
 * chequered one more. */
static void expect_detail(vitcl_model *m, bool knows)
{
    enum { SIDE = 32 };
    static uint8_t rgb[SIDE * SIDE * 3];
    vitcl_session *s = NULL;

    cr_assert_eq(vitcl_session_new(&s, m, NULL), VITCL_OK, "%s",
                 vitcl_last_error());
    memset(rgb, 90, sizeof rgb);
    cr_expect_eq(vitcl_session_detail(s, rgb), knows ? -1 : 0);
    for (size_t i = 0; i < sizeof rgb; i++)
        rgb[i] = (i / 3 % SIDE + i / 3 / SIDE) % 2 ? 200 : 20;
    cr_expect_eq(vitcl_session_detail(s, rgb), knows ? 1 : 0);
    cr_expect_eq(vitcl_session_detail(NULL, rgb), 0);
    vitcl_session_free(s);
}

/* A training with enough held-out pictures leaves all three, and the model that
 * it leaves has them; one with fewer has none. */
Test(certainty, comes_with_a_training)
{
    static const uint32_t hold[] = {10, 60};
    char *root = vt_test_folder();
    vitcl_device *d = NULL;

    cr_assert_eq(vitcl_device_open(&d, getenv("VITCL_TEST_DEVICE")), VITCL_OK);
    vt_test_cifar(root, 100, 3);
    for (int i = 0; i < 2; i++) {
        char *out = vt_test_path(root, i ? "enough" : "few");
        vitcl_model *m = NULL;
        vitcl_train_event last = {.size = sizeof last};

        cr_assert_eq(vitcl_train(&last, d,
                                 &(vitcl_train_options){
                                     .size = sizeof(vitcl_train_options),
                                     .config = vt_test_config(root, ""),
                                     .data = root,
                                     .output = out,
                                     .epochs = 2,
                                     .batch = 20,
                                     .hold_out = hold[i],
                                     .lr = 1e-3},
                                 NULL, NULL),
                     VITCL_OK, "%s", vitcl_last_error());
        cr_assert_eq(vitcl_model_load(&m, d, out), VITCL_OK, "%s",
                     vitcl_last_error());
        cr_expect_eq(vitcl_model_threshold(m) >= 0.5f, i);
        cr_expect_eq(vitcl_model_temperature(m) != 1, i);
        expect_detail(m, i);
        vitcl_model_free(m);
    }
    vitcl_device_free(d);
    vt_test_remove(root);
}
