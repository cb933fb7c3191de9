/*
 * test_finite.c - an answer that is not finite: its picture gets an error that
 * names where it comes from, and the others are answered.
 */
#include "api/program.h"
#include "support/paths.h"
#include "support/pictures.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vitcl.h>

enum { HEIGHT = 32, WIDTH = 48, PICTURE = HEIGHT * WIDTH * 3 };

static vitcl_device *device;

static void need(vitcl_status st)
{
    cr_assert_eq(st, VITCL_OK, "%s", vitcl_last_error());
}

static void setup(void)
{
    need(vitcl_device_open(&device, NULL));
}

static void teardown(void)
{
    vitcl_device_free(device);
}

TestSuite(finite, .init = setup, .fini = teardown);

/* NaN pixels affect only their own picture. */
Test(finite, an_answer_is_or_says_why)
{
    const vitcl_session_options o = {
        .size = sizeof o, .batch = 2, .height = HEIGHT, .width = WIDTH};
    vitcl_session *s = NULL;
    vitcl_model *m = NULL;
    uint32_t classes;
    float *pixels = calloc(2 * PICTURE, sizeof *pixels), *logits;

    need(vitcl_model_new(&m, device, "vit-ti/16", 0));
    need(vitcl_session_new(&s, m, &o));
    classes = vitcl_session_classes(s);
    logits = calloc((size_t)classes * 2, sizeof *logits);
    pixels[PICTURE + 5] = NAN;
    cr_expect_eq(vitcl_session_read(logits, 2u * classes, s, "logits", 2),
                 VITCL_EINVAL);
    cr_expect_eq(vt_session_check(s, "logits", 0), VITCL_EINVAL);
    need(vitcl_session_run_values(s, pixels, 2));
    need(vitcl_session_read(logits, 2u * classes, s, "logits", 2));
    cr_expect(isfinite(logits[0]));
    cr_expect(isnan(logits[classes]));
    need(vt_session_check(s, "logits", 0));
    need(vt_session_check(s, "features", 0));
    cr_expect_eq(vt_session_check(s, "logits", 1), VITCL_EUNSUPPORTED);
    cr_expect(strstr(vitcl_last_error(), "all weights are finite"), "%s",
              vitcl_last_error());
    cr_expect_eq(vt_session_check(s, "features", 1), VITCL_EUNSUPPORTED);
    cr_expect_eq(vt_session_check(s, "logits", 2), VITCL_EINVAL);
    cr_expect_eq(vt_session_check(s, "none", 0), VITCL_EINVAL);
    cr_expect_eq(vt_session_check(s, NULL, 0), VITCL_EINVAL);
    cr_expect_eq(vt_session_check(NULL, "logits", 0), VITCL_EINVAL);
    vitcl_session_free(s);
    vitcl_model_free(m);
    free(pixels);
    free(logits);
}

/* The tiny model with two weights of its stem changed: pixels that are far from
 * grey give sums beyond f32. */
static void spoil(const char *folder)
{
    static const uint16_t huge[2] = {0x7f61, 0x7f61}; /* bf16: 3e38 */
    const char *from = VT_DATA "/models/timm_vit_resized";
    char path[400], *at;
    unsigned char *file;
    uint64_t head;
    size_t n;
    FILE *f;

    for (int i = 0; i < 2; i++) {
        const char *name = i ? "model.safetensors" : "config.json";

        file = vt_test_bytes(&n, from, name);
        cr_assert(file, "%s", name);
        if (i) {
            memcpy(&head, file, sizeof head);
            at = strstr((char *)file + 8, "\"patch_embed.proj.weight\"");
            at = strstr(at, "data_offsets\":[") + 15;
            memcpy(file + 8 + head + strtoul(at, NULL, 10), huge, sizeof huge);
        }
        snprintf(path, sizeof path, "%s/%s", folder, name);
        f = fopen(path, "wb");
        cr_assert(f && fwrite(file, 1, n, f) == n && fclose(f) == 0);
        free(file);
    }
}

Test(finite, other_pictures_of_a_batch_are_answered)
{
    char *folder = vt_test_folder();
    static uint8_t grey[24 * 24 * 3], black[24 * 24 * 3], rgb[2 * 24 * 24 * 3];
    const vitcl_image images[] = {
        {24, 24, grey}, {24, 24, black}, {24, 24, black}, {24, 24, grey}};
    const vitcl_session_options o = {.size = sizeof o, .batch = 3};
    vitcl_session *s = NULL;
    vitcl_class top[8];
    float *features, before[10], after[10];
    vitcl_model *m = NULL;
    uint32_t width;

    spoil(folder);
    memset(grey, 127, sizeof grey);
    need(vitcl_model_load(&m, device, folder));
    vt_test_remove(folder);
    need(vitcl_session_new(&s, m, &o));
    cr_expect_eq(vitcl_classify(top, 2, s, images, 4), VITCL_EUNSUPPORTED);
    cr_expect(strstr(vitcl_last_error(), "picture 1: no answer"), "%s",
              vitcl_last_error());
    cr_expect(strstr(vitcl_last_error(), "patch_embed.proj.weight"), "%s",
              vitcl_last_error());
    for (int i = 0; i < 8; i++) {
        const bool good = i < 2 || i >= 6;

        cr_expect_eq(top[i].label == UINT32_MAX, !good, "%d", i);
        cr_expect_eq(isnan(top[i].probability) != 0, !good, "%d", i);
    }
    memcpy(rgb, grey, sizeof grey);
    memcpy(rgb + sizeof grey, black, sizeof black);
    need(vitcl_session_run_rgb(s, rgb, 2));
    need(vitcl_session_read(before, 10, s, "logits", 2));
    for (int i = 0; i < 3; i++) /* the same answer every time */
        cr_expect_eq(vt_session_check(s, "logits", 1), VITCL_EUNSUPPORTED);
    need(vt_session_check(s, "logits", 0));
    need(vitcl_session_read(after, 10, s, "logits", 2));
    cr_expect_eq(memcmp(before, after, 5 * sizeof *before), 0);
    width = vitcl_session_features(s);
    features = calloc(4u * width, sizeof *features);
    cr_expect_eq(vitcl_embed(features, s, images, 4), VITCL_EUNSUPPORTED);
    for (uint32_t i = 0; i < 4; i++)
        cr_expect_eq(isfinite(features[i * width]) != 0, i == 0 || i == 3);
    need(vitcl_classify(top, 2, s, images, 1));
    free(features);
    vitcl_session_free(s);
    vitcl_model_free(m);
}
