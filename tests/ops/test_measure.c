/*
 * test_measure.c - products that are timed: A and B are what the caller gave,
 * each runs as often as the rounds say, and its times are its two best. In a
 * race a form whose result is wrong does not win, however fast it is.
 */
#define _GNU_SOURCE /* memmem */
#include "product/fastest.h"
#include "product/product.h"
#include "product/race.h"
#include "product/told.h"
#include "support/device.h"
#include "support/oneplan.h"
#include "support/pictures.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OK(x) cr_assert_eq((x), VITCL_OK, "%s", vt_message())

enum { M = 3, N = 5, K = 7 };

Test(measure, the_product_is_computed)
{
    vt_dev *dev = vt_test_device();
    const vt_gemm_desc d = vt_timed_desc(dev, VT_F32, M, N, K);
    float a[M * K], b[N * K], c[M * N];
    vt_timed t;

    for (int i = 0; i < M * K; i++)
        a[i] = (float)(i % 11 - 5);
    for (int i = 0; i < N * K; i++)
        b[i] = (float)(i % 13 - 6);
    OK(vt_product_timed(&t, dev, "plain", &d, a, b));
    OK(vt_timed_read(c, &t));
    cr_expect(isnan(c[0]) && isnan(c[M * N - 1]), "C is written too early");
    OK(vt_timed_run(&t));
    OK(vt_timed_read(c, &t));
    for (int i = 0; i < M * N; i++) {
        float want = 0;

        for (int k = 0; k < K; k++)
            want += a[i / N * K + k] * b[i % N * K + k];
        cr_expect_eq((double)c[i], (double)want, "%d", i);
    }
    vt_timed_free(&t);
    vt_timed_free(&t); /* nothing is left */
}

/* Without numbers of the caller's, they are ones and halves. */
Test(measure, rounds)
{
    vt_dev *dev = vt_test_device();
    const vt_gemm_desc d = vt_timed_desc(dev, VT_F32, M, N, K);
    const vt_rounds once = {.least = 1}, never = {.least = 0},
                    long_ones = {
                        .least = 2, .most = 1 << 30, .almost = 1e6, .ms = 1e9};
    float c[M * N];
    vt_timed t[2] = {{.q = NULL}, {.q = NULL}};
    vt_timed *const both[] = {&t[0], &t[1]};

    for (int i = 0; i < 2; i++)
        OK(vt_product_timed(&t[i], dev, i ? "plain" : "native", &d, NULL,
                            NULL));
    OK(vt_measure(both, 2, &once));
    for (int i = 0; i < 2; i++) {
        cr_expect(t[i].best > 0 && t[i].best < 1e9, "%g", t[i].best);
        cr_expect_geq(t[i].second, 1e30, "it ran twice: %g", t[i].second);
        OK(vt_timed_read(c, &t[i]));
        cr_expect_eq((double)c[M * N - 1], 0.5 * (double)K);
    }
    /* Two times that differ by less than a million end it. */
    OK(vt_measure(both, 2, &long_ones));
    for (int i = 0; i < 2; i++)
        cr_expect(t[i].best <= t[i].second && t[i].second < 1e9, "%g and %g",
                  t[i].best, t[i].second);
    OK(vt_measure(both, 2, &never));
    cr_expect_geq(t[0].best, 1e30, "earlier times are not forgotten");
    for (int i = 0; i < 2; i++)
        vt_timed_free(&t[i]);
}

/* ---- races ---- */

/* The simple form, as if a driver had miscompiled it: the last element of C is
 * its neighbour's. */
static vitcl_status spoil(vt_queue *q, vt_gemm *g)
{
    const vt_gemm_desc *d = &g->t.d;
    const size_t size = vt_dtype_size(d->out),
                 last = (size_t)d->M * (size_t)d->N - 1;
    unsigned char c[4];

    OK(vt_kernel_launch(q, g->kernel[0]));
    OK(vt_buf_read(q, g->bufs.c, (last - 1) * size, c, size));
    return vt_buf_write(q, g->bufs.c, last * size, c, size);
}

static vt_form spoilt(void)
{
    vt_form f = vt_form_plain;

    f.name = "spoilt", f.launch = spoil;
    return f;
}

static vt_gemm_desc product(vt_dtype type, vt_dtype stored)
{
    vt_dev *dev = vt_test_device();
    vt_gemm_desc d = vt_timed_desc(dev, type, M, N, K);

    if (!vt_test_tiny())
        d.M = 37, d.N = 41, d.K = 67;
    d.lda = d.ldb = d.K, d.ldc = d.N;
    d.a = d.out = stored;
    return d;
}

/* Whichever comes first: two that differ, then three. */
Test(measure, a_wrong_form_does_not_win)
{
    const vt_form wrong = spoilt();
    const vt_form *const orders[][3] = {
        {&wrong, &vt_form_plain, NULL},
        {&vt_form_plain, &wrong, NULL},
        {&wrong, &vt_form_plain, &wrong},
    };
    const vt_gemm_desc all[] = {product(VT_F32, VT_F32),
                                product(VT_BF16, VT_BF16),
                                product(VT_F16, VT_F16)};

    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        const vt_gemm_desc *d = &all[vt_test_tiny() ? 0 : i];
        const int n = orders[i][2] ? 3 : 2;
        double ms[VT_FORMS];

        vt_race(ms, vt_test_device(), d, orders[i], n);
        for (int f = 0; f < n; f++)
            if (orders[i][f] == &wrong)
                cr_expect(ms[f] < 0, "%zu, %d: %g", i, f, ms[f]);
            else
                cr_expect(ms[f] > 0 && ms[f] < 1e9, "%zu, %d: %g", i, f, ms[f]);
    }
}

