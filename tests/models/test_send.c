/*
 * test_send.c - pictures that are sent while a device computes: the same bits
 * as without, in batches of any size, and a session that may be freed, stopped
 * or used otherwise at any moment. With the kernels for GPUs, and without,
 * where nothing is sent in advance.
 */
#include "api/program.h"
#include "support/device.h"
#include "support/paths.h"
#include "support/pictures.h"

#include <vitcl.h>

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 24, PICTURE = SIDE * SIDE * 3, COUNT = 7 };
enum { CLASSES = 5, WIDTH = 16 }; /* of the model */

static vitcl_device *device;
static vitcl_model *model;
static uint8_t rgb[COUNT * PICTURE];
static float want[COUNT * CLASSES];

static void need(vitcl_status st)
{
    cr_assert_eq(st, VITCL_OK, "%s", vitcl_last_error());
}

static uint8_t *picture(int i)
{
    return rgb + (size_t)i * PICTURE;
}

static float *logits(int i)
{
    return want + (size_t)i * CLASSES;
}

static vitcl_session *session_of(uint32_t batch)
{
    const vitcl_session_options o = {.size = sizeof o,
                                     .batch = batch,
                                     .height = SIDE,
                                     .width = SIDE,
                                     .gemm = "native"};
    vitcl_session *s = NULL;

    need(vitcl_session_new(&s, model, &o));
    cr_assert_eq(vitcl_session_classes(s), CLASSES);
    return s;
}

/* As it is sent: pictures of its size are not cropped. */
static void load_small(void)
{
    const char *folder = vt_test_folder();
    char command[1024];

    snprintf(command, sizeof command,
             "cd '%s/models/timm_vit' && cp model.safetensors '%s' && "
             "sed 's/\"mean\"/\"crop_pct\": 1, &/' config.json "
             ">'%s/config.json'",
             VT_DATA, folder, folder);
    cr_assert_eq(system(command), 0);
    need(vitcl_model_load(&model, device, folder));
    vt_test_remove(folder);
}

static void open_as(const char *class)
{
    vt_session_info info;
    vitcl_session *s;

    setenv("VITCL_DEVICE_CLASS", class, 1);
    vt_test_class(strcmp(class, "gpu") == 0 ? VT_CLASS_GPU : VT_CLASS_CPU);
    need(vitcl_device_open(&device, NULL));
    load_small();
    for (size_t i = 0; i < sizeof rgb; i++)
        rgb[i] = (uint8_t)((i + 1) * 2654435761u >> 13);
    s = session_of(1);
    info = vt_session_describe(s);
    cr_expect_eq(info.overlaps, strcmp(class, "gpu") == 0);
    for (int i = 0; i < COUNT; i++) {
        need(vitcl_session_run_rgb(s, picture(i), 1));
        need(vitcl_session_read(logits(i), CLASSES, s, "logits", 1));
    }
    vitcl_session_free(s);
    cr_assert(memcmp(logits(0), logits(1), CLASSES * sizeof *want) != 0);
}

static void close_all(void)
{
    vitcl_model_free(model);
    vitcl_device_free(device);
}

static void open_gpu(void)
{
    open_as("gpu");
}

static void open_cpu(void)
{
    open_as("cpu");
}

/* Reads the answers of the last run, of n pictures from `at` on. */
static void check(vitcl_session *s, int at, int n)
{
    static float got[COUNT * CLASSES];

    memset(got, 0xff, sizeof got);
    need(vitcl_session_read(got, COUNT * CLASSES, s, "logits", (uint32_t)n));
    cr_expect(memcmp(got, logits(at), (size_t)n * CLASSES * sizeof *got) == 0,
              "pictures %d to %d", at, at + n - 1);
}

/* Every batch but the first is sent before the answers of the one before are
 * read. */
static void all_batches(void)
{
    for (int batch = 1; batch <= COUNT + 1; batch += 2) {
        vitcl_session *s = session_of((uint32_t)batch);
        int n = batch < COUNT ? batch : COUNT, next;

        need(vt_session_send_rgb(s, picture(0), (uint32_t)n));
        for (int at = 0; n > 0; at += n, n = next) {
            need(vt_session_run_sent(s));
            next = COUNT - at - n < batch ? COUNT - at - n : batch;
            if (next > 0)
                need(vt_session_send_rgb(s, picture(at + n), (uint32_t)next));
            check(s, at, n);
        }
        cr_expect_eq(vt_session_run_sent(s), VITCL_EINVAL);
        vitcl_session_free(s);
    }
}

