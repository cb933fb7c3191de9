/*
 * test_sandbox.c - the pool of decoder processes: the same pixels as in
 * process, the order of pushes, a crash that costs one picture, limits.
 */
#include "base/file.h"
#include "base/memory.h"
#include "image/image.h"
#include "support/paths.h"
#include "support/pool.h"
#include "support/skip.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>
#include <vitcl.h>

#define IN VT_DATA "/preprocess/in/"

static const char *const good[] = {IN "exif6.jpg", IN "progressive_420.jpg",
                                   IN "cmyk.jpg",  IN "palette.png",
                                   IN "rgba.png",  IN "near_31x33.png"};
static const char *const bad[] = {IN "broken/cut.jpg", IN "broken/text.jpg",
                                  IN "no such file.jpg", IN "broken"};

static void in_process(uint8_t *out, const char *path)
{
    vt_picture in = {0}, small = {0};
    vt_preprocess p = vt_test_how();
    vt_file f = {0};

    cr_assert_eq(vt_file_read(&f, path, 1 << 30), VITCL_OK, "%s", path);
    cr_assert_eq(vt_image_decode(&in, f.data, f.size, path), VITCL_OK);
    cr_assert_eq(vt_prepare(&small, &in, &p), VITCL_OK);
    memcpy(out, small.rgb, VT_TEST_BYTES);
    vt_picture_free(&in);
    vt_picture_free(&small);
    vt_file_close(&f);
}

Test(sandbox, order_and_pixels)
{
    uint8_t want[VT_COUNT(good)][VT_TEST_BYTES], got[VT_TEST_BYTES];
    vt_preprocess p = vt_test_how();

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
                cr_expect(
                    memcmp(got, want[i % VT_COUNT(good)], VT_TEST_BYTES) == 0,
                    "%u", i);
            }
        }
        cr_expect_eq(vt_pool_pending(pool), 0);
        cr_expect_neq(vt_pool_next(got, pool), VITCL_OK);
        vt_pool_free(pool);
    }
    vt_pool_free(NULL);
}

/* Each has its own message, also while the next ones fail. */
Test(sandbox, many_failures)
{
    vt_preprocess p = vt_test_how();
    vt_decoder_pool *pool = NULL;
    uint8_t rgb[VT_TEST_BYTES];
    char path[64];

    cr_assert_eq(vt_pool_new(&pool, &p, 1), VITCL_OK);
    for (int take = 0; take < 2; take++)
        for (int i = 0; i < 100; i++) {
            snprintf(path, sizeof path, "no such file %d.jpg", i);
            if (!take) {
                cr_assert_eq(vt_pool_push(pool, path), VITCL_OK);
                continue;
            }
            cr_expect_eq(vt_pool_next(rgb, pool), VITCL_EIO);
            cr_expect(strstr(vt_message(), path), "%s: %s", path, vt_message());
        }
    vt_pool_free(pool);
}

/* The number after `key` in /proc/PID/status. */
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

/* A worker installs its filter last. A sanitized one has no filter: there, the
 * bit that forbids new privileges comes last. */
static void await_lock(pid_t pid)
{
    const struct timespec moment = {.tv_nsec = 10000000};

    for (int tries = 0; tries < 6000; tries++) { /* a minute and more */
        if (VT_TEST_SANITIZED ? status_field(pid, "NoNewPrivs:") == 1
                              : status_field(pid, "Seccomp:") == 2)
            return;
        nanosleep(&moment, NULL);
    }
}

/* A worker's restrictions as the kernel reports them. */
Test(sandbox, workers_are_restricted)
{
    vt_decoder_pool *pool = NULL;
    vt_preprocess p = vt_test_how();
    pid_t pids[VT_TEST_CHILDREN];
    uint8_t rgb[VT_TEST_BYTES];

    cr_assert_eq(vt_pool_new(&pool, &p, 2), VITCL_OK);
    for (int i = 0; i < 2; i++)
        cr_assert_eq(vt_pool_push(pool, good[i]), VITCL_OK);
    for (int i = 0; i < 2; i++)
        cr_assert_eq(vt_pool_next(rgb, pool), VITCL_OK);
    cr_assert_eq(vt_test_children(pids), 2);
    /* one worker may have decoded both before the other started */
    for (int i = 0; i < 2; i++)
        await_lock(pids[i]);
    for (int i = 0; i < 2; i++) {
        char path[64];
        int open_files = 0;
        DIR *d;

        cr_expect_eq(status_field(pids[i], "NoNewPrivs:"), 1);
        if (!VT_TEST_SANITIZED)
            cr_expect_eq(status_field(pids[i], "Seccomp:"), 2);
        snprintf(path, sizeof path, "/proc/%d/fd", (int)pids[i]);
        d = opendir(path);
        for (struct dirent *e; d && (e = readdir(d));)
            open_files += e->d_name[0] != '.';
        if (d)
            closedir(d);
        cr_expect_leq(open_files, VT_TEST_SANITIZED ? 3 : 2);
    }
    vt_pool_free(pool);
    cr_expect_eq(vt_test_children(pids), 0, "workers outlive their pool");
}

