/*
 * test_ask.c - many pictures in one call, as images, prepared pixels and pixel
 * values; a picture for a model; models by name. The arbiters are a session's
 * runs one by one, a softmax in double, and Pillow.
 */
#include "api/program.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/sha256.h"
#include "support/paths.h"
#include "support/pictures.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COUNT = 11, BATCH = 4, SIDE = 32, PIXELS = SIDE * SIDE * 3 };

static vitcl_device *device;
static vitcl_model *model;
static vitcl_session *session;
static uint8_t rgb[COUNT * PIXELS];
static vitcl_image images[COUNT];
static uint32_t classes, features;

static void need(vitcl_status st)
{
    cr_assert_eq(st, VITCL_OK, "%s", vitcl_last_error());
}

static void setup(void)
{
    static const char *const keep[] = {"pixel_values", NULL};
    const vitcl_session_options o = {.size = sizeof o,
                                     .batch = BATCH,
                                     .height = SIDE,
                                     .width = SIDE,
                                     .keep = keep};
    uint32_t state = 1;

    need(vitcl_device_open(&device, getenv("VITCL_TEST_DEVICE")));
    need(vitcl_model_load(&model, device, VITCL_MODEL_BUILTIN));
    need(vitcl_session_new(&session, model, &o));
    classes = vitcl_session_classes(session);
    features = vitcl_session_features(session);
    for (size_t i = 0; i < sizeof rgb; i++) {
        state = state * 1664525u + 1013904223u;
        rgb[i] = (uint8_t)(state >> 24);
    }
    for (uint32_t i = 0; i < COUNT; i++)
        images[i] = (vitcl_image){SIDE, SIDE, rgb + i * PIXELS};
}

static void teardown(void)
{
    vitcl_session_free(session);
    vitcl_model_free(model);
    vitcl_device_free(device);
}

TestSuite(ask, .init = setup, .fini = teardown);

/* A tensor of all pictures, one at a time; the caller frees. */
static float *one_by_one(const char *name, size_t each)
{
    float *out = calloc(COUNT * each, sizeof *out);

    for (size_t i = 0; i < COUNT; i++) {
        need(vitcl_session_run_rgb(session, rgb + i * PIXELS, 1));
        need(vitcl_session_read(out + i * each, each, session, name, 1));
    }
    return out;
}

static int count(void *context, uint64_t done, uint64_t total)
{
    uint64_t *calls = context;

    calls[0]++;
    cr_expect_eq(total, COUNT);
    cr_expect_eq(done, VT_MIN(calls[0] * BATCH, COUNT));
    return calls[0] == calls[1];
}

/* The probabilities of a softmax of the logits divided by the temperature. */
static void check_classes(const vitcl_class *top, const float *logits)
{
    const double t = (double)vitcl_model_temperature(model);

    cr_assert_neq(t, 1, "the test needs a model with a temperature");
    for (uint32_t i = 0; i < COUNT; i++) {
        const float *x = logits + (size_t)i * classes;
        double sum = 0;

        for (uint32_t c = 0; c < classes; c++)
            sum += exp((double)x[c] / t);
        for (uint32_t k = 0; k < 3; k++)
            cr_expect_float_eq((double)top[3 * i + k].probability,
                               exp((double)x[top[3 * i + k].label] / t) / sum,
                               1e-6);
    }
}

