/*
 * test_session.c - guarantees of the public API: a picture's answer depends on
 * nothing else, sessions run in parallel threads, a run allocates nothing,
 * wrong arguments are errors. Tiny pictures on a preset keep it fast.
 */
#include "api/handles.h"
#include "api/program.h"
#include "support/near.h"
#include "support/paths.h"
#include "support/pictures.h"

#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEIGHT = 32, WIDTH = 48, PICTURE = HEIGHT * WIDTH * 3, COUNT = 35 };

static vitcl_device *device;
static vitcl_model *model;
static uint32_t classes;
static uint8_t rgb[COUNT * PICTURE];

static void need(vitcl_status st)
{
    cr_assert_eq(st, VITCL_OK, "%s", vitcl_last_error());
}

static void setup(void)
{
    uint32_t state = 1;

    need(vitcl_device_open(&device, NULL));
    need(vitcl_model_new(&model, device, "vit-ti/16", 0));
    for (size_t i = 0; i < sizeof rgb; i++) {
        state = state * 1664525u + 1013904223u;
        rgb[i] = (uint8_t)(state >> 24);
    }
}

static void teardown(void)
{
    vitcl_model_free(model);
    vitcl_device_free(device);
}

TestSuite(session, .init = setup, .fini = teardown);

typedef struct way {
    const char *gemm;
    vitcl_precision precision;
    double off; /* from the first way's logits, of the largest */
} way;

/* w NULL: as a session is by default */
static vitcl_session *session_of(uint32_t batch, const way *w)
{
    const vitcl_session_options o = {.size = sizeof o,
                                     .batch = batch,
                                     .height = HEIGHT,
                                     .width = WIDTH,
                                     .gemm = w ? w->gemm : NULL,
                                     .precision = w ? w->precision : VITCL_F32};
    vitcl_session *s = NULL;

    need(vitcl_session_new(&s, model, &o));
    classes = vitcl_session_classes(s);
    return s;
}

/* Logits of all pictures, `batch` at a time; the caller frees. */
static float *answers(uint32_t batch, const way *w)
{
    vitcl_session *s = session_of(batch, w);
    float *out = calloc((size_t)COUNT * classes, sizeof *out);

    for (uint32_t at = 0, n; at < COUNT; at += n) {
        n = COUNT - at < batch ? COUNT - at : batch;
        need(vitcl_session_run_rgb(s, rgb + (size_t)at * PICTURE, n));
        need(vitcl_session_read(out + (size_t)at * classes, (size_t)n * classes,
                                s, "logits", n));
    }
    vitcl_session_free(s);
    return out;
}

typedef struct seen {
    uint32_t calls, done, total;
} seen;

static void compiling(void *context, uint32_t done, uint32_t total)
{
    seen *s = context;

    cr_expect(done <= total && total > 0);
    cr_expect(s->done == s->total ? done == 0 : done >= s->done,
              "%u of %u after %u of %u", done, total, s->done, s->total);
    s->done = done, s->total = total, s->calls++;
}

Test(session, tells_what_is_compiled)
{
    vitcl_device *watched = NULL;
    vitcl_model *m = NULL;
    vitcl_session *s = NULL;
    const vitcl_session_options o = {
        .size = sizeof o, .height = HEIGHT, .width = WIDTH};
    seen all = {0};
    vt_session_info info;

    setenv("VITCL_CACHE", "off", 1);
    need(vitcl_device_open(&watched, NULL));
    need(vitcl_device_watch(watched, compiling, &all));
    need(vitcl_model_new(&m, watched, "vit-ti/16", 0));
    need(vitcl_session_new(&s, m, &o));
    info = vt_session_describe(s);
    /* several may be compiled together */
    cr_expect(info.kernels_built > 2 && all.calls > 2);
    cr_expect_eq(all.done, all.total);
    /* the plan's programs are counted before they are compiled */
    cr_expect(all.total > info.kernels_built / 2);
    vitcl_session_free(s);
    all = (seen){0};
    need(vitcl_session_new(&s, m, &o));
    cr_expect_eq(all.calls, 0, "compiled again");
    cr_expect_eq(vitcl_device_watch(NULL, compiling, NULL), VITCL_EINVAL);
    vitcl_session_free(s);
    vitcl_model_free(m);
    vitcl_device_free(watched);
}

