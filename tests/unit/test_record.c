/*
 * test_record.c - launches that are recorded and enqueued by one call: the same
 * bits as one by one, for other inputs and from other first steps, and a driver
 * whose recording fails, does nothing or has an unknown version.
 */
#include "support/driver.h"

#include "base/memory.h"
#include "gemm/gemm.h"
#include "ops/ops.h"
#include "plan/plan_private.h"
#include "support/device.h"
#include "support/oneplan.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vitcl.h>

enum { N = 33, RUNS = 8 };

typedef struct fixture {
    vt_dev *dev;
    vt_plan *p;
    vt_val x, w, y;
} fixture;

static char said[4096];

static void hear(void *none, const char *line)
{
    const size_t at = strlen(said);

    (void)none;
    snprintf(said + at, sizeof said - at, "%s\n", line);
}

/* Three steps, y = gelu(x w) w + gelu(x w); gelu of the first is kept, too. */
static fixture open_with(const char *record, const char *gemm, bool profile)
{
    vt_plan_options o = {.gemm = gemm, .profile = profile};
    fixture f;
    vt_val h;

    said[0] = '\0';
    setenv("VITCL_RECORD", record, 1);
    vt_check(vt_gemm_dev_open(&f.dev, vt_dev_info(vt_test_device())->id));
    o.dev = f.dev;
    vt_check(vt_plan_new(&f.p, &o));
    f.x = vt_input(f.p, "x", VT_F32, 2, (int[]){N, N});
    f.w = vt_input(f.p, "w", VT_F32, 2, (int[]){N, N});
    h = vt_add(f.p, f.x, f.x);
    h = vt_linear(f.p, h,
                  (vt_linear_args){.w = f.w,
                                   .b = VT_NONE,
                                   .scale = VT_NONE,
                                   .residual = VT_NONE,
                                   .act = VT_ACT_GELU});
    vt_keep(f.p, h);
    f.y =
        vt_linear(f.p, h,
                  (vt_linear_args){
                      .w = f.w, .b = VT_NONE, .scale = VT_NONE, .residual = h});
    vt_keep(f.p, f.y);
    vt_check(vt_plan_finish(f.p));
    return f;
}

static void close_all(fixture *f)
{
    vt_plan_free(f->p);
    vt_dev_free(f->dev);
    unsetenv("VITCL_RECORD");
}

/* The result of run `number`, whose inputs no other run has. */
static vitcl_status run(float *y, const fixture *f, int number, int end)
{
    static float data[N * N];
    vitcl_status st = VITCL_OK;

    for (vt_val v = f->x, k = 0; k < 2; v = f->w, k++) {
        for (int i = 0; i < N * N; i++)
            data[i] = (float)((i * 37 + number * 11 + k) % 101) / 101 - 0.5f;
        VT_TRY(vt_plan_write(f->p, v, data, sizeof data));
    }
    VT_TRY(vt_plan_run_part(f->p, 0, end));
    VT_TRY(vt_plan_read(f->p, f->y, y, N * N));
done:
    return st;
}

/* Runs with a recording, or with a driver that has none to use, are those
 * without. */
static void same_as_without(const fixture *f, bool recorded)
{
    static float want[RUNS][N * N], got[N * N];
    fixture plain = open_with("off", "native", false);
    const int end = vt_plan_steps(plain.p);

    cr_expect_not(vt_plan_records(plain.p));
    for (int i = 0; i < RUNS; i++) {
        vt_check(run(want[i], &plain, i, end));
        cr_assert(i == 0 || memcmp(want[i], want[0], sizeof got) != 0);
    }
    cr_expect_null(plain.p->record);
    close_all(&plain);
    for (int i = 0; i < RUNS; i++) {
        vt_check(run(got, f, i, end));
        cr_expect(memcmp(got, want[i], sizeof got) == 0, "run %d", i);
        cr_expect_eq(f->p->record != NULL, recorded && i >= VT_RECORD_AFTER);
    }
    cr_expect_eq(vt_plan_records(f->p), recorded);
}