/* Right for the rows that are timed, and for no others. */
static vitcl_status spoil_others(vt_queue *q, vt_gemm *g)
{
    return g->t.d.M == 27 * 37 ? vt_kernel_launch(q, g->kernel[0])
                               : spoil(q, g);
}

/* A GPU has other programs for other numbers of rows. */
Test(measure, a_form_wrong_for_its_own_rows)
{
    vt_gemm_desc d = product(VT_F32, VT_F32);
    vt_form wrong = spoilt();
    double ms[VT_FORMS];

    if (vt_test_tiny())
        return;
    wrong.launch = spoil_others;
    d.device_class = VT_CLASS_GPU;
    for (d.batch = 3; d.batch <= 30; d.batch *= 10) { /* fewer, more */
        vt_race(ms, vt_test_device(), &d,
                (const vt_form *const[]){&wrong, &vt_form_plain}, 2);
        cr_expect(ms[0] < 0, "batch %d: %g", d.batch, ms[0]);
        cr_expect(ms[1] > 0, "batch %d: %g", d.batch, ms[1]);
    }
}

/* Without another it does not win either. */
Test(measure, a_wrong_form_alone)
{
    const vt_form wrong = spoilt();
    const vt_gemm_desc d = product(VT_F32, VT_F32);
    double ms[VT_FORMS];

    vt_race(ms, vt_test_device(), &d, (const vt_form *const[]){&wrong}, 1);
    cr_expect(ms[0] < 0, "%g", ms[0]);
}

/* The simple form multiplies instead. */
Test(measure, no_right_form, .fini = vt_test_tidy)
{
    const vt_form wrong = spoilt();
    const vt_gemm_desc some = product(VT_F32, VT_F32),
                       d = vt_product_filled(vt_test_device(), &some);
    char folder[256];

    vt_test_user_folder(folder);
    for (int i = 0; i < 2; i++) /* timed, remembered */
        cr_expect_eq(vt_fastest_form(vt_test_device(), &d,
                                     (const vt_form *const[]){&wrong}, 1,
                                     i == 0),
                     &vt_form_plain);
}

static void listen(void *context, const char *line)
{
    char *text = context;

    snprintf(text + strlen(text), 4096 - strlen(text), "%s\n", line);
}

/* The log and the user's file name it. */
Test(measure, a_wrong_form_is_named, .fini = vt_test_tidy)
{
    const vt_form wrong = spoilt();
    const vt_gemm_desc some = product(VT_F32, VT_F32),
                       d = vt_product_filled(vt_test_device(), &some);
    const vt_form *const forms[] = {&wrong, &vt_form_plain};
    char folder[256], text[4096] = "", *kept;
    size_t n;

    vt_test_user_folder(folder);
    vitcl_log_set(listen, text);
    cr_expect_eq(vt_fastest_form(vt_test_device(), &d, forms, 2, true),
                 &vt_form_plain);
    vitcl_log_set(NULL, NULL);
    cr_expect(strstr(text, "spoilt is not used for a product "), "%s", text);
    cr_expect(strstr(text, ", spoilt wrong, timed"), "%s", text);
    kept = (char *)vt_test_bytes(&n, folder, "vitcl/choices");
    cr_assert(kept);
    cr_expect(memmem(kept, n, " ms, spoilt wrong\n", 18), "%.*s", (int)n, kept);
    free(kept);
}

static void all_right(const vt_gemm_desc *d, const vt_form *const *forms, int n)
{
    double ms[VT_FORMS];

    vt_race(ms, vt_test_device(), d, forms, n);
    for (int i = 0; i < n; i++)
        cr_expect(ms[i] > 0 && ms[i] < 1e9, "%s, %s, act %d: %g",
                  forms[i]->name, vt_dtype_name(d->type), (int)d->act, ms[i]);
}

/* The forms of a GPU differ in no product of a plan by more than its bound. */
Test(measure, right_forms)
{
    const vt_form *const forms[] = {&vt_form_tile, &vt_form_plain},
                         *const ints[] = {&vt_form_tile, &vt_form_mma};
    vt_gemm_desc d = product(VT_F16, VT_F16);

    if (vt_test_tiny())
        return;
    d.device_class = VT_CLASS_GPU;
    vt_test_emulate("dot8");
    d.res = VT_F16, d.bias = d.scale = d.residual = true;
    d.act = VT_ACT_GELU_TANH;
    all_right(&d, forms, 2);
    d.act = VT_ACT_GELU, d.type = d.a = d.out = d.res = VT_BF16;
    all_right(&d, forms, 2);
    d.type = VT_I8, d.a = d.out = d.res = VT_F32;
    all_right(&d, ints, 2);
    d = product(VT_F32, VT_F32);
    d.device_class = VT_CLASS_GPU, d.b_packed = false;
    d.trans_a = d.trans_b = d.accumulate = true;
    d.lda = d.M, d.ldb = d.N;
    all_right(&d, forms, 2);
    unsetenv("VITCL_MMA");
}