/* Of which a GPU's products are tested (test_gemm_mma.c). */
Test(session, any_batch_reaches_the_plan)
{
    vitcl_session_options o = {
        .size = sizeof o, .height = HEIGHT, .width = WIDTH};

    for (int any = 0; any < 2; any++) {
        vitcl_session *s = NULL;

        o.any_batch = any;
        need(vitcl_session_new(&s, model, &o));
        cr_expect_eq(vt_plan_settings(s->plan)->any_batch, any != 0);
        vitcl_session_free(s);
    }
}

/* Without programs on disk: a kernel that depends on the batch is compiled.
 * 197 tokens a picture: very few rows are divided otherwise. */
Test(session, programs_do_not_depend_on_the_batch)
{
    vt_session_info first, later;
    vitcl_session_options o = {.size = sizeof o};
    vitcl_session *s;

    setenv("VITCL_CACHE", "off", 1);
    for (uint32_t batch = 1; batch <= 33; batch += batch < 9 ? 1 : 8) {
        o.batch = batch;
        need(vitcl_session_new(&s, model, &o));
        later = vt_session_describe(s);
        if (batch == 1)
            first = later;
        cr_expect_eq(later.kernels_built, first.kernels_built,
                     "batch %u compiles %d programs", batch,
                     (int)(later.kernels_built - first.kernels_built));
        vitcl_session_free(s);
    }
    cr_expect(first.kernels_built > 0);
}

Test(session, bits_do_not_depend_on_the_batch)
{
    static const way ways[] = {
        {NULL, VITCL_F32, 0},
        /* sums of at most 768 products in another order */
        {"plain", VITCL_F32, 1e-4},
        {"native", VITCL_F32, 1e-4},
        {"clblast", VITCL_F32, 1e-4},
        /* 8 and 11 bits a number; 7, and a scale a token */
        {NULL, VITCL_BF16, 0.05},
        {NULL, VITCL_F16, 0.01},
        {NULL, VITCL_INT8, 0.1},
    };
    float *first = NULL;

    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        static const uint32_t batch[] = {1, 7, 32};
        float *want = answers(1, &ways[w]);
        double most = 0, off = 0;

        for (size_t b = 0; b < 3; b++) {
            float *got = answers(batch[b], &ways[w]);

            cr_expect_eq(
                memcmp(got, want, (size_t)COUNT * classes * sizeof *got), 0,
                "way %zu: other bits at batch %u", w, batch[b]);
            free(got);
        }
        for (size_t i = 0; first && i < (size_t)COUNT * classes; i++) {
            most = fmax(most, fabs((double)first[i]));
            off = vt_worse(off, fabs((double)first[i] - (double)want[i]));
        }
        cr_expect(!first || off < ways[w].off * most,
                  "way %zu differs by %g of %g", w, off, most);
        if (first)
            free(want);
        else
            first = want;
    }
    free(first);
}

/* With `once`, weights are read when needed and packed while multiplying. */
Test(session, once_has_the_same_bits)
{
    static const char *const names[] = {"timm_vit", "timm_hybrid", "hf_clip"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        vitcl_model *m = NULL;
        float got[3][64];
        char path[256];

        snprintf(path, sizeof path, VT_DATA "/models/%s", names[i]);
        need(vitcl_model_load(&m, device, path));
        for (int run = 0; run < 3; run++) {
            const vitcl_session_options o = {.size = sizeof o, .once = run > 0};
            vitcl_session *s = NULL;

            need(vitcl_session_new(&s, m, &o));
            cr_assert_leq(vitcl_session_features(s), 64);
            memset(got[run], 0xff, sizeof got[run]);
            for (int again = 0; again < 2; again++) /* not only once */
                need(vitcl_session_run_rgb(s, rgb, 1));
            need(vitcl_session_read(got[run], 64, s, "features", 1));
            vitcl_session_free(s);
        }
        cr_expect_eq(memcmp(got[0], got[1], sizeof *got), 0, "%s", names[i]);
        cr_expect_eq(memcmp(got[0], got[2], sizeof *got), 0, "%s", names[i]);
        vitcl_model_free(m);
    }
}

