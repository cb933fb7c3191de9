/*
 * threads.c - several threads, each with its own sessions, share one device and
 * one model: every answer has the same bits as in a single thread. Mainly for
 * ThreadSanitizer: -DVITCL_TSAN=ON, and threads.supp.
 *   threads MODEL PICTURE
 */
#include "api/program.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vitcl_train.h>

enum { SIDE = 32, COUNT = 5, CLASSES = 10, THREADS = 4, ROUNDS = 2, TOP = 3 };
enum { BROKEN = 8, PARTS = 2 };

static vitcl_device *device;
static vitcl_model *model;
static uint8_t rgb[COUNT][SIDE * SIDE * 3];
static vitcl_image image[COUNT];
static vitcl_class want[COUNT * TOP];
static const char *picture;
static atomic_int failures;
static vitcl_dataset *broken;
static atomic_int reporting, reports, together;

static void wrong(int thread, const char *what)
{
    fprintf(stderr, "thread %d: %s: %s\n", thread, what, vitcl_last_error());
    atomic_fetch_add(&failures, 1);
}

static vitcl_session *session_of(uint32_t batch, vitcl_precision precision)
{
    const vitcl_session_options o = {
        .size = sizeof o, .batch = batch, .precision = precision};
    vitcl_session *s = NULL;

    return vitcl_session_new(&s, model, &o) == VITCL_OK ? s : NULL;
}

/* Error messages are per thread. */
static void fail_on_purpose(int thread, vitcl_session *s)
{
    char name[32];
    float x;

    snprintf(name, sizeof name, "of-thread-%d", thread);
    if (vitcl_session_read(&x, 1, s, name, 1) != VITCL_EINVAL ||
        !strstr(vitcl_last_error(), name))
        wrong(thread, "another thread's error");
}

static void *ask(void *loader)
{
    while (vitcl_loader_pending(loader) > 0)
        usleep(100);
    return NULL;
}

/* Another thread may ask how many are pending. */
static void decode(int thread, const vitcl_session *s)
{
    vitcl_loader *loader = NULL;
    uint32_t h = 0, w = 0;
    pthread_t asking;
    uint8_t *out;
    bool asked = false;

    vitcl_session_size(&h, &w, s);
    out = malloc((size_t)h * w * 3);
    if (!out || vitcl_loader_new(&loader, s, 1) != VITCL_OK ||
        vitcl_loader_push(loader, picture) != VITCL_OK ||
        !(asked = pthread_create(&asking, NULL, ask, loader) == 0) ||
        vitcl_loader_next(out, loader) != VITCL_OK)
        wrong(thread, "decoding");
    if (asked)
        pthread_join(asking, NULL);
    vitcl_loader_free(loader);
    free(out);
}

static void *work(void *number)
{
    const int thread = *(const int *)number;

    for (int round = 0; round < ROUNDS; round++) {
        /* The precision of `half` is determined once for each process. */
        const vitcl_precision p = thread % 2 && round ? VITCL_HALF : VITCL_F32;
        vitcl_session *s = session_of(1 + (uint32_t)(thread + round) % 3, p);
        vitcl_model_info info = {.size = sizeof info};
        vitcl_device_info about = {.size = sizeof about};
        vitcl_class got[COUNT * TOP];

        if (!s) {
            wrong(thread, "no session");
            return NULL;
        }
        fail_on_purpose(thread, s);
        if (vitcl_classify(got, TOP, s, image, COUNT) != VITCL_OK)
            wrong(thread, "no answer");
        else if (p == VITCL_F32 && memcmp(got, want, sizeof got) != 0)
            wrong(thread, "another answer than alone");
        if (vitcl_model_describe(&info, model, 0, 0, 1) != VITCL_OK ||
            vitcl_device_describe(&about, device) != VITCL_OK ||
            !vitcl_class_label(model, 0))
            wrong(thread, "no description");
        if (thread == 0)
            decode(thread, s);
        vitcl_session_free(s);
    }
    return NULL;
}

/* ---- evaluations that share a dataset ---- */

static void report(void *context, const char *line)
{
    (void)context, (void)line;
    atomic_fetch_add(&reports, 1);
    if (atomic_fetch_add(&reporting, 1) != 0)
        atomic_fetch_add(&together, 1);
    usleep(20000);
    atomic_fetch_sub(&reporting, 1);
}

static void *evaluate(void *part)
{
    const int of = *(const int *)part + 1;
    vitcl_scores scores = {.size = sizeof scores};
    vitcl_session *s = session_of(1, VITCL_F32);

    if (!s || vt_evaluate_part(&scores, NULL, s, broken, NULL, (uint32_t)of,
                               PARTS, NULL, NULL) != VITCL_OK)
        wrong(of, "no evaluation");
    vitcl_session_free(s);
    return NULL;
}

