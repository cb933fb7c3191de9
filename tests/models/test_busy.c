/*
 * test_busy.c - two threads on one handle: each call works as if it were alone
 * or is refused with VITCL_EBUSY; none gives a wrong answer.
 */
#include "api/program.h"
#include "support/paths.h"
#include "support/pictures.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 32, PICTURE = SIDE * SIDE * 3, FEATURES = 192, ROUNDS = 50 };

static vitcl_device *device;
static vitcl_model *model;
static vitcl_session *session;

static void need(vitcl_status st)
{
    cr_assert_eq(st, VITCL_OK, "%s", vitcl_last_error());
}

static void setup(void)
{
    need(vitcl_device_open(&device, getenv("VITCL_TEST_DEVICE")));
    need(vitcl_model_new(&model, device, "vit-ti/16", SIDE));
    need(vitcl_session_new(&session, model, NULL));
}

static void teardown(void)
{
    vitcl_session_free(session);
    vitcl_model_free(model);
    vitcl_device_free(device);
}

TestSuite(busy, .init = setup, .fini = teardown);

/* One of two threads; they begin together. */
typedef struct job {
    atomic_int *waiting;
    void (*once)(struct job *j);
    uint8_t rgb[PICTURE];
    float want[FEATURES], got[FEATURES];
    vitcl_rows *rows;
    vitcl_loader *loader;
    bool stops;
    int done, refused, wrong;
} job;

static void *work(void *context)
{
    job *j = context;

    atomic_fetch_sub(j->waiting, 1);
    while (atomic_load(j->waiting) > 0)
        ;
    while (j->done < ROUNDS && !j->wrong)
        j->once(j);
    return NULL;
}

static void both(job jobs[2], void (*once)(job *j))
{
    atomic_int waiting = 2;
    pthread_t thread[2];

    for (int i = 0; i < 2; i++) {
        jobs[i].waiting = &waiting;
        jobs[i].once = once;
        cr_assert_eq(pthread_create(&thread[i], NULL, work, &jobs[i]), 0);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < 2; i++)
        cr_expect_eq(jobs[i].wrong, 0,
                     "thread %d: %d done, %d refused, %d wrong", i,
                     jobs[i].done, jobs[i].refused, jobs[i].wrong);
}

static void count(job *j, vitcl_status st)
{
    j->done += st == VITCL_OK;
    j->refused += st == VITCL_EBUSY || st == VITCL_ESTOPPED;
    j->wrong += st != VITCL_OK && st != VITCL_EBUSY && st != VITCL_ESTOPPED;
}

static void embed(job *j)
{
    const vitcl_image image = {SIDE, SIDE, j->rgb};
    const vitcl_status st = vitcl_embed(j->got, session, &image, 1);

    count(j, st);
    j->wrong += st == VITCL_OK && memcmp(j->got, j->want, sizeof j->want) != 0;
}

/* In two calls: a run that the other thread's replaced cannot be read. */
static void run(job *j)
{
    vitcl_status st;

    do
        st = vitcl_session_run_rgb(session, j->rgb, 1);
    while (st == VITCL_EBUSY);
    j->wrong += st != VITCL_OK;
    do
        st = vitcl_session_read(j->got, FEATURES, session, "features", 1);
    while (st == VITCL_EBUSY);
    j->refused += st == VITCL_EINVAL;
    j->done += st == VITCL_OK;
    j->wrong += st == VITCL_OK && memcmp(j->got, j->want, sizeof j->want) != 0;
}

Test(busy, answers)
{
    static job jobs[2];

    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < PICTURE; k++)
            jobs[i].rgb[k] =
                (uint8_t)((unsigned)((i + 1) * (k + 7)) * 2654435761u >> 24);
        need(vitcl_embed(jobs[i].want, session,
                         &(vitcl_image){SIDE, SIDE, jobs[i].rgb}, 1));
    }
    both(jobs, embed);
    for (int i = 0; i < 2; i++)
        jobs[i].done = 0;
    both(jobs, run);
}

