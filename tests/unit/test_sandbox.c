/*
 * test_sandbox.c - the pool of decoder processes: same pixels as in process,
 * the order of the pushes, and a death that costs one picture.
 */
#include "base/file.h"
#include "base/memory.h"
#include "image/image.h"
#include "support/paths.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

#define IN VT_DATA "/preprocess/in/"
enum { SIDE = 40, BYTES = SIDE * SIDE * 3, CHILDREN_MAX = 64 };

static const char *const good[] = {IN "exif6.jpg", IN "progressive_420.jpg",
                                   IN "cmyk.jpg",  IN "palette.png",
                                   IN "rgba.png",  IN "near_31x33.png"};
static const char *const bad[] = {IN "broken/cut.jpg", IN "broken/text.jpg",
                                  IN "no such file.jpg", IN "broken"};

static vt_preprocess how(void)
{
    vt_preprocess p;

    vt_preprocess_default(&p, SIDE, SIDE);
    return p;
}

static void in_process(uint8_t *out, const char *path)
{
    vt_picture in = {0}, small = {0};
    vt_preprocess p = how();
    vt_file f = {0};

    cr_assert_eq(vt_file_map(&f, path), VITCL_OK, "%s", path);
    cr_assert_eq(vt_image_decode(&in, f.data, f.size, path), VITCL_OK);
    cr_assert_eq(vt_prepare(&small, &in, &p), VITCL_OK);
    memcpy(out, small.rgb, BYTES);
    vt_picture_free(&in);
    vt_picture_free(&small);
    vt_file_close(&f);
}

/* Our decoder processes, as the kernel lists them. */
static int children(pid_t *out)
{
    DIR *d = opendir("/proc");
    int n = 0;

    cr_assert(d);
    for (struct dirent *e; (e = readdir(d)) && n < CHILDREN_MAX;) {
        char path[300], state;
        int pid = atoi(e->d_name), parent = 0;
        FILE *f;

        if (pid <= 0)
            continue;
        snprintf(path, sizeof path, "/proc/%d/stat", pid);
        f = fopen(path, "r");
        if (f && fscanf(f, "%*d (%*[^)]) %c %d", &state, &parent) == 2 &&
            parent == (int)getpid() && state != 'Z')
            out[n++] = pid;
        if (f)
            fclose(f);
    }
    closedir(d);
    return n;
}

Test(sandbox, order_and_pixels)
{
    uint8_t want[VT_COUNT(good)][BYTES], got[BYTES];
    vt_preprocess p = how();

    for (size_t i = 0; i < VT_COUNT(good); i++)
        in_process(want[i], good[i]);
    for (unsigned workers = 0; workers <= 3; workers++) {
        vt_decoder_pool *pool = NULL;

        cr_assert_eq(vt_pool_new(&pool, &p, workers), VITCL_OK, "%s",
                     vt_message());
        for (unsigned i = 0; i < 300; i++)
            cr_assert_eq(vt_pool_push(pool, i % 5 == 4
                                                ? bad[i % VT_COUNT(bad)]
                                                : good[i % VT_COUNT(good)]),
                         VITCL_OK);
        cr_expect_eq(vt_pool_pending(pool), 300);
        for (unsigned i = 0; i < 300; i++) {
            vitcl_status st = vt_pool_next(got, pool);

            if (i % 5 == 4) {
                cr_expect_neq(st, VITCL_OK, "%u", i);
                cr_expect(strstr(vt_message(), bad[i % VT_COUNT(bad)]), "%s",
                          vt_message());
            } else {
                cr_expect_eq(st, VITCL_OK, "%u: %s", i, vt_message());
                cr_expect(memcmp(got, want[i % VT_COUNT(good)], BYTES) == 0,
                          "%u", i);
            }
        }
        cr_expect_eq(vt_pool_pending(pool), 0);
        cr_expect_neq(vt_pool_next(got, pool), VITCL_OK);
        vt_pool_free(pool);
    }
    vt_pool_free(NULL);
}

/* The number behind `key` in /proc/PID/status. */
static int status_field(pid_t pid, const char *key)
{
    char path[64], line[256];
    int value = -1;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, key, strlen(key)) == 0)
            value = atoi(line + strlen(key));
    if (f)
        fclose(f);
    return value;
}

/* The filter is the last thing that a worker takes on; without one, the bit. */
static void await_lock(pid_t pid)
{
    const struct timespec moment = {.tv_nsec = 10000000};

    for (int tries = 0; tries < 1000; tries++) {
        if (SANITIZED ? status_field(pid, "NoNewPrivs:") == 1
                      : status_field(pid, "Seccomp:") == 2)
            return;
        nanosleep(&moment, NULL);
    }
}

/* What a worker may do, as the kernel sees it. */
Test(sandbox, locked_up)
{
    vt_decoder_pool *pool = NULL;
    vt_preprocess p = how();
    pid_t pids[CHILDREN_MAX];
    uint8_t rgb[BYTES];

    cr_assert_eq(vt_pool_new(&pool, &p, 2), VITCL_OK);
    for (int i = 0; i < 2; i++)
        cr_assert_eq(vt_pool_push(pool, good[i]), VITCL_OK);
    for (int i = 0; i < 2; i++)
        cr_assert_eq(vt_pool_next(rgb, pool), VITCL_OK);
    cr_assert_eq(children(pids), 2);
    /* One may have decoded both, and the other not have begun. */
    for (int i = 0; i < 2; i++)
        await_lock(pids[i]);
    for (int i = 0; i < 2; i++) {
        char path[64];
        int open_files = 0;
        DIR *d;

        cr_expect_eq(status_field(pids[i], "NoNewPrivs:"), 1);
        if (!SANITIZED)
            cr_expect_eq(status_field(pids[i], "Seccomp:"), 2);
        snprintf(path, sizeof path, "/proc/%d/fd", (int)pids[i]);
        d = opendir(path);
        for (struct dirent *e; d && (e = readdir(d));)
            open_files += e->d_name[0] != '.';
        if (d)
            closedir(d);
        cr_expect_leq(open_files, SANITIZED ? 2 : 1);
    }
    vt_pool_free(pool);
    cr_expect_eq(children(pids), 0, "workers outlive their pool");
}

