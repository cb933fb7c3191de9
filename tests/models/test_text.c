/*
 * test_text.c - both towers of models of pictures and texts against transformers
 * and open_clip: tests/data/text, made by tools/golden_text.py. The towers are
 * opened alone, each from the same folder.
 */
#include "support/device.h"
#include "support/golden.h"
#include "support/paths.h"
#include "vitcl_text.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DATA VT_DATA "/text/"

typedef struct golden {
    vt_tensors *all;
    float *text, *image, *logits, *pixels; /* NULL: none */
    int32_t *ids;
    uint32_t texts, pictures, context, wide;
} golden;

static float *read_one(const vt_tensors *all, const char *name,
                       const vt_tensor **t)
{
    float *x = NULL;

    *t = vt_tensors_get(all, name);
    if (*t) {
        x = malloc((*t)->count * sizeof *x);
        cr_assert_eq(vt_tensor_f32(x, *t), VITCL_OK, "%s", vt_message());
    }
    return x;
}

static golden golden_open(const char *name)
{
    const vt_tensor *t, *ids;
    golden g = {0};
    char path[512];
    float *numbers;

    snprintf(path, sizeof path, DATA "%s/expected.safetensors", name);
    cr_assert_eq(vt_tensors_open(&g.all, path), VITCL_OK, "%s", vt_message());
    g.image = read_one(g.all, "image_embeds", &t);
    g.pictures = t ? (uint32_t)t->shape[0] : 0;
    g.logits = read_one(g.all, "logits_per_image", &t);
    g.pixels = read_one(g.all, "pixel_values", &t);
    g.text = read_one(g.all, "text_embeds", &t);
    numbers = read_one(g.all, "ids", &ids);
    cr_assert(t && ids);
    g.texts = (uint32_t)t->shape[0];
    g.wide = (uint32_t)t->shape[1];
    g.context = (uint32_t)ids->shape[1];
    g.ids = malloc(ids->count * sizeof *g.ids);
    for (size_t i = 0; i < ids->count; i++)
        g.ids[i] = (int32_t)numbers[i];
    free(numbers);
    return g;
}

static void golden_close(golden *g)
{
    free(g->text);
    free(g->image);
    free(g->logits);
    free(g->pixels);
    free(g->ids);
    vt_tensors_free(g->all);
}

/* The largest difference, of the largest number. */
static double off(const float *got, const float *want, size_t n)
{
    double worst = 0, most = 1e-6;

    for (size_t i = 0; i < n; i++) {
        const double e = fabs((double)got[i] - (double)want[i]);

        most = fmax(most, fabs((double)want[i]));
        worst = e <= worst ? worst : e; /* NaN is worst */
    }
    return worst / most;
}

static vitcl_device *device_open(void)
{
    vitcl_device *d = NULL;

    cr_assert_eq(vitcl_device_open(&d, getenv("VITCL_TEST_DEVICE")), VITCL_OK,
                 "%s", vt_message());
    return d;
}

static vitcl_text *text_open(vitcl_device *d, const char *name, uint32_t batch,
                             vitcl_precision precision)
{
    const vitcl_text_options o = {
        .size = sizeof o, .batch = batch, .precision = precision};
    vitcl_text *t = NULL;
    char path[512];

    snprintf(path, sizeof path, DATA "%s", name);
    cr_assert_eq(vitcl_text_new(&t, d, path, &o), VITCL_OK, "%s: %s", name,
                 vitcl_last_error());
    return t;
}

static double text_off(const golden *g, vitcl_text *t, float *out)
{
    cr_assert_eq(vitcl_text_embed_tokens(out, t, g->ids, g->texts), VITCL_OK,
                 "%s", vitcl_last_error());
    return off(out, g->text, (size_t)g->texts * g->wide);
}