/* Waits until a process ignores a signal: at its start it has its parent's
 * handlers. */
static bool comes_to_ignore(pid_t pid, int signal)
{
    const struct timespec moment = {0, 5000000};

    for (int i = 0; i < 4000; i++, nanosleep(&moment, NULL)) {
        char line[256];
        unsigned long long mask = 0;
        FILE *f;

        snprintf(line, sizeof line, "/proc/%d/status", (int)pid);
        f = fopen(line, "r");
        while (f && fgets(line, sizeof line, f))
            sscanf(line, "SigIgn: %llx", &mask);
        if (f)
            fclose(f);
        if (mask >> (signal - 1) & 1)
            return true;
    }
    return false;
}

/* Ctrl-C signals the whole process group. The program decides what happens to
 * pictures being decoded, so the decoders ignore it. */
Test(sandbox, not_interrupted)
{
    static const int signals[] = {SIGINT, SIGPIPE};
    vt_decoder_pool *pool = NULL;
    vt_preprocess p = vt_test_how();
    pid_t before[VT_TEST_CHILDREN], after[VT_TEST_CHILDREN];
    uint8_t rgb[VT_TEST_BYTES];

    cr_assert_eq(vt_pool_new(&pool, &p, 2), VITCL_OK);
    cr_assert_eq(vt_test_children(before), 2);
    for (int i = 0; i < 2; i++)
        cr_assert(comes_to_ignore(before[i], SIGINT));
    for (size_t k = 0; k < VT_COUNT(signals); k++)
        for (int i = 0; i < 2; i++)
            kill(before[i], signals[k]);
    for (int i = 0; i < 20; i++)
        cr_assert_eq(vt_pool_push(pool, good[0]), VITCL_OK);
    for (int i = 0; i < 20; i++)
        cr_expect_eq(vt_pool_next(rgb, pool), VITCL_OK, "%d: %s", i,
                     vt_message());
    cr_assert_eq(vt_test_children(after), 2);
    cr_expect((before[0] == after[0] && before[1] == after[1]) ||
              (before[0] == after[1] && before[1] == after[0]));
    vt_pool_free(pool);
}

/* Killing idle workers loses no picture. */
Test(sandbox, killed_when_idle)
{
    vt_decoder_pool *pool = NULL;
    vt_preprocess p = vt_test_how();
    pid_t pids[VT_TEST_CHILDREN];
    uint8_t rgb[VT_TEST_BYTES];
    int n;

    cr_assert_eq(vt_pool_new(&pool, &p, 3), VITCL_OK);
    n = vt_test_children(pids);
    cr_assert_eq(n, 3);
    for (int i = 0; i < n; i++)
        kill(pids[i], SIGKILL);
    while (vt_test_children(pids) > 0)
        ;
    for (int i = 0; i < 30; i++)
        cr_assert_eq(vt_pool_push(pool, good[0]), VITCL_OK);
    for (int i = 0; i < 30; i++)
        cr_expect_eq(vt_pool_next(rgb, pool), VITCL_OK, "%d: %s", i,
                     vt_message());
    cr_expect_eq(vt_test_children(pids), 3, "they were not replaced");
    vt_pool_free(pool);
}

/* A worker is stopped while decoding and then killed by `signal`: that picture
 * is an error; queued ones are decoded by its successor. */
static void end_at_work(int signal, const char *why)
{
    uint8_t want[VT_TEST_BYTES], rgb[VT_TEST_BYTES];
    vt_decoder_pool *pool = NULL;
    vt_preprocess p = vt_test_how();
    pid_t pids[VT_TEST_CHILDREN];
    int failed = 0;

    in_process(want, good[1]);
    cr_assert_eq(vt_pool_new(&pool, &p, 2), VITCL_OK);
    cr_assert_eq(vt_test_children(pids), 2);
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
            cr_expect(memcmp(rgb, want, VT_TEST_BYTES) == 0, "%d", i);
        }
    }
    cr_expect_eq(failed, 1, "%d pictures failed", failed);
    vt_pool_free(pool);
}

Test(sandbox, killed_while_decoding)
{
    end_at_work(SIGKILL, "the decoder crashed");
    end_at_work(SIGPROF, "it took too long to decode"); /* its own timer's */
}

/* Workers are killed again and again: every picture gets a correct answer or an
 * error. */
