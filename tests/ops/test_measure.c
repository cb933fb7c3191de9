/*
 * test_measure.c - products that are timed: A and B are what the caller gave,
 * each runs as often as the rounds say, and its times are its two best.
 */
#include "product/product.h"
#include "support/device.h"

#include <criterion/criterion.h>
#include <math.h>

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
