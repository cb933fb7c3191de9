/*
 * test_random.c - random numbers: independent streams, and the moments of each
 * distribution.
 */
#include "base/random.h"

#include <criterion/criterion.h>
#include <math.h>

/* Tolerances are five standard errors of 200,000 draws. */
Test(random, moments)
{
    vt_random r = vt_random_new(1, 2, 3), q = vt_random_new(1, 2, 4);
    double u = 0, n1 = 0, n2 = 0, beta = 0, beta2 = 0;
    size_t below[7] = {0}, n = 200000;

    cr_expect_neq(vt_random_next(&r), vt_random_next(&q));
    for (size_t i = 0; i < n; i++) {
        double x = vt_random_normal(&r), b = vt_random_beta(&r, 0.8);

        u += vt_random_uniform(&r);
        n1 += x, n2 += x * x;
        beta += b, beta2 += (b - 0.5) * (b - 0.5);
        below[vt_random_below(&r, 7)]++;
    }
    cr_expect_float_eq(u / (double)n, 0.5, 5 * 0.289 / sqrt((double)n));
    cr_expect_float_eq(n1 / (double)n, 0, 5 / sqrt((double)n));
    cr_expect_float_eq(n2 / (double)n, 1, 5 * 1.42 / sqrt((double)n));
    cr_expect_float_eq(beta / (double)n, 0.5, 0.005);
    /* variance of Beta(a, a) is 1 / (4 (2a + 1)) */
    cr_expect_float_eq(beta2 / (double)n, 1 / (4 * 2.6), 0.002);
    for (size_t i = 0; i < 7; i++)
        cr_expect_float_eq((double)below[i], (double)n / 7, 5 * 157.0);
}
