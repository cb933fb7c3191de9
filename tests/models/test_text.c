/*
 * test_text.c - both towers of models of pictures and texts, each opened alone,
 * against transformers and open_clip (tools/golden_text.py).
 */
#include "api/program.h"
#include "support/device.h"
#include "support/golden.h"
#include "support/near.h"
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
        worst = vt_worse(worst, e);
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
    cr_assert_eq(vitcl_session_run_values(s, g->pixels, g->pictures), VITCL_OK,
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

/* The others are vocabularies. */
static int is_golden(const struct dirent *e)
{
    char path[512];

    snprintf(path, sizeof path, DATA "%.200s/expected.safetensors", e->d_name);
    return vt_have(path);
}

Test(text, goldens)
{
    struct dirent **list = NULL;
    const int n = scandir(DATA, &list, is_golden, alphasort);
    vitcl_device *d = device_open();

    cr_assert_geq(n, 11);
    for (int i = 0; i < n; i++) {
        check_one(d, list[i]->d_name);
        free(list[i]);
    }
    free(list);
    vitcl_device_free(d);
}

/* Of 40 tokens; the plan depends on the longest text of a run, and the answers
 * do not. */
Test(text, lengths)
{
    golden g = golden_open("hf_clip_long");
    const size_t n = (size_t)g.texts * g.wide;
    float *out = malloc(n * sizeof *out);
    vitcl_device *d = device_open();
    vitcl_text *t = text_open(d, "hf_clip_long", 2, VITCL_F32);

    cr_assert_eq(g.context, 40);
    for (uint32_t i = 0; i < g.texts; i++)
        cr_assert_eq(vitcl_text_embed_tokens(out + i * g.wide, t,
                                             g.ids + i * g.context, 1),
                     VITCL_OK, "%s", vitcl_last_error());
    cr_expect_lt(off(out, g.text, n), 1e-4, "%.2e", off(out, g.text, n));
    cr_expect_lt(text_off(&g, t, out), 1e-4);
    g.ids[39] = 41; /* behind the end, where no plan looks */
    cr_expect_eq(vitcl_text_embed_tokens(out, t, g.ids, 1), VITCL_EINVAL);
    vitcl_text_free(t);
    vitcl_device_free(d);
    golden_close(&g);
    free(out);
}

/* ---- other precisions and kernels ---- */

/* The same numbers by the kernels for GPUs. */
static double gpu_off(const char *name, vitcl_precision precision)
{
    const vt_plan_options o = {.dev = vt_test_device(),
                               .device_class = VT_CLASS_GPU,
                               .precision = precision};
    golden g = golden_open(name);
    const int texts = (int)g.texts, context = (int)g.context;
    float *out = malloc((size_t)g.texts * g.wide * sizeof *out), *rows;
    vt_plan_options with = o;
    vt_outputs answer;
    vt_model *m = NULL;
    vt_plan *p = NULL;
    vt_val x, end;
    int32_t ends[8];
    char path[512];
    double worst;
    int wide;

    snprintf(path, sizeof path, DATA "%s", name);
    vt_test_class(VT_CLASS_GPU);
    cr_assert_eq(vt_tower_open(&m, path), VITCL_OK, "%s", vt_message());
    wide = vt_model_config(m)->width;
    rows = malloc((size_t)(texts * context * wide) * sizeof *rows);
    cr_assert_eq(vt_store_new(&with.store, o.dev, vt_model_read_param, m),
                 VITCL_OK);
    cr_assert_eq(vt_plan_new(&p, &with), VITCL_OK);
    x = vt_input(p, "embed", VT_F32, 3, (int[]){texts, context, wide});
    end = vt_input(p, "end", VT_I32, 1, &texts);
    vt_tower_build(p, m, x, end, VT_NONE, &answer);
    cr_assert_eq(vt_plan_finish(p), VITCL_OK, "%s", vt_message());
    for (int i = 0; i < texts; i++) {
        ends[i] = vt_tower_end(m, g.ids + i * context);
        cr_assert_eq(vt_tower_rows(rows + i * context * wide, m,
                                   g.ids + i * context, context),
                     VITCL_OK, "%s", vt_message());
    }
    cr_assert_eq(vt_plan_write(p, x, rows,
                               (size_t)(texts * context * wide) * sizeof *rows),
                 VITCL_OK);
    cr_assert_eq(vt_plan_write(p, end, ends, (size_t)texts * sizeof *ends),
                 VITCL_OK);
    cr_assert_eq(vt_plan_run(p, 0), VITCL_OK, "%s", vt_message());
    cr_assert_eq(
        vt_plan_read(p, answer.features, out, (size_t)g.texts * g.wide),
        VITCL_OK);
    worst = off(out, g.text, (size_t)g.texts * g.wide);
    vt_plan_free(p);
    vt_store_free(with.store);
    vt_model_close(m);
    golden_close(&g);
    free(rows);
    free(out);
    return worst;
}

Test(text, gpu)
{
    static const char *const names[] = {"hf_clip", "oc_siglip"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cr_expect_lt(gpu_off(names[i], VITCL_F32), 1e-4);
        cr_expect_lt(gpu_off(names[i], VITCL_F16), 0.01);
        cr_expect_lt(gpu_off(names[i], VITCL_BF16), 0.05);
    }
}

/* int8 rounds each row of these narrow layers to 255 steps. */
Test(text, precisions)
{
    static const char *const names[] = {"hf_clip", "hf_siglip"};
    static const struct {
        vitcl_precision precision;
        double bound;
    } all[] = {{VITCL_BF16, 0.05}, {VITCL_F16, 0.01}, {VITCL_INT8, 0.08}};
    vitcl_device *d = device_open();

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
            golden g = golden_open(names[i]);
            float *out = malloc((size_t)g.texts * g.wide * sizeof *out);
            vitcl_text *t = text_open(d, names[i], g.texts, all[k].precision);
            const double worst = text_off(&g, t, out);

            cr_expect_lt(worst, all[k].bound, "%s in precision %d: %.2e",
                         names[i], (int)all[k].precision, worst);
            cr_expect_gt(worst, 0);
            vitcl_text_free(t);
            golden_close(&g);
            free(out);
        }
    vitcl_device_free(d);
}