Test(sandbox, killed_again_and_again)
{
    uint8_t want[VT_TEST_BYTES], rgb[VT_TEST_BYTES];
    vt_decoder_pool *pool = NULL;
    vt_preprocess p = vt_test_how();
    pid_t pids[VT_TEST_CHILDREN];
    int failed = 0, kills = 0;

    in_process(want, good[0]);
    cr_assert_eq(vt_pool_new(&pool, &p, 3), VITCL_OK);
    for (int i = 0; i < 400; i++)
        cr_assert_eq(vt_pool_push(pool, good[0]), VITCL_OK);
    for (int i = 0; i < 400; i++) {
        const int n = i % 20 == 0 ? vt_test_children(pids) : 0;

        if (n > 0) {
            kill(pids[i / 20 % 3 % n], SIGKILL);
            kills++;
        }
        if (vt_pool_next(rgb, pool) != VITCL_OK)
            failed++;
        else
            cr_expect(memcmp(rgb, want, VT_TEST_BYTES) == 0, "%d", i);
    }
    cr_expect_leq(failed, kills, "%d failed, %d killed", failed, kills);
    vt_pool_free(pool);
}

/* A parent with a thread that allocates all the time, as an OpenCL runtime may:
 * children must not depend on its locks. */
static atomic_int stop;

static void *busy(void *arg)
{
    while (!atomic_load(&stop)) {
        void *p = malloc(100 + (size_t)rand() % 5000);
        free(p);
    }
    return arg;
}

Test(sandbox, threads)
{
    vt_decoder_pool *pool = NULL;
    vt_preprocess p = vt_test_how();
    uint8_t rgb[VT_TEST_BYTES];
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

/* ---- the public calls ---- */

/* The public calls decode as in process, leave no child, and do not reap the
 * host's children. */
Test(sandbox, one_picture)
{
    vitcl_image image = {0, 0, NULL};
    pid_t pids[VT_TEST_CHILDREN];

    for (size_t i = 0; i < VT_COUNT(good); i++) {
        vt_picture in = {0};
        vt_file f = {0};

        cr_assert_eq(vt_file_read(&f, good[i], 1 << 20), VITCL_OK);
        cr_assert_eq(vt_image_decode(&in, f.data, f.size, "x"), VITCL_OK);
        for (int load = 0; load < 2; load++) {
            cr_assert_eq(load ? vitcl_image_load(&image, good[i])
                              : vitcl_image_decode(&image, f.data, f.size, "x"),
                         VITCL_OK, "%s", vitcl_last_error());
            cr_assert(image.width == in.width && image.height == in.height);
            cr_expect(memcmp(image.rgb, in.rgb,
                             (size_t)in.width * in.height * 3) == 0);
            vitcl_image_free(&image);
        }
        vt_picture_free(&in);
        vt_file_close(&f);
    }
    cr_expect_eq(vitcl_image_load(&image, bad[0]), VITCL_ECORRUPT);
    cr_expect(strstr(vitcl_last_error(), bad[0]), "%s", vitcl_last_error());
    cr_expect_eq(vitcl_image_load(&image, bad[2]), VITCL_EIO);
    cr_expect_eq(vitcl_image_decode(&image, "", 0, "none"), VITCL_ECORRUPT);
    cr_expect_null(image.rgb);
    cr_expect_eq(vt_test_children(pids), 0);
    cr_expect_null(vitcl_image_note());
}

/* Without the filter, pictures are decoded and the host gets a note. */
Test(sandbox, refused_filter)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_prctl, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                 offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_SECCOMP, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {VT_COUNT(code), code};
    vitcl_image image = {0, 0, NULL};

    if (VT_TEST_SANITIZED)
        vt_skip("not under a sanitizer");
    cr_assert_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    cr_assert_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
    cr_expect_null(vitcl_image_note());
    cr_assert_eq(vitcl_image_load(&image, good[0]), VITCL_OK, "%s",
                 vitcl_last_error());
    cr_assert(vitcl_image_note());
    cr_expect(strstr(vitcl_image_note(), "seccomp"));
    vitcl_image_free(&image);
}

/* A host with closed standard descriptors, and one that reaps all children. */
Test(sandbox, odd_hosts)
{
    vitcl_image image = {0, 0, NULL};
    int kept = dup(2);

    close(0);
    close(1);
    cr_expect_eq(vitcl_image_load(&image, good[0]), VITCL_OK, "%s",
                 vitcl_last_error());
    vitcl_image_free(&image);
    cr_expect_eq(fcntl(0, F_GETFD), -1, "a descriptor was left behind");
    cr_assert_eq(dup2(kept, 1), 1);
    signal(SIGCHLD, SIG_IGN);
    for (int i = 0; i < 5; i++) {
        cr_expect_eq(vitcl_image_load(&image, good[0]), VITCL_OK, "%s",
                     vitcl_last_error());
        vitcl_image_free(&image);
    }
    close(kept);
}