Test(ask, every_form_has_the_same_answers)
{
    float *values = one_by_one("pixel_values", PIXELS),
          *logits = one_by_one("logits", classes),
          *want = one_by_one("features", features),
          *got = calloc(COUNT * (size_t)features, sizeof *got);
    const vitcl_pictures forms[] = {
        {.images = images}, {.rgb = rgb}, {.values = values}};
    vitcl_class old[3 * COUNT], top[3 * COUNT];

    need(vitcl_classify(old, 3, session, images, COUNT));
    check_classes(old, logits);
    for (size_t i = 0; i < VT_COUNT(forms); i++) {
        uint64_t calls[2] = {0, 0};
        vitcl_pictures p = forms[i];

        p.size = sizeof p, p.n = COUNT;
        p.progress = count, p.context = calls;
        memset(top, 0xff, sizeof top);
        need(vitcl_session_classify(top, 3, session, &p));
        cr_expect_eq(calls[0], 3);
        for (size_t k = 0; k < VT_COUNT(top); k++) {
            cr_expect_eq(top[k].label, old[k].label);
            cr_expect_eq(top[k].probability, old[k].probability);
        }
        calls[0] = 0;
        need(vitcl_session_compute(got, features, session, "features", &p));
        cr_expect_eq(memcmp(got, want, COUNT * features * sizeof *got), 0);
        cr_expect_eq(calls[0], 3);
        calls[0] = 0, calls[1] = 2;
        cr_expect_eq(
            vitcl_session_compute(got, features, session, "features", &p),
            VITCL_ESTOPPED);
        p.n = 0, p.progress = NULL;
        need(vitcl_session_classify(top, 3, session, &p));
    }
    free(values);
    free(logits);
    free(want);
    free(got);
}

Test(ask, wrong_use)
{
    vitcl_pictures p = {.size = sizeof p, .n = COUNT};
    float out[COUNT * 64];
    vitcl_class top[COUNT];

    cr_expect_eq(vitcl_session_classify(top, 1, session, &p), VITCL_EINVAL);
    p.rgb = rgb, p.images = images;
    cr_expect_eq(vitcl_session_classify(top, 1, session, &p), VITCL_EINVAL);
    p.images = NULL;
    cr_expect_eq(vitcl_session_classify(top, 0, session, &p), VITCL_EINVAL);
    cr_expect_eq(vitcl_session_classify(top, classes + 1, session, &p),
                 VITCL_EINVAL);
    cr_expect_eq(vitcl_session_compute(out, 1, session, "logits", &p),
                 VITCL_EINVAL);
    cr_expect_eq(vitcl_session_compute(out, 1, session, "nothing", &p),
                 VITCL_EINVAL);
}

/* A value that is not finite: the others are answered. */
Test(ask, values_that_are_not_finite)
{
    float *values = one_by_one("pixel_values", PIXELS);
    const vitcl_pictures p = {.size = sizeof p, .n = COUNT, .values = values};
    vitcl_class top[COUNT];

    values[6 * PIXELS + 5] = NAN;
    cr_expect_neq(vitcl_session_classify(top, 1, session, &p), VITCL_OK);
    cr_expect(strstr(vitcl_last_error(), "picture 6"), "%s",
              vitcl_last_error());
    for (uint32_t i = 0; i < COUNT; i++)
        cr_expect_eq(top[i].label == UINT32_MAX, i == 6);
    free(values);
}

/* ---- pictures for a model ---- */

static void check_white(vitcl_model *m, char *row)
{
    char *cell[5] = {NULL}, hex[65];
    vitcl_image image = {0, 0, NULL};
    const char *path;
    uint8_t hash[32];
    vt_file f = {0};

    for (int i = 0; i < 5; i++)
        cell[i] = strsep(&row, "\t\n");
    path = vt_test_path(VT_DATA "/preprocess/in", cell[0]);
    if (strcmp(cell[1], "ok") != 0)
        return;
    need(vt_file_read(&f, path, 1 << 24));
    need(vitcl_model_image(&image, m, f.data, f.size, cell[0]));
    vt_file_close(&f);
    vt_sha256(image.rgb, (size_t)image.width * image.height * 3, hash);
    vt_sha256_hex(hex, hash);
    cr_expect_str_eq(hex, cell[4], "%s", cell[0]);
    vitcl_image_free(&image);
}