/* If a weight file is truncated while in use, the next call that needs the data
 * fails, whenever that is. */
Test(session, truncated_weights_are_an_error)
{
    char *folder = vt_test_folder(), command[1024], file[512];

    for (int when = 0; when < 3; when++) {
        vitcl_session_options o = {.size = sizeof o, .once = when > 0};
        vitcl_model *m = NULL;
        vitcl_session *s = NULL;
        vitcl_status st;

        snprintf(command, sizeof command,
                 "cp " VT_DATA "/models/timm_vit/* %s/", folder);
        cr_assert_eq(system(command), 0);
        snprintf(file, sizeof file, "%s/model.safetensors", folder);
        need(vitcl_model_load(&m, device, folder));
        if (when < 2)
            cr_assert_eq(truncate(file, 8000), 0);
        st = vitcl_session_new(&s, m, &o);
        if (when == 2) {
            need(st);
            cr_assert_eq(truncate(file, 8000), 0);
        }
        if (st == VITCL_OK)
            st = vitcl_session_run_rgb(s, rgb, 1);
        cr_expect_eq(st, VITCL_EIO, "%d: %d %s", when, st, vitcl_last_error());
        cr_expect(strstr(vitcl_last_error(), "model.safetensors") &&
                      strstr(vitcl_last_error(), "truncated"),
                  "%s", vitcl_last_error());
        vitcl_session_free(s);
        vitcl_model_free(m);
    }
    vt_test_remove(folder);
}

typedef struct job {
    vitcl_status st;
    const float *want;
    int differing;
} job;

static void *work(void *context)
{
    const vitcl_session_options o = {
        .size = sizeof o, .batch = 3, .height = HEIGHT, .width = WIDTH};
    job *j = context;
    vitcl_session *s = NULL;
    float *got = calloc(3u * classes, sizeof *got);

    j->st = vitcl_session_new(&s, model, &o);
    for (int i = 0; i < 10 && j->st == VITCL_OK; i++) {
        j->st = vitcl_session_run_rgb(s, rgb, 3);
        if (j->st == VITCL_OK)
            j->st = vitcl_session_read(got, 3u * classes, s, "logits", 3);
        j->differing += memcmp(got, j->want, 3u * classes * sizeof *got) != 0;
    }
    vitcl_session_free(s);
    free(got);
    return NULL;
}

Test(session, threads_share_a_model)
{
    float *want = answers(3, NULL);
    job jobs[2] = {{.want = want}, {.want = want}};
    pthread_t thread[2];

    for (int i = 0; i < 2; i++)
        cr_assert_eq(pthread_create(&thread[i], NULL, work, &jobs[i]), 0);
    for (int i = 0; i < 2; i++) {
        pthread_join(thread[i], NULL);
        cr_expect_eq(jobs[i].st, VITCL_OK);
        cr_expect_eq(jobs[i].differing, 0, "%d runs differ", jobs[i].differing);
    }
    free(want);
}

Test(session, a_run_allocates_nothing)
{
    vitcl_session *s;
    vt_session_info before, after;
    float *logits;

    setenv("VITCL_CACHE", "off", 1); /* so that programs are built, not read */
    s = session_of(2, NULL);
    logits = calloc(2u * classes, sizeof *logits);
    cr_assert(logits);
    before = vt_session_describe(s);
    cr_expect_gt(before.kernels_built, 0);
    cr_expect_gt(before.buffers_made, 0);
    for (uint32_t i = 0; i < 5; i++) {
        need(vitcl_session_run_rgb(s, rgb + i * PICTURE, 1 + i % 2));
        need(vitcl_session_read(logits, 2u * classes, s, "logits", 1 + i % 2));
    }
    after = vt_session_describe(s);
    cr_expect_eq(before.kernels_built, after.kernels_built);
    cr_expect_eq(before.buffers_made, after.buffers_made);
    cr_expect_eq(before.lookups, after.lookups);
    free(logits);
    vitcl_session_free(s);
}