static void in_any_order(void)
{
    vitcl_session *s = session_of(2);
    float x[CLASSES];

    cr_expect_eq(vt_session_send_rgb(s, NULL, 1), VITCL_EINVAL);
    cr_expect_eq(vt_session_send_rgb(s, picture(0), 0), VITCL_EINVAL);
    cr_expect_eq(vt_session_send_rgb(s, picture(0), 3), VITCL_EINVAL);
    cr_expect_eq(vt_session_run_sent(s), VITCL_EINVAL);
    need(vt_session_send_rgb(s, picture(0), 2));
    cr_expect_eq(vitcl_session_read(x, CLASSES, s, "logits", 1), VITCL_EINVAL,
                 "sent, but not run");
    need(vt_session_send_rgb(s, picture(2), 2));   /* instead */
    need(vitcl_session_run_rgb(s, picture(4), 2)); /* others between */
    check(s, 4, 2);
    need(vt_session_run_sent(s));
    check(s, 2, 2);
    need(vt_session_send_rgb(s, NULL, 2)); /* the same once more */
    need(vt_session_run_sent(s));
    need(vt_session_send_rgb(s, picture(5), 1));
    need(vt_session_send_rgb(s, picture(6), 1));
    check(s, 2, 2);
    check(s, 2, 1); /* again */
    need(vt_session_run_sent(s));
    need(vitcl_session_run_rgb(s, picture(0),
                               2)); /* the answer before is not read */
    check(s, 0, 2);
    need(vt_session_send_rgb(s, picture(1), 1));
    vitcl_session_stop(s);
    cr_expect_eq(vt_session_run_sent(s), VITCL_ESTOPPED);
    cr_expect_eq(vitcl_session_read(x, CLASSES, s, "logits", 1), VITCL_EINVAL);
    need(vt_session_send_rgb(s, picture(3), 1));
    need(vt_session_run_sent(s));
    check(s, 3, 1);
    vitcl_session_free(s);
}

static void freed_at_any_moment(void)
{
    for (int sent = 0; sent < 4; sent++) {
        vitcl_session *s = session_of(3);

        need(vt_session_send_rgb(s, picture(0), 3));
        if (sent > 0)
            need(vt_session_run_sent(s));
        if (sent > 1)
            need(vt_session_send_rgb(s, picture(3), 2));
        if (sent > 2)
            need(vt_session_run_sent(s));
        vitcl_session_free(s);
    }
}

/* These send by themselves. */
static void classified(void)
{
    vitcl_image image[COUNT];
    vitcl_class top[COUNT];

    for (int i = 0; i < COUNT; i++)
        image[i] = (vitcl_image){SIDE, SIDE, picture(i)};
    for (uint32_t batch = 1; batch <= COUNT; batch += 2) {
        vitcl_session *s = session_of(batch);
        static float a[COUNT * WIDTH], b[WIDTH];

        need(vitcl_classify(top, 1, s, image, COUNT));
        need(vitcl_embed(a, s, image, COUNT));
        for (int i = 0; i < COUNT; i++) {
            vitcl_class best;

            vitcl_class_choose(&best, 1, logits(i), CLASSES, VITCL_ONE_CLASS);
            cr_expect(memcmp(&best, &top[i], sizeof best) == 0);
            need(vitcl_embed(b, s, &image[i], 1));
            cr_expect(memcmp(b, a + i * WIDTH, sizeof b) == 0);
        }
        vitcl_session_free(s);
    }
}

/* Batches of 2, 0, 1, 2 and 2 pictures; what is at hand varies. */
static const int sizes[] = {2, 0, 1, 2, 2};
enum { BATCHES = sizeof sizes / sizeof *sizes };

typedef struct asked {
    int given, taken, calls, first[BATCHES + 1];
    int reluctant; /* each so many calls that need not wait give nothing */
    int next_fails, take_fails; /* at this batch; -1: none */
    float out[2][2 * CLASSES];
} asked;