Test(ask, transparency_is_the_models)
{
    static const char *const models[] = {"hf_clip", "timm_vit"};
    char line[512];

    for (int white = 1; white >= 0; white--) {
        const char *path =
            vt_test_path(VT_DATA "/models", models[white ? 0 : 1]);
        FILE *table = fopen(VT_DATA "/preprocess/white.tsv", "re");
        vitcl_model_info info = {.size = sizeof info};
        vitcl_image image = {0, 0, NULL}, plain = {0, 0, NULL};
        vitcl_model *m = NULL;

        need(vitcl_model_load(&m, NULL, path));
        need(vitcl_model_describe(&info, m, 0, 0, 1));
        cr_expect_eq(info.on_white, white);
        for (int i = 0; white && i < 8; i += strncmp(line, "alpha", 5) == 0) {
            cr_assert(fgets(line, sizeof line, table));
            if (strncmp(line, "alpha", 5) == 0)
                check_white(m, line);
        }
        need(vitcl_model_image(&image, m, NULL, 0, VT_DATA "/small.png"));
        need(vitcl_image_load(&plain, VT_DATA "/small.png"));
        cr_expect_eq(memcmp(image.rgb, plain.rgb,
                            (size_t)plain.width * plain.height * 3),
                     0, "it is opaque");
        vitcl_image_free(&image);
        vitcl_image_free(&plain);
        cr_expect_eq(vitcl_model_image(&image, m, NULL, 0, "/no/such"),
                     VITCL_EIO);
        cr_expect_eq(vitcl_model_image(&image, m, NULL, 0, NULL), VITCL_EINVAL);
        vitcl_model_free(m);
        fclose(table);
    }
}

/* ---- models by name ---- */

Test(ask, models_are_found_by_name)
{
    static const char *const names[] = {
        "timm/vit_tiny_patch16_224.augreg_in21k_ft_in1k",
        "vit_tiny_patch16_224.augreg_in21k_ft_in1k",
        "vit_tiny_patch16_224",
        "hf-hub:timm/vit_tiny_patch16_224.augreg_in21k_ft_in1k",
        "timm/vit_tiny_patch16_224.augreg_in21k_ft_in1k@0123abcd",
        "https://hf.co/timm/vit_tiny_patch16_224.augreg_in21k_ft_in1k"};
    const char *hub = vt_test_folder();
    char text[1500], want[512], got[4096];
    vitcl_model *m = NULL;

    snprintf(text, sizeof text,
             "r=%s/models--timm--vit_tiny_patch16_224.augreg_in21k_ft_in1k; "
             "mkdir -p $r/refs $r/snapshots && printf 0123abcd >$r/refs/main "
             "&& cp -r " VT_DATA "/models/timm_vit $r/snapshots/0123abcd",
             hub);
    cr_assert_eq(system(text), 0);
    snprintf(want, sizeof want,
             "%s/models--timm--vit_tiny_patch16_224.augreg_in21k_ft_in1k/"
             "snapshots/0123abcd",
             hub);
    setenv("HF_HUB_CACHE", hub, 1);
    for (size_t i = 0; i < VT_COUNT(names); i++) {
        need(vitcl_model_find(got, sizeof got, names[i]));
        cr_expect_str_eq(got, want, "%s", names[i]);
        need(vitcl_model_load(&m, NULL, names[i]));
        vitcl_model_free(m);
    }
    need(vitcl_model_find(got, sizeof got, want));
    cr_expect_str_eq(got, want);
    need(vitcl_model_find(got, sizeof got, VITCL_MODEL_BUILTIN));
    cr_expect_str_eq(got, VITCL_MODEL_BUILTIN);
    cr_expect_eq(vitcl_model_find(got, strlen(want), names[0]), VITCL_EINVAL);
    cr_expect_eq(vitcl_model_find(got, sizeof got, "/no/such"), VITCL_EIO);
    cr_expect_eq(vitcl_model_find(got, sizeof got, "me/mine"), VITCL_EIO);
    cr_expect(strstr(vitcl_last_error(), "vitcl pull me/mine"));
    cr_expect_eq(vitcl_model_load(&m, NULL, "me/mine"), VITCL_EIO);
    cr_expect_str_eq(got, VITCL_MODEL_BUILTIN, "written only on success");
    vt_test_tidy();
}