static void *run_alone(void *rgb)
{
    need(vitcl_session_run_rgb(session, rgb, 1));
    return NULL;
}

/* A session may be handed from thread to thread. */
Test(busy, taking_turns)
{
    static uint8_t rgb[PICTURE];
    static float got[FEATURES];
    pthread_t thread;

    for (int i = 0; i < 2; i++) {
        cr_assert_eq(pthread_create(&thread, NULL, run_alone, rgb), 0);
        pthread_join(thread, NULL);
        need(vitcl_session_read(got, FEATURES, session, "features", 1));
        need(vitcl_session_run_rgb(session, rgb, 1));
        need(vitcl_session_read(got, FEATURES, session, "features", 1));
    }
    need(vitcl_session_run_rgb(session, rgb, 1));
    cr_assert_eq(pthread_create(&thread, NULL, run_alone, rgb), 0);
    pthread_join(thread, NULL);
    cr_expect_eq(vitcl_session_read(got, FEATURES, session, "features", 1),
                 VITCL_EINVAL);
    need(vitcl_session_run_rgb(session, rgb, 1));
    need(vitcl_session_read(got, FEATURES, session, "features", 1));
}

static void stop(job *j)
{
    if (j->stops)
        vitcl_session_stop(session), j->done++;
    else
        embed(j);
}

/* Stopping is never refused and leaves no wrong answer. */
Test(busy, stopping)
{
    static job jobs[2];

    need(vitcl_embed(jobs[0].want, session,
                     &(vitcl_image){SIDE, SIDE, jobs[0].rgb}, 1));
    jobs[1].stops = true;
    both(jobs, stop);
}

static void add(job *j)
{
    count(j, vitcl_rows_add(j->rows, j->want, 1));
}

Test(busy, rows)
{
    static job jobs[2];
    const char *path = vt_test_path(vt_test_folder(), "rows.safetensors");
    const vitcl_shape row = {"rows", 1, {FEATURES}};
    vt_tensors *t = NULL;
    vitcl_shape shape;
    float *data;

    for (int i = 0; i < 2; i++)
        for (int k = 0; k < FEATURES; k++)
            jobs[i].want[k] = (float)i;
    need(vitcl_rows_new(&jobs[0].rows, path, &row));
    jobs[1].rows = jobs[0].rows;
    both(jobs, add);
    need(vitcl_rows_finish(jobs[0].rows));
    vitcl_rows_free(jobs[0].rows);
    need(vt_tensors_open(&t, path));
    need(vt_tensors_shape(&shape, t, "rows"));
    cr_assert_eq(shape.shape[0], (uint64_t)(jobs[0].done + jobs[1].done));
    data = malloc(shape.shape[0] * FEATURES * sizeof *data);
    need(vt_tensors_read(data, t, "rows", shape.shape[0] * FEATURES));
    for (uint64_t r = 0; r < shape.shape[0]; r++)
        for (uint64_t k = 1; k < FEATURES; k++)
            cr_assert_eq(data[r * FEATURES], data[r * FEATURES + k]);
    free(data);
    vt_tensors_free(t);
    vt_test_tidy();
}

static void load(job *j)
{
    vitcl_status st = vitcl_loader_push(j->loader, VT_DATA "/sample.jpg");

    count(j, st);
    if (st != VITCL_OK)
        return;
    do
        st = vitcl_loader_next(j->rgb, j->loader);
    while (st == VITCL_EBUSY);
    j->wrong += st != VITCL_OK;
}

Test(busy, loader)
{
    static job jobs[2];

    need(vitcl_loader_new(&jobs[0].loader, session, 1));
    jobs[1].loader = jobs[0].loader;
    both(jobs, load);
    cr_expect_eq(vitcl_loader_pending(jobs[0].loader), 0);
    vitcl_loader_free(jobs[0].loader);
}