Test(session, parents_may_be_freed_first)
{
    vitcl_session *s = session_of(1, NULL);
    float *logits = calloc(classes, sizeof *logits);

    vitcl_model_free(model), model = NULL;
    vitcl_device_free(device), device = NULL;
    need(vitcl_session_run_rgb(s, rgb, 1));
    need(vitcl_session_read(logits, classes, s, "logits", 1));
    cr_expect(isfinite(logits[0]));
    free(logits);
    vitcl_session_free(s);
    vitcl_session_free(NULL);
    vitcl_model_free(NULL);
    vitcl_device_free(NULL);
    vitcl_image_free(NULL);
    vitcl_loader_free(NULL);
    vt_tensors_free(NULL);
    vitcl_rows_free(NULL);
}

Test(session, classify_and_embed_from_memory)
{
    vitcl_session *s = session_of(2, NULL);
    const uint32_t width = vitcl_session_features(s);
    vitcl_image image[3];
    vitcl_class top[3 * 4];
    float *features = calloc(3u * width, sizeof *features);
    vitcl_image ready;

    need(vitcl_image_load(&image[0], VT_DATA "/sample.jpg"));
    image[1] = image[0], image[2] = image[0];
    need(vitcl_image_prepare(&ready, s, &image[0]));
    cr_expect_eq(ready.height, HEIGHT);
    cr_expect_eq(ready.width, WIDTH);
    vitcl_image_free(&ready);
    need(vitcl_classify(top, 4, s, image, 3)); /* more than the batch */
    cr_expect_eq(memcmp(top, top + 4, 4 * sizeof *top), 0);
    cr_expect_eq(memcmp(top, top + 8, 4 * sizeof *top), 0);
    cr_expect_geq(top[0].probability, top[3].probability);
    need(vitcl_embed(features, s, image, 3));
    cr_expect_eq(
        memcmp(features, features + 2 * width, width * sizeof *features), 0);
    cr_expect_eq(vitcl_classify(top, 0, s, image, 1), VITCL_EINVAL);
    cr_expect_eq(vitcl_classify(top, classes + 1, s, image, 1), VITCL_EINVAL);
    image[1].rgb = NULL;
    cr_expect_eq(vitcl_classify(top, 4, s, image, 2), VITCL_EINVAL);
    free(features);
    vitcl_image_free(&image[0]);
    vitcl_session_free(s);
}

Test(session, loader_keeps_the_order)
{
    vitcl_session *s = session_of(1, NULL);
    vitcl_loader *loader = NULL;
    vitcl_image image, ready;
    uint8_t got[PICTURE];

    need(vitcl_image_load(&image, VT_DATA "/sample.jpg"));
    need(vitcl_image_prepare(&ready, s, &image));
    need(vitcl_loader_new(&loader, s, 2));
    cr_expect_eq(vitcl_loader_next(got, loader), VITCL_EINVAL);
    for (int i = 0; i < 12; i++)
        need(vitcl_loader_push(loader, i % 3 == 1 ? VT_DATA "/no such.jpg"
                                                  : VT_DATA "/sample.jpg"));
    cr_expect_eq(vitcl_loader_pending(loader), 12);
    for (int i = 0; i < 12; i++) {
        vitcl_status st = vitcl_loader_next(got, loader);

        if (i % 3 == 1) {
            cr_expect_eq(st, VITCL_EIO, "picture %d: %d", i, (int)st);
            cr_expect(strstr(vitcl_last_error(), "no such.jpg"), "%s",
                      vitcl_last_error());
            continue;
        }
        need(st);
        cr_expect_eq(memcmp(got, ready.rgb, PICTURE), 0, "picture %d", i);
    }
    cr_expect_eq(vitcl_loader_pending(loader), 0);
    vitcl_loader_free(loader);
    vitcl_image_free(&image);
    vitcl_image_free(&ready);
    vitcl_session_free(s);
}