static vitcl_status next_batch(void *context, vitcl_batch *b, int wait)
{
    asked *a = context;
    const int i = a->given;

    if (i == a->next_fails)
        return VITCL_EIO;
    if (i == BATCHES || (!wait && ++a->calls % a->reluctant == 0))
        return VITCL_OK;
    cr_expect(i - a->taken < 2, "no more than one ahead");
    *b = (vitcl_batch){picture(a->first[i]), (uint32_t)sizes[i], a->out[i % 2],
                       &a->first[i]};
    a->first[i + 1] = a->first[i] + sizes[i];
    a->given++;
    return VITCL_OK;
}

static vitcl_status take_batch(void *context, const vitcl_batch *b)
{
    asked *a = context;
    const int first = a->first[a->taken];

    cr_expect_eq(b->own, &a->first[a->taken], "in order");
    cr_expect_eq(b->n, (uint32_t)sizes[a->taken]);
    cr_expect(memcmp(b->out, logits(first), b->n * CLASSES * sizeof(float)) ==
              0);
    if (a->taken == a->take_fails)
        return VITCL_ESTOPPED;
    a->taken++;
    return VITCL_OK;
}

static vitcl_session *looked;

/* A sink may ask why a number is not finite; for all else the session is in
 * use. */
static vitcl_status look_at_batch(void *context, const vitcl_batch *b)
{
    static float got[COUNT * CLASSES];

    for (uint32_t i = 0; i < b->n; i++)
        need(vt_session_check(looked, "logits", i));
    cr_expect_eq(
        vitcl_session_read(got, COUNT * CLASSES, looked, "logits", b->n),
        VITCL_EBUSY);
    cr_expect_eq(vitcl_session_run_rgb(looked, rgb, 1), VITCL_EBUSY);
    return take_batch(context, b);
}

static vitcl_status ask(asked *a, vitcl_session *s)
{
    return vitcl_session_run_batches(s, "logits", CLASSES, next_batch,
                                     take_batch, a);
}

static void batch_by_batch(void)
{
    vitcl_session *s = session_of(2);

    for (int reluctant = 1; reluctant < 4; reluctant++) {
        asked a = {.reluctant = reluctant, .next_fails = -1, .take_fails = -1};

        need(ask(&a, s));
        cr_expect_eq(a.taken, BATCHES);
    }
    for (int i = 0; i < BATCHES; i++) {
        asked a = {.reluctant = 9, .next_fails = i, .take_fails = -1};

        cr_expect_eq(ask(&a, s), VITCL_EIO);
        cr_expect(a.taken >= i - 1 && a.taken <= i);
        cr_expect_eq(vt_session_run_sent(s), VITCL_EINVAL);
        a = (asked){.reluctant = 9, .next_fails = -1, .take_fails = i};
        cr_expect_eq(ask(&a, s), VITCL_ESTOPPED);
        cr_expect_eq(a.taken, i);
        cr_expect_eq(vt_session_run_sent(s), VITCL_EINVAL);
    }
    asked a = {.reluctant = 1, .next_fails = -1, .take_fails = -1};
    looked = s;
    need(vitcl_session_run_batches(s, "logits", CLASSES, next_batch,
                                   look_at_batch, &a));
    cr_expect_eq(a.taken, BATCHES);
    need(vitcl_session_run_rgb(s, picture(5), 1));
    check(s, 5, 1);
    cr_expect_eq(vitcl_session_run_batches(s, "logits", CLASSES - 1, next_batch,
                                           take_batch, NULL),
                 VITCL_EINVAL);
    cr_expect_eq(vitcl_session_run_batches(s, "nothing", CLASSES, next_batch,
                                           take_batch, NULL),
                 VITCL_EINVAL);
    vitcl_session_free(s);
}

TestSuite(send_gpu, .init = open_gpu, .fini = close_all);
TestSuite(send_cpu, .init = open_cpu, .fini = close_all);

Test(send_gpu, all_batches)
{
    all_batches();
}

Test(send_gpu, in_any_order)
{
    in_any_order();
}

Test(send_gpu, freed_at_any_moment)
{
    freed_at_any_moment();
}

Test(send_gpu, classified)
{
    classified();
}

Test(send_gpu, batch_by_batch)
{
    batch_by_batch();
}

Test(send_cpu, batch_by_batch)
{
    batch_by_batch();
}

Test(send_cpu, all_batches)
{
    all_batches();
}

Test(send_cpu, in_any_order)
{
    in_any_order();
}

Test(send_cpu, classified)
{
    classified();
}