/* A class of files that are no pictures; opens the dataset. */
static bool write_broken(const char *folder, bool gone)
{
    char path[64];
    bool done = true;

    snprintf(path, sizeof path, "%s/cat", folder);
    if (!gone)
        done = mkdir(path, 0700) == 0;
    for (int i = 0; i < BROKEN && done; i++) {
        FILE *f;

        snprintf(path, sizeof path, "%s/cat/%d.jpg", folder, i);
        if (gone) {
            unlink(path);
            continue;
        }
        f = fopen(path, "w");
        done = f && fputs("no picture", f) >= 0;
        if (f)
            fclose(f);
    }
    snprintf(path, sizeof path, "%s/cat", folder);
    if (gone)
        return rmdir(path) == 0 && rmdir(folder) == 0;
    return done && vitcl_dataset_open(&broken, folder, NULL) == VITCL_OK &&
           vt_dataset_set_strict(broken, 0, report, NULL) == VITCL_OK;
}

/* Reports come one at a time. */
static void evaluate_together(void)
{
    char folder[] = "/tmp/vitcl-threads-XXXXXX";
    pthread_t threads[PARTS];
    int number[PARTS], n = 0;

    if (!mkdtemp(folder) || !write_broken(folder, false))
        wrong(0, "no dataset");
    while (broken && n < PARTS) {
        number[n] = n;
        if (pthread_create(&threads[n], NULL, evaluate, &number[n]) != 0)
            break;
        n++;
    }
    while (n > 0)
        pthread_join(threads[--n], NULL);
    if (atomic_load(&reports) != BROKEN || atomic_load(&together))
        wrong(0, "a report is missing, or two came at once");
    vitcl_dataset_free(broken);
    write_broken(folder, true);
}

/* Runs until it is stopped. */
static void *run_on(void *session)
{
    vitcl_status st = VITCL_OK;

    while (st == VITCL_OK)
        st = vitcl_session_run_rgb(session, rgb[0], 1);
    if (st != VITCL_ESTOPPED)
        wrong(THREADS, "not stopped");
    return NULL;
}

static void *open_another(void *none)
{
    vitcl_device *d = NULL;
    vitcl_model *m = NULL;

    if (vitcl_device_open(&d, getenv("VITCL_TEST_DEVICE")) != VITCL_OK ||
        vitcl_model_new(&m, d, "vit-ti/16", SIDE) != VITCL_OK)
        wrong(THREADS + 1, "no device of its own");
    vitcl_model_free(m);
    vitcl_device_free(d);
    return none;
}

static int prepare(const char *path)
{
    vitcl_session *s = NULL;

    for (int i = 0; i < COUNT; i++) {
        for (int k = 0; k < SIDE * SIDE * 3; k++)
            rgb[i][k] =
                (uint8_t)((unsigned)((i + 1) * (k + 7)) * 2654435761u >> 24);
        image[i] = (vitcl_image){SIDE, SIDE, rgb[i]};
    }
    if (vitcl_device_open(&device, getenv("VITCL_TEST_DEVICE")) != VITCL_OK ||
        vitcl_model_load(&model, device, path) != VITCL_OK ||
        !(s = session_of(1, VITCL_F32)) ||
        vitcl_classify(want, TOP, s, image, COUNT) != VITCL_OK) {
        fprintf(stderr, "%s\n", vitcl_last_error());
        return 1;
    }
    vitcl_session_free(s);
    return 0;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS], runner, opener;
    int number[THREADS];
    const vitcl_session_options as_rgb = {
        .size = sizeof as_rgb, .height = SIDE, .width = SIDE};
    vitcl_session *long_one = NULL;

    if (argc != 3)
        return 2;
    picture = argv[2];
    if (prepare(argv[1]) != 0 ||
        vitcl_session_new(&long_one, model, &as_rgb) != VITCL_OK)
        return 1;
    for (int i = 0; i < THREADS; i++) {
        number[i] = i;
        if (pthread_create(&threads[i], NULL, work, &number[i]) != 0)
            return 1;
    }
    if (pthread_create(&runner, NULL, run_on, long_one) != 0 ||
        pthread_create(&opener, NULL, open_another, NULL) != 0)
        return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    vitcl_session_stop(long_one);
    pthread_join(runner, NULL);
    pthread_join(opener, NULL);
    vitcl_session_free(long_one);
    evaluate_together();
    vitcl_model_free(model);
    vitcl_device_free(device);
    if (atomic_load(&failures))
        return 1;
    printf("%d threads, each with the answers that it has alone\n", THREADS);
    return 0;
}