Test(session, too_large_a_batch_names_one_that_fits)
{
    const vitcl_session_options large = {.size = sizeof large, .batch = 60000};
    const vitcl_session_options odd = {
        .size = sizeof odd, .height = 15, .width = 32};
    const vitcl_session_options gemm = {.size = sizeof gemm,
                                        .gemm = "nonsense"};
    vitcl_session *s = NULL;
    vitcl_model *bare = NULL;
    const char *would;
    unsigned batch = 0;

    cr_expect_eq(vitcl_session_new(&s, model, &large), VITCL_ENOMEM);
    would = strstr(vitcl_last_error(), "a batch of 60000");
    cr_assert(would, "%s", vitcl_last_error());
    would = strstr(would + 1, "a batch of ");
    cr_assert(would && sscanf(would, "a batch of %u fits", &batch) == 1, "%s",
              vitcl_last_error());
    cr_expect(batch > 8 && batch < 60000, "%u fits", batch);
    cr_expect_neq(vitcl_session_new(&s, model, &odd), VITCL_OK);
    cr_expect_neq(vitcl_session_new(&s, model, &gemm), VITCL_OK);
    cr_expect(strstr(vitcl_last_error(), "plain"), "%s", vitcl_last_error());
    need(vitcl_model_new(&bare, NULL, "vit-ti/16", 0));
    cr_expect_eq(vitcl_session_new(&s, bare, NULL), VITCL_EINVAL);
    vitcl_model_free(bare);
    cr_expect_null(s, "out was written on failure");
}

Test(session, null_arguments_are_errors)
{
    vitcl_session *s = session_of(1, NULL);
    vitcl_session *other = NULL;
    vitcl_device_info info = {.size = sizeof info};
    vitcl_model_info about = {.size = sizeof about};
    vitcl_tensor_info tensor = {.size = sizeof tensor};
    vt_step_info step;
    vitcl_class top[1];
    vitcl_image image = {1, 1, rgb};
    vitcl_model *m = NULL;
    float x[1];

    cr_expect_eq(vitcl_device_at(NULL, 0), VITCL_EINVAL);
    cr_expect_eq(vitcl_device_at(&info, 1000), VITCL_ENODEVICE);
    cr_expect_eq(vitcl_device_open(NULL, NULL), VITCL_EINVAL);
    cr_expect_eq(vitcl_model_load(NULL, device, "x"), VITCL_EINVAL);
    cr_expect_eq(vitcl_model_load(&m, device, NULL), VITCL_EINVAL);
    cr_expect_neq(vitcl_model_load(&m, device, "/no/such/model"), VITCL_OK);
    cr_expect_eq(vitcl_model_new(&m, device, NULL, 0), VITCL_EINVAL);
    cr_expect_eq(vitcl_model_describe(NULL, model, 0, 0, 0), VITCL_EINVAL);
    cr_expect_eq(vitcl_model_describe(&about, NULL, 0, 0, 0), VITCL_EINVAL);
    cr_expect_null(vitcl_class_label(NULL, 0));
    cr_expect_null(vitcl_class_label(model, UINT32_MAX));
    cr_expect_null(vitcl_class_name(model, UINT32_MAX));
    cr_expect_eq(vitcl_session_new(NULL, model, NULL), VITCL_EINVAL);
    cr_expect_eq(vitcl_session_new(&other, NULL, NULL), VITCL_EINVAL);
    cr_expect_eq(vitcl_session_run_rgb(NULL, rgb, 1), VITCL_EINVAL);
    cr_expect_eq(vitcl_session_run_rgb(s, NULL, 1), VITCL_EINVAL);
    cr_expect_eq(vitcl_session_run_rgb(s, rgb, 0), VITCL_EINVAL);
    cr_expect_eq(vitcl_session_run_rgb(s, rgb, 2), VITCL_EINVAL);
    cr_expect_eq(vitcl_session_run_values(s, NULL, 1), VITCL_EINVAL);
    cr_expect_eq(vitcl_session_read(NULL, 1000, s, "logits", 1), VITCL_EINVAL);
    cr_expect_eq(vitcl_session_read(x, 1, s, NULL, 1), VITCL_EINVAL);
    cr_expect_eq(vitcl_session_read(x, 1, s, "nothing", 1), VITCL_EINVAL);
    cr_expect_eq(vitcl_session_read(x, 9000, s, "logits", 9), VITCL_EINVAL);
    cr_expect_eq(vitcl_session_tensor(&tensor, s, 1000), VITCL_EINVAL);
    cr_expect_not(vt_session_step(&step, s, 100000));
    cr_expect_eq(vitcl_classify(NULL, 1, s, &image, 1), VITCL_EINVAL);
    cr_expect_eq(vitcl_classify(top, 1, NULL, &image, 1), VITCL_EINVAL);
    cr_expect_eq(vitcl_classify(top, 1, s, NULL, 1), VITCL_EINVAL);
    cr_expect_eq(vitcl_embed(NULL, s, &image, 1), VITCL_EINVAL);
    cr_expect_eq(vitcl_image_load(NULL, "x"), VITCL_EINVAL);
    cr_expect_eq(vitcl_image_load(&image, NULL), VITCL_EINVAL);
    cr_expect_eq(vitcl_image_decode(&image, NULL, 1, "x"), VITCL_EINVAL);
    cr_expect_eq(vitcl_image_prepare(NULL, s, &image), VITCL_EINVAL);
    cr_expect_eq(vitcl_loader_new(NULL, s, 1), VITCL_EINVAL);
    cr_expect_null(m);
    cr_expect_null(other);
    vitcl_session_free(s);
}