/* ---- words ---- */

static const char *const texts[] = {
    "a dog on a beach", "Ein rotes Auto, 3 km/h!", "", "  two \n lines ",
    "a photo of a very long name that is cut at the end of the context"};
static const char *const labels[] = {"cat", "dog", "red car"};
static const char *const prompts[] = {"a photo of a {}.", "{}", "{} beside {}",
                                      NULL};
enum { TEXTS = 5, LABELS = 3, CONTEXT = 11, WIDE = 12 };

/* Against transformers' tokenizer and tower, and open_clip's
 * build_zero_shot_classifier(). */
Test(text, words)
{
    static const uint32_t batches[] = {1, 4, 32};
    golden g = golden_open("hf_words");
    const vt_tensor *tensor;
    float *want = read_one(g.all, "labels", &tensor);
    float out[TEXTS * WIDE], mean[LABELS * WIDE];
    vitcl_device *d = device_open();

    cr_assert(g.texts == TEXTS && g.context == CONTEXT && g.wide == WIDE);
    cr_assert_eq(tensor->count, LABELS * WIDE);
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        vitcl_text *t = text_open(d, "hf_words", batches[i], VITCL_F32);

        for (uint32_t k = 0; k < TEXTS; k++) {
            int32_t ids[CONTEXT];
            uint32_t count = 0;

            cr_assert_eq(vitcl_text_tokens(ids, &count, t, texts[k]), VITCL_OK,
                         "%s", vitcl_last_error());
            cr_expect_eq(memcmp(ids, g.ids + k * CONTEXT, sizeof ids), 0,
                         "\"%s\"", texts[k]);
            cr_expect_eq(count, k == 2 ? 2 : k == 0 ? 7 : count);
        }
        cr_assert_eq(vitcl_text_embed(out, t, texts, TEXTS), VITCL_OK, "%s",
                     vitcl_last_error());
        cr_expect_lt(off(out, g.text, TEXTS * WIDE), 1e-4);
        cr_assert_eq(
            vitcl_text_labels(mean, t, labels, LABELS, prompts, NULL, NULL),
            VITCL_OK, "%s", vitcl_last_error());
        cr_expect_lt(off(mean, want, LABELS * WIDE), 1e-4);
        vitcl_text_free(t);
    }
    vitcl_device_free(d);
    golden_close(&g);
    free(want);
}

/* A vocabulary like Gemma's; the padding is hidden. The second half of the
 * vectors is of the texts in lower case, as SigLIP 2 was trained. */
