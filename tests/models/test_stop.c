/*
 * test_stop.c - long calls report progress and can be stopped; calls after a
 * stopped one give the same bits as ever.
 */
#include "api/program.h"
#include "support/pictures.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <vitcl_train.h>

enum { SIDE = 32, PICTURE = SIDE * SIDE * 3, COUNT = 7, CLASSES = 1000 };

static vitcl_device *device;
static vitcl_model *model;
static vitcl_image image[COUNT];
static uint8_t rgb[COUNT][PICTURE];
static vitcl_session *session;

static void need(vitcl_status st)
{
    cr_assert_eq(st, VITCL_OK, "%s", vitcl_last_error());
}

static void setup(void)
{
    need(vitcl_device_open(&device, getenv("VITCL_TEST_DEVICE")));
    need(vitcl_model_new(&model, device, "vit-ti/16", SIDE));
    for (int i = 0; i < COUNT; i++) {
        for (int k = 0; k < PICTURE; k++)
            rgb[i][k] =
                (uint8_t)((unsigned)((i + 3) * (k + 1)) * 2654435761u >> 24);
        image[i] = (vitcl_image){SIDE, SIDE, rgb[i]};
    }
}

static void teardown(void)
{
    vitcl_session_free(session);
    vitcl_model_free(model);
    vitcl_device_free(device);
}

TestSuite(stop, .init = setup, .fini = teardown);

/* What a progress callback saw, and when it stops the call. */
typedef struct seen {
    uint64_t calls, last, total, stop_at; /* of `done`; 0: never */
    bool wrong, by_signal;
} seen;

static void on_signal(int number)
{
    (void)number;
    vitcl_session_stop(session);
}

static int look(void *context, uint64_t done, uint64_t total)
{
    seen *s = context;

    s->wrong = s->wrong || done <= s->last || done > total ||
               (s->calls && total != s->total);
    s->calls++, s->last = done, s->total = total;
    if (s->by_signal && s->stop_at && done >= s->stop_at)
        raise(SIGUSR1);
    return !s->by_signal && s->stop_at && done >= s->stop_at;
}

static vitcl_status open_session(seen *s)
{
    const vitcl_session_options o = {
        .size = sizeof o, .batch = 2, .progress = look, .progress_context = s};

    return vitcl_session_new(&session, model, &o);
}

Test(stop, preparing_a_session)
{
    seen s = {.stop_at = 0}, none = {.stop_at = 0};

    need(open_session(&s));
    cr_expect(s.calls > 20 && s.last == s.total && !s.wrong);
    vitcl_session_free(session);
    for (uint64_t at = 1; at <= s.total; at += s.total / 5) {
        seen stopped = {.stop_at = at};

        session = NULL;
        cr_expect_eq(open_session(&stopped), VITCL_ESTOPPED);
        cr_expect_str_eq(vitcl_last_error(), "stopped by the caller");
        cr_expect_null(session);
        cr_expect_eq(stopped.last, at);
    }
    need(open_session(&none));
}

Test(stop, between_batches)
{
    vitcl_class top[COUNT], again[COUNT];
    static float a[COUNT * 192], b[COUNT * 192];
    seen s = {.stop_at = 0};

    need(open_session(&s));
    cr_assert_eq(vitcl_session_features(session), 192);
    s = (seen){.stop_at = 0};
    need(vitcl_classify(top, 1, session, image, COUNT));
    cr_expect(s.calls == 4 && s.last == COUNT && s.total == COUNT && !s.wrong);
    s = (seen){.stop_at = 0};
    need(vitcl_embed(a, session, image, COUNT));
    cr_expect(s.calls == 4 && s.last == COUNT && !s.wrong);

    s = (seen){.stop_at = 4};
    cr_expect_eq(vitcl_classify(again, 1, session, image, COUNT),
                 VITCL_ESTOPPED);
    cr_expect_eq(s.calls, 2);
    s = (seen){.stop_at = 2};
    cr_expect_eq(vitcl_embed(b, session, image, COUNT), VITCL_ESTOPPED);
    cr_expect_eq(s.calls, 1);

    s = (seen){.stop_at = 0};
    need(vitcl_classify(again, 1, session, image, COUNT));
    need(vitcl_embed(b, session, image, COUNT));
    cr_expect(memcmp(top, again, sizeof top) == 0);
    cr_expect(memcmp(a, b, sizeof a) == 0);
}

Test(stop, from_another_thread)
{
    vitcl_class top[COUNT], again[COUNT];
    static float pixels[2 * PICTURE];
    seen s = {.stop_at = 0};

    vitcl_session_stop(NULL);
    need(open_session(&s));
    s = (seen){.stop_at = 0};
    need(vitcl_classify(top, 1, session, image, COUNT));
    vitcl_session_stop(session); /* before a call: that one, once */
    cr_expect_eq(vitcl_session_run_rgb(session, rgb[0], 1), VITCL_ESTOPPED);
    need(vitcl_session_run_rgb(session, rgb[0], 1));
    vitcl_session_stop(session);
    cr_expect_eq(vitcl_session_run_values(session, pixels, 1), VITCL_ESTOPPED);
    need(vitcl_session_run_values(session, pixels, 1));

    signal(SIGUSR1, on_signal);
    s = (seen){.stop_at = 4, .by_signal = true};
    cr_expect_eq(vitcl_classify(again, 1, session, image, COUNT),
                 VITCL_ESTOPPED);
    cr_expect_eq(s.calls, 2);
    s = (seen){.stop_at = 0};
    need(vitcl_classify(again, 1, session, image, COUNT));
    cr_expect(memcmp(top, again, sizeof top) == 0);
}

Test(stop, an_evaluation)
{
    char *root = vt_test_folder();
    vitcl_dataset *d = NULL;
    vt_fewshot_score score = {.shots = 1};
    vitcl_scores scores = {.size = sizeof scores};
    vitcl_model *cifar = NULL;
    seen s = {.stop_at = 6};

    vt_test_cifar(root, 20, 5);
    need(vitcl_dataset_open(
        &d, root,
        &(vitcl_dataset_options){.size = sizeof(vitcl_dataset_options),
                                 .split = "train"}));
    need(vt_dataset_use_numbers(d)); /* its classes have no names */
    need(vitcl_model_load(&cifar, device, VITCL_MODEL_BUILTIN));
    need(vitcl_session_new(
        &session, cifar,
        &(vitcl_session_options){.size = sizeof(vitcl_session_options),
                                 .batch = 3}));
    cr_expect_eq(vitcl_evaluate(&scores, NULL, session, d, look, &s),
                 VITCL_ESTOPPED);
    cr_expect_eq(s.calls, 2);
    cr_expect_eq(scores.pictures, 0);
    s = (seen){.stop_at = 3};
    cr_expect_eq(vt_fewshot_run(&score, 1, 1, 0, session, d, d, look, &s),
                 VITCL_ESTOPPED);
    vitcl_session_stop(session);
    cr_expect_eq(vitcl_evaluate(&scores, NULL, session, d, NULL, NULL),
                 VITCL_ESTOPPED);
    need(vitcl_evaluate(&scores, NULL, session, d, NULL, NULL));
    cr_expect_eq(scores.pictures, 20);
    vitcl_model_free(cifar);
    vitcl_dataset_free(d);
    vt_test_remove(root);
}