Test(session, the_peak_is_a_rate)
{
    for (int p = VITCL_F32; p <= VITCL_INT8; p++) {
        double peak = 0;

        need(vt_device_peak(&peak, device, (vitcl_precision)p));
        cr_expect(peak > 0.1 && peak < 1e6, "%d: %g GFLOP/s", p, peak);
    }
}

Test(session, instructions_are_tried_once)
{
    for (int p = VITCL_F32; p <= VITCL_INT8; p++) {
        need(vt_device_try(device, (vitcl_precision)p));
        cr_expect_not(vt_device_untried(device, (vitcl_precision)p));
    }
}

/* A provider that cannot do what is asked is refused; the used one is named. */
Test(session, unusable_providers_are_refused)
{
    static const struct {
        const char *gemm;
        vitcl_precision precision;
    } refused[] = {{"clblast", VITCL_BF16},
                   {"clblast", VITCL_F16},
                   {"clblast", VITCL_INT8},
                   {"clblast", VITCL_HALF},
                   {"plain", VITCL_INT8}},
      does[] = {{"native", VITCL_F32},  {"plain", VITCL_F32},
                {"plain", VITCL_BF16},  {"plain", VITCL_F16},
                {"clblast", VITCL_F32}, {"native", VITCL_INT8}};
    vitcl_device_info info = {.size = sizeof info};
    vt_session_info what;

    need(vitcl_device_describe(&info, device));
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        const vitcl_session_options o = {.size = sizeof o,
                                         .height = HEIGHT,
                                         .width = WIDTH,
                                         .gemm = refused[i].gemm,
                                         .precision = refused[i].precision};
        vitcl_session *s = NULL;

        cr_expect_eq(vitcl_session_new(&s, model, &o), VITCL_EUNSUPPORTED,
                     "%zu", i);
        cr_expect(strstr(vitcl_last_error(), "does not multiply in"), "%s",
                  vitcl_last_error());
        vitcl_session_free(s);
    }
    for (size_t i = 0; i < sizeof does / sizeof *does; i++) {
        const way w = {does[i].gemm, does[i].precision, 0};
        vitcl_session *s = session_of(1, &w);

        what = vt_session_describe(s);
        cr_expect_str_eq(what.gemm, does[i].gemm);
        vitcl_session_free(s);
    }
    if (strcmp(info.type, "cpu") == 0) {
        const way w = {NULL, VITCL_INT8, 0};
        vitcl_session *s = session_of(1, &w);

        what = vt_session_describe(s);
        cr_expect_str_eq(what.gemm, "native");
        vitcl_session_free(s);
    }
}