/* Idle workers that are killed cost nothing. */
Test(sandbox, killed_when_idle)
{
    vt_decoder_pool *pool = NULL;
    vt_preprocess p = how();
    pid_t pids[CHILDREN_MAX];
    uint8_t rgb[BYTES];
    int n;

    cr_assert_eq(vt_pool_new(&pool, &p, 3), VITCL_OK);
    n = children(pids);
    cr_assert_eq(n, 3);
    for (int i = 0; i < n; i++)
        kill(pids[i], SIGKILL);
    while (children(pids) > 0)
        ;
    for (int i = 0; i < 30; i++)
        cr_assert_eq(vt_pool_push(pool, good[0]), VITCL_OK);
    for (int i = 0; i < 30; i++)
        cr_expect_eq(vt_pool_next(rgb, pool), VITCL_OK, "%d: %s", i,
                     vt_message());
    cr_expect_eq(children(pids), 3, "they were not replaced");
    vt_pool_free(pool);
}

/* A worker is stopped at a picture and then ended by `signal`: that picture is
 * an error, those that waited behind it are decoded by its successor. */
static void end_at_work(int signal, const char *why)
{
    uint8_t want[BYTES], rgb[BYTES];
    vt_decoder_pool *pool = NULL;
    vt_preprocess p = how();
    pid_t pids[CHILDREN_MAX];
    int failed = 0;

    in_process(want, good[1]);
    cr_assert_eq(vt_pool_new(&pool, &p, 2), VITCL_OK);
    cr_assert_eq(children(pids), 2);
    kill(pids[0], SIGSTOP);
    for (int i = 0; i < 60; i++)
        cr_assert_eq(vt_pool_push(pool, good[1]), VITCL_OK);
    kill(pids[0], signal);
    kill(pids[0], SIGCONT);
    for (int i = 0; i < 60; i++) {
        if (vt_pool_next(rgb, pool) != VITCL_OK) {
            failed++;
            cr_expect(strstr(vt_message(), "progressive_420.jpg: ") &&
                          strstr(vt_message(), why),
                      "%s", vt_message());
        } else {
            cr_expect(memcmp(rgb, want, BYTES) == 0, "%d", i);
        }
    }
    cr_expect_eq(failed, 1, "%d pictures failed", failed);
    vt_pool_free(pool);
}

Test(sandbox, ended_at_work)
{
    end_at_work(SIGKILL, "the decoder crashed");
    end_at_work(SIGPROF, "it took too long to decode"); /* its own timer's */
}

/* Workers are killed all the time: every picture is answered, none wrongly. */
Test(sandbox, killed_again_and_again)
{
    uint8_t want[BYTES], rgb[BYTES];
    vt_decoder_pool *pool = NULL;
    vt_preprocess p = how();
    pid_t pids[CHILDREN_MAX];
    int failed = 0, kills = 0;

    in_process(want, good[0]);
    cr_assert_eq(vt_pool_new(&pool, &p, 3), VITCL_OK);
    for (int i = 0; i < 400; i++)
        cr_assert_eq(vt_pool_push(pool, good[0]), VITCL_OK);
    for (int i = 0; i < 400; i++) {
        if (i % 20 == 0 && children(pids) > 0) {
            kill(pids[i / 20 % 3 % children(pids)], SIGKILL);
            kills++;
        }
        if (vt_pool_next(rgb, pool) != VITCL_OK)
            failed++;
        else
            cr_expect(memcmp(rgb, want, BYTES) == 0, "%d", i);
    }
    cr_expect_leq(failed, kills, "%d failed, %d killed", failed, kills);
    vt_pool_free(pool);
}

/* A parent with a thread that allocates all the time, as an OpenCL runtime
 * may: fork()ed children must not meet its locks. (Old AddressSanitizers have
 * such a lock of their own; there the thread only runs.) */
static atomic_int stop;

static void *busy(void *arg)
{
    while (!atomic_load(&stop)) {
        void *p = SANITIZED ? NULL : malloc(100 + (size_t)rand() % 5000);
        free(p);
    }
    return arg;
}

Test(sandbox, threads)
{
    vt_decoder_pool *pool = NULL;
    vt_preprocess p = how();
    uint8_t rgb[BYTES];
    pthread_t thread;

    cr_assert_eq(pthread_create(&thread, NULL, busy, NULL), 0);
    for (int round = 0; round < 10; round++) {
        cr_assert_eq(vt_pool_new(&pool, &p, 2), VITCL_OK);
        for (int i = 0; i < 4; i++)
            cr_assert_eq(vt_pool_push(pool, good[i]), VITCL_OK);
        for (int i = 0; i < 4; i++)
            cr_expect_eq(vt_pool_next(rgb, pool), VITCL_OK, "%s", vt_message());
        vt_pool_free(pool);
    }
    atomic_store(&stop, 1);
    pthread_join(thread, NULL);
}