Test(text, siglip2)
{
    golden g = golden_open("hf_siglip2");
    const vt_tensor *tensor;
    float *masked = read_one(g.all, "masked_embeds", &tensor);
    vitcl_device *d = device_open();

    cr_assert(g.texts == 2 * TEXTS && g.context == CONTEXT);
    for (uint32_t lower = 0; lower < 2; lower++) {
        const vitcl_text_options o = {
            .size = sizeof o, .batch = TEXTS, .lower_case = (int)lower};
        float *out = calloc(TEXTS * g.wide, sizeof *out);
        vitcl_text *t = NULL;

        cr_assert_eq(vitcl_text_new(&t, d, DATA "hf_siglip2", &o), VITCL_OK,
                     "%s", vitcl_last_error());
        for (uint32_t k = 0; k < TEXTS; k++) {
            const int32_t *want = g.ids + (lower * TEXTS + k) * CONTEXT;
            int32_t ids[CONTEXT];
            uint32_t count;

            cr_assert_eq(vitcl_text_tokens(ids, &count, t, texts[k]), VITCL_OK);
            cr_expect_eq(memcmp(ids, want, sizeof ids), 0, "\"%s\"", texts[k]);
        }
        cr_assert_eq(vitcl_text_embed(out, t, texts, TEXTS), VITCL_OK, "%s",
                     vitcl_last_error());
        cr_expect_lt(off(out, masked + lower * TEXTS * g.wide, TEXTS * g.wide),
                     1e-4);
        free(out);
        vitcl_text_free(t);
    }
    free(masked);
    vitcl_device_free(d);
    golden_close(&g);
}

/* The path of the weights stands for their folder. */
Test(text, a_file)
{
    vitcl_device *d = device_open();
    vitcl_text *t = text_open(d, "hf_words/model.safetensors", 1, VITCL_F32);
    float out[WIDE];

    cr_expect_eq(vitcl_text_embed(out, t, texts, 1), VITCL_OK, "%s",
                 vitcl_last_error());
    vitcl_text_free(t);
    vitcl_device_free(d);
}

/* Without prompts, a label is its own: the unit vector of the text. */
Test(text, plain_labels)
{
    static const char *const none[] = {NULL};
    vitcl_device *d = device_open();
    vitcl_text *t = text_open(d, "hf_words", 2, VITCL_F32);
    float out[LABELS * WIDE], mean[LABELS * WIDE], again[LABELS * WIDE];

    cr_assert_eq(vitcl_text_embed(out, t, labels, LABELS), VITCL_OK);
    cr_assert_eq(vitcl_text_labels(mean, t, labels, LABELS, NULL, NULL, NULL),
                 VITCL_OK);
    cr_assert_eq(vitcl_text_labels(again, t, labels, LABELS, none, NULL, NULL),
                 VITCL_OK);
    cr_expect_eq(memcmp(mean, again, sizeof mean), 0);
    for (int i = 0; i < LABELS; i++) {
        const float *x = mean + i * WIDE;
        double length = 0;

        for (int k = 0; k < WIDE; k++)
            length += (double)x[k] * (double)x[k];
        cr_expect_float_eq(length, 1, 1e-6);
        cr_expect_float_eq((double)dot(x, out + i * WIDE, WIDE), 1, 1e-6);
    }
    vitcl_text_free(t);
    vitcl_device_free(d);
}

typedef struct seen {
    vitcl_text *text;
    vitcl_status inside;
    uint64_t done, total;
    int calls, stop;
} seen;

/* Calls the text that is in use. */
static int watch(void *context, uint64_t done, uint64_t total)
{
    seen *s = context;
    float out[WIDE];

    cr_expect_geq(done, s->done);
    s->done = done, s->total = total, s->calls++;
    s->inside = vitcl_text_embed(out, s->text, labels, 1);
    return s->stop;
}

Test(text, progress)
{
    vitcl_device *d = device_open();
    vitcl_text *t = text_open(d, "hf_words", 2, VITCL_F32);
    seen s = {.text = t};
    float mean[LABELS * WIDE] = {0}, before[LABELS * WIDE] = {0};

    cr_assert_eq(vitcl_text_labels(mean, t, labels, LABELS, prompts, watch, &s),
                 VITCL_OK);
    cr_expect_eq(s.inside, VITCL_EBUSY);
    cr_expect(s.done == LABELS && s.total == LABELS && s.calls == 5);
    s = (seen){.text = t, .stop = 1};
    memset(mean, 0, sizeof mean);
    cr_expect_eq(vitcl_text_labels(mean, t, labels, LABELS, prompts, watch, &s),
                 VITCL_ESTOPPED);
    cr_expect_eq(s.calls, 1);
    cr_expect_eq(memcmp(mean, before, sizeof mean), 0);
    vitcl_text_free(t);
    vitcl_device_free(d);
}

/* ---- what callers do wrong ---- */

