/*
 * test_vectors.c - scores by a vector for each class: those of the largest
 * cosine, by the features that vitcl_embed() gives.
 */
#include "api/program.h"
#include "support/paths.h"
#include "support/pictures.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 20, CLASSES = 10, SIDE = 32, WIDE = 12, FILES = 5 };

static vitcl_device *device;
static vitcl_model *model;
static vitcl_session *session;
static vitcl_dataset *data;
static float vectors[CLASSES][WIDE];

static void need(vitcl_status st)
{
    cr_assert_eq(st, VITCL_OK, "%s", vitcl_last_error());
}

static void setup(void)
{
    const vitcl_session_options o = {.size = sizeof o, .batch = 3};
    char *root = vt_test_folder();
    unsigned state = 7;

    vt_test_cifar(root, COUNT, 5);
    need(vitcl_device_open(&device, getenv("VITCL_TEST_DEVICE")));
    need(vitcl_model_load(&model, device, VT_DATA "/text/oc_clip"));
    need(vitcl_session_new(&session, model, &o));
    need(vitcl_dataset_open(
        &data, root,
        &(vitcl_dataset_options){.size = sizeof(vitcl_dataset_options),
                                 .split = "train"}));
    cr_assert_eq(vitcl_session_features(session), WIDE);
    for (int c = 0; c < CLASSES; c++) {
        double length = 0;

        for (int i = 0; i < WIDE; i++) {
            state = state * 1664525u + 1013904223u;
            vectors[c][i] = (float)(state >> 16) / 32768.0f - 1;
            length += (double)(vectors[c][i] * vectors[c][i]);
        }
        for (int i = 0; i < WIDE; i++)
            vectors[c][i] = (float)(vectors[c][i] / sqrt(length));
    }
}

static void teardown(void)
{
    vitcl_dataset_free(data);
    vitcl_session_free(session);
    vitcl_model_free(model);
    vitcl_device_free(device);
    vt_test_tidy();
}

TestSuite(vectors, .init = setup, .fini = teardown);

/* The classes that are nearer to the features than the picture's own; *best:
 * the nearest. */
static int nearer(int *best, const float *features, int own)
{
    double most = -INFINITY, score[CLASSES] = {0};
    int n = 0;

    for (int c = 0; c < CLASSES; c++) {
        for (int i = 0; i < WIDE; i++)
            score[c] += (double)features[i] * (double)vectors[c][i];
        if (score[c] > most)
            most = score[c], *best = c;
    }
    for (int c = 0; c < CLASSES; c++)
        n += score[c] > score[own];
    return n;
}

/* What the scores must be. */
static void reference(const char *root, uint32_t *right1, uint32_t *right5,
                      uint32_t counts[CLASSES][CLASSES])
{
    static uint8_t rgb[SIDE * SIDE * 3];
    const vitcl_image image = {SIDE, SIDE, rgb};

    *right1 = *right5 = 0;
    for (int file = 1; file <= FILES; file++) {
        char name[32];
        size_t size;
        unsigned char *bytes;

        snprintf(name, sizeof name, "data_batch_%d.bin", file);
        bytes = vt_test_bytes(&size, root, name);
        cr_assert(bytes && size % (sizeof rgb + 1) == 0);
        for (size_t at = 0; at < size; at += sizeof rgb + 1) {
            float features[WIDE];
            int best = 0, before;

            for (size_t i = 0; i < sizeof rgb; i++)
                rgb[i] = bytes[at + 1 + i % 3 * SIDE * SIDE + i / 3];
            need(vitcl_embed(features, session, &image, 1));
            before = nearer(&best, features, bytes[at]);
            *right1 += before < 1;
            *right5 += before < 5;
            counts[bytes[at]][best]++;
        }
        free(bytes);
    }
}

Test(vectors, score)
{
    uint32_t want[CLASSES][CLASSES] = {{0}}, got[CLASSES][CLASSES] = {{0}};
    vitcl_scores scores = {.size = sizeof scores};
    uint32_t right1, right5, pictures = 0, right = 0;
    char *root = vt_test_folder();

    vt_test_cifar(root, COUNT, 5); /* the same bytes again */
    reference(root, &right1, &right5, want);
    cr_assert(right5 > 0 && right5 < COUNT);
    need(vt_evaluate_part(&scores, *got, session, data, *vectors, 1, 1, NULL,
                          NULL));
    cr_expect(scores.pictures == COUNT && scores.failed == 0);
    cr_expect(scores.right1 == right1 && scores.right5 == right5);
    cr_expect_float_eq(scores.top1, (double)right1 / COUNT, 1e-12);
    cr_expect_float_eq(scores.top5, (double)right5 / COUNT, 1e-12);
    cr_expect_eq(memcmp(got, want, sizeof got), 0);
    for (uint32_t part = 1; part <= 3; part++) {
        need(vt_evaluate_part(&scores, NULL, session, data, *vectors, part, 3,
                              NULL, NULL));
        pictures += scores.pictures;
        right += scores.right5;
    }
    cr_expect(pictures == COUNT && right == right5);
}