static bool can(const fixture *f)
{
    if (!vt_dev_reports(f->dev, "cl_khr_command_buffer"))
        cr_skip_test("the device records nothing");
    return true;
}

Test(record, same_bits)
{
    fixture f = open_with("on", "native", false);

    if (can(&f))
        same_as_without(&f, true);
    close_all(&f);
}

/* Parts of a plan are not recorded, and do not disturb what is. */
Test(record, parts)
{
    fixture f = open_with("on", "native", false);
    const int end = vt_plan_steps(f.p);
    float a[N * N], b[N * N];

    if (!can(&f))
        return;
    for (int i = 0; i < VT_RECORD_AFTER; i++)
        for (int k = 0; k < end; k++)
            vt_check(vt_plan_run_part(f.p, k, k + 1));
    cr_expect_null(f.p->record);
    vt_check(run(a, &f, 1, end));
    cr_expect_not_null(f.p->record);
    for (int k = 0; k < end; k++)
        vt_check(vt_plan_run_part(f.p, k, k + 1));
    vt_check(vt_plan_read(f.p, f.y, b, N * N));
    cr_expect(memcmp(a, b, sizeof a) == 0);
    close_all(&f);
}

Test(record, not_by_default_on_a_processor)
{
    fixture f = open_with("", "native", false);

    cr_expect(!vt_plan_records(f.p) || !vt_dev_is_processor(f.dev));
    close_all(&f);
}

Test(record, not_timed_nor_of_another_library)
{
    fixture f = open_with("on", "native", true);

    cr_expect_not(vt_plan_records(f.p));
    close_all(&f);
    f = open_with("on", "clblast", false);
    cr_expect_not(vt_plan_records(f.p));
    close_all(&f);
}

Test(record, unknown_versions_are_refused)
{
    static const unsigned versions[] = {8 << 12, 9 << 12 | 9, 10 << 12,
                                        1 << 22};

    vitcl_set_log(hear, NULL);
    for (size_t i = 0; i < VT_COUNT(versions); i++) {
        fixture f;

        vt_driver.recorder = versions[i];
        f = open_with("on", "native", false);
        if (!can(&f))
            return;
        cr_expect_not(vt_plan_records(f.p), "%zu", i);
        cr_expect(strstr(said, "is unknown"), "%s", said);
        close_all(&f);
    }
    vt_driver.recorder = 9 << 12 | 8;
    {
        fixture f = open_with("on", "native", false);

        cr_expect(vt_plan_records(f.p));
        close_all(&f);
    }
    vt_driver.recorder = 0;
}

Test(record, one_that_does_nothing_is_not_used)
{
    fixture f = open_with("on", "native", false);

    if (!can(&f))
        return;
    vitcl_set_log(hear, NULL);
    vt_driver.no_recording = true;
    same_as_without(&f, false);
    cr_expect(strstr(said, "give other results"), "%s", said);
    close_all(&f);
}

Test(record, one_that_fails_is_not_used)
{
    fixture f = open_with("on", "native", false);

    if (!can(&f))
        return;
    vitcl_set_log(hear, NULL);
    vt_driver.record = -59; /* CL_INVALID_OPERATION */
    same_as_without(&f, false);
    cr_expect(strstr(said, "launches are not recorded"), "%s", said);
    close_all(&f);
}

/* A failed run forgets the recording; the next one makes another. */
Test(record, after_a_failed_run)
{
    fixture f = open_with("on", "native", false);
    const int end = vt_plan_steps(f.p);
    float a[N * N], b[N * N];

    if (!can(&f))
        return;
    for (int i = 0; i <= VT_RECORD_AFTER; i++)
        vt_check(run(a, &f, 5, end));
    cr_expect_not_null(f.p->record);
    vt_driver.finish = -5, vt_driver.finishes = 1;
    cr_expect_eq(run(b, &f, 6, end), VITCL_EDEVICE);
    cr_expect_null(f.p->record);
    vt_check(run(b, &f, 5, end));
    cr_expect(memcmp(a, b, sizeof a) == 0);
    cr_expect_not_null(f.p->record);
    close_all(&f);
}