static float dot(const float *a, const float *b, size_t n)
{
    double ab = 0, aa = 0, bb = 0;

    for (size_t i = 0; i < n; i++) {
        ab += (double)a[i] * (double)b[i];
        aa += (double)a[i] * (double)a[i];
        bb += (double)b[i] * (double)b[i];
    }
    return (float)(ab / sqrt(aa * bb));
}

/* The picture tower of the same folder, and the logits of both. */
static void check_pictures(const golden *g, vitcl_device *d, const char *name,
                           const float *text, const vitcl_text_info *info)
{
    const size_t n = (size_t)g->pictures * g->wide;
    float *image = malloc(n * sizeof *image);
    float *logits = malloc((size_t)g->pictures * g->texts * sizeof *logits);
    const vitcl_session_options o = {.size = sizeof o, .batch = g->pictures};
    vitcl_session *s = NULL;
    vitcl_model *m = NULL;
    char path[512];

    snprintf(path, sizeof path, DATA "%s", name);
    cr_assert_eq(vitcl_model_load(&m, d, path), VITCL_OK, "%s: %s", name,
                 vitcl_last_error());
    cr_assert_eq(vitcl_session_new(&s, m, &o), VITCL_OK, "%s: %s", name,
                 vitcl_last_error());
    cr_assert_eq(vitcl_session_features(s), g->wide);
    cr_assert_eq(vitcl_session_classes(s), 0);
    cr_assert_eq(vitcl_session_run_pixels(s, g->pixels, g->pictures), VITCL_OK,
                 "%s", vitcl_last_error());
    cr_assert_eq(vitcl_session_read(image, n, s, "features", g->pictures),
                 VITCL_OK, "%s", vitcl_last_error());
    cr_expect_lt(off(image, g->image, n), 1e-4, "%s: pictures %.2e", name,
                 off(image, g->image, n));
    for (uint32_t i = 0; i < g->pictures; i++)
        for (uint32_t k = 0; k < g->texts; k++)
            logits[i * g->texts + k] =
                info->logit_scale *
                    dot(image + i * g->wide, text + k * g->wide, g->wide) +
                info->logit_bias;
    cr_expect_lt(off(logits, g->logits, (size_t)g->pictures * g->texts), 1e-4,
                 "%s: logits", name);
    vitcl_session_free(s);
    vitcl_model_free(m);
    free(image);
    free(logits);
}

static void check_one(vitcl_device *d, const char *name)
{
    golden g = golden_open(name);
    float *out = malloc((size_t)g.texts * g.wide * sizeof *out);
    float *again = malloc((size_t)g.texts * g.wide * sizeof *out);
    vitcl_text *t = text_open(d, name, 3, VITCL_F32); /* two runs of four */
    vitcl_text_info info = {.size = sizeof info};
    double worst;

    cr_assert_eq(vitcl_text_describe(&info, t), VITCL_OK);
    cr_expect_eq(info.features, g.wide);
    cr_expect_eq(info.context, g.context);
    cr_expect_eq(info.answer,
                 strstr(name, "siglip") ? VITCL_ANY_CLASSES : VITCL_ONE_CLASS);
    cr_expect_str_eq(info.family, strstr(name, "siglip") ? "siglip" : "clip");
    worst = text_off(&g, t, out);
    cr_expect_lt(worst, 1e-4, "%s: texts %.2e", name, worst);
    text_off(&g, t, again);
    cr_expect_eq(memcmp(out, again, (size_t)g.texts * g.wide * sizeof *out), 0,
                 "%s: other bits", name);
    if (g.image)
        check_pictures(&g, d, name, out, &info);
    vitcl_text_free(t);
    golden_close(&g);
    free(out);
    free(again);
}

static int visible(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

Test(text, goldens)
{
    struct dirent **list = NULL;
    const int n = scandir(DATA, &list, visible, alphasort);
    vitcl_device *d = device_open();

    cr_assert_geq(n, 9);
    for (int i = 0; i < n; i++) {
        check_one(d, list[i]->d_name);
        free(list[i]);
    }
    free(list);
    vitcl_device_free(d);
}