#define REFUSED(status, part, call)                                            \
    do {                                                                       \
        cr_expect_eq((call), (status), "%s", #call);                           \
        cr_expect(strstr(vitcl_last_error(), (part)), "%s: %s", #call,         \
                  vitcl_last_error());                                         \
    } while (0)

Test(text, misuse)
{
    vitcl_device *d = device_open();
    vitcl_text *t = text_open(d, "hf_clip", 2, VITCL_F32), *none = NULL;
    vitcl_text_options o = {.size = sizeof o, .batch = 70000};
    int32_t ids[22] = {0};
    float out[24], before[24];

    memset(out, 7, sizeof out);
    memcpy(before, out, sizeof out);
    ids[21] = 41;
    REFUSED(VITCL_EINVAL,
            "token 10 of a text is 41; the vocabulary has the "
            "numbers 0 to 40",
            vitcl_text_embed_tokens(out, t, ids, 2));
    ids[21] = -1;
    REFUSED(VITCL_EINVAL, "is -1", vitcl_text_embed_tokens(out, t, ids, 2));
    ids[21] = INT32_MIN;
    REFUSED(VITCL_EINVAL, "is -2147", vitcl_text_embed_tokens(out, t, ids, 2));
    cr_expect_eq(memcmp(out, before, sizeof out), 0, "no answer");
    cr_expect_eq(vitcl_text_embed_tokens(out, t, ids, 0), VITCL_OK);
    cr_expect_eq(memcmp(out, before, sizeof out), 0, "no texts");
    ids[21] = 40;
    cr_expect_eq(vitcl_text_embed_tokens(out, t, ids, 2), VITCL_OK);
    REFUSED(VITCL_EINVAL, "ids is NULL",
            vitcl_text_embed_tokens(out, t, NULL, 1));
    REFUSED(VITCL_EINVAL, "batch of 70000",
            vitcl_text_new(&none, d, DATA "hf_clip", &o));
    o.batch = 1, o.precision = (vitcl_precision)99;
    REFUSED(VITCL_EINVAL, "precision", vitcl_text_new(&none, d, DATA, &o));
    REFUSED(VITCL_EUNSUPPORTED, "no text tower",
            vitcl_text_new(&none, d, VT_DATA "/models/timm_vit", NULL));
    REFUSED(VITCL_EUNSUPPORTED, "text tower",
            vitcl_text_new(&none, d, VT_DATA "/models/hf_clip", NULL));
    REFUSED(VITCL_EUNSUPPORTED, "text tower",
            vitcl_text_new(&none, d, "/no/such", NULL));
    cr_expect_null(none);
    vitcl_text_free(t);
    vitcl_text_free(NULL);
    vitcl_device_free(d);
}

Test(text, wrong_words)
{
    static const char *const broken[] = {"a dog", "\xff"};
    static const char *const missing[] = {"a dog", NULL};
    static const char *const bare[] = {"{}", "a photo", NULL};
    vitcl_device *d = device_open();
    vitcl_text *t = text_open(d, "hf_words", 2, VITCL_F32);
    vitcl_text *untold = text_open(d, "hf_clip", 1, VITCL_F32);
    int32_t ids[CONTEXT] = {7};
    float out[2 * WIDE] = {7};
    uint32_t n = 7;

    REFUSED(VITCL_ECORRUPT, "UTF-8", vitcl_text_tokens(ids, &n, t, broken[1]));
    cr_expect(ids[0] == 7 && n == 7);
    REFUSED(VITCL_ECORRUPT, "UTF-8", vitcl_text_embed(out, t, broken, 2));
    REFUSED(VITCL_ECORRUPT, "UTF-8",
            vitcl_text_labels(out, t, broken, 2, NULL, NULL, NULL));
    cr_expect_eq(out[0], 7);
    REFUSED(VITCL_EINVAL, "text 1 is NULL",
            vitcl_text_embed(out, t, missing, 2));
    REFUSED(VITCL_EINVAL, "\"a photo\" has no {}",
            vitcl_text_labels(out, t, labels, 2, bare, NULL, NULL));
    cr_expect_eq(vitcl_text_embed(out, t, labels, 0), VITCL_OK);
    cr_expect_eq(out[0], 7);
    /* a tower without its tokenizer takes tokens */
    cr_expect_neq(vitcl_text_embed(out, untold, labels, 1), VITCL_OK);
    cr_expect(vitcl_last_error()[0]);
    cr_expect_neq(vitcl_text_tokens(ids, &n, untold, labels[0]), VITCL_OK);
    vitcl_text_free(untold);
    vitcl_text_free(t);
    vitcl_device_free(d);
}
