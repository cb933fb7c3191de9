/*
 * test_loss.c - cross-entropy, its gradient, and a known value.
 */
#include "ref/ref.h"
#include "support/near.h"
#include "support/oneplan.h"
#include "support/rng.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

typedef struct result {
    float loss, *grad;
} result;

static result run(vt_class class, const float *z, const float *t, int B, int K,
                  float weight)
{
    vt_fixture f;
    size_t n = (size_t)B * (size_t)K;
    result r = {.grad = malloc(n * sizeof(float))};

    vt_fixture_open(&f, class, true);
    vt_val zv = vt_fixture_param(&f, "z", 2, (int[]){B, K}, z);
    vt_val tv = vt_input(f.plan, "t", VT_F32, 2, (int[]){B, K});
    vt_val loss = vt_cross_entropy(f.plan, zv, tv, weight);
    vt_keep(f.plan, loss);
    vt_plan_backward(f.plan, loss, vt_add);
    vt_check(vt_plan_finish(f.plan));
    vt_check(vt_plan_write(f.plan, tv, t, n * sizeof *t));
    vt_check(vt_plan_run(f.plan, 0));
    vt_check(vt_plan_read(f.plan, loss, &r.loss, 1));
    vt_check(vt_plan_read(f.plan, vt_grad(f.plan, zv), r.grad, n));
    vt_fixture_close(&f);
    return r;
}

static void check(vt_class class, int B, int K, double scale, float weight)
{
    size_t n = (size_t)B * (size_t)K;
    float *z = malloc(n * sizeof *z), *t = malloc(n * sizeof *t);
    double *zd = malloc(n * sizeof *zd), *td = malloc(n * sizeof *td);
    double *want = malloc(n * sizeof *want), h = 1e-5, loss;
    vt_rng r = {(uint64_t)(B * 1000 + K)};

    vt_rng_fill(&r, z, n, scale, 5);
    for (size_t i = 0; i < n; i++) { /* labels smoothed, two mixed */
        t[i] = 0.1f / (float)K;
        if (i % (size_t)K == 0)
            t[i] += 0.6f;
        if (i % (size_t)K == (size_t)K - 1)
            t[i] += 0.3f;
        zd[i] = (double)z[i], td[i] = (double)t[i];
    }
    loss = (double)weight * ref_cross_entropy(zd, td, B, K);
    for (size_t i = 0; i < n; i++) {
        zd[i] += h;
        want[i] = ref_cross_entropy(zd, td, B, K);
        zd[i] -= 2 * h;
        want[i] -= ref_cross_entropy(zd, td, B, K);
        want[i] *= (double)weight / (2 * h);
        zd[i] += h;
    }
    result got = run(class, z, t, B, K, weight);
    cr_expect(vt_near("loss", &got.loss, &loss, 1, 1e-5, 1e-6), "%dx%d", B, K);
    cr_expect(vt_near("gradient", got.grad, want, n, 0,
                      1e-5 * vt_largest(want, n) + 1e-9),
              "%dx%d", B, K);
    free(z), free(t), free(zd), free(td), free(want), free(got.grad);
}

Test(loss, all)
{
    for (vt_class c = VT_CLASS_CPU; c <= VT_CLASS_GPU; c++) {
        float big[4] = {1e4f, -1e4f, 0, 9999}, one[4] = {1, 0, 0, 0};
        float zero[1000] = {0}, label[1000] = {1};
        result r;

        check(c, 1, 1, 1, 1);
        check(c, 3, 7, 2, 1);
        check(c, 5, 129, 3, 0.25f);
        r = run(c, big, one, 1, 4, 1);
        cr_expect_float_eq(r.loss, log(1 + exp(-1)), 1e-6);
        free(r.grad);
        /* An untrained head of zeros: ln K. */
        r = run(c, zero, label, 1, 1000, 1);
        cr_expect_float_eq(r.loss, log(1000), 1e-6, "%.9g", (double)r.loss);
        free(r.grad);
    }
}

/* The gradient by its formula: softmax(z) * sum of t - t. */
static void check_rows(vt_class class, const float *z, const float *t, int B,
                       int K)
{
    const size_t n = (size_t)B * (size_t)K;
    double *zd = malloc(n * sizeof *zd), *td = malloc(n * sizeof *td);
    double *want = malloc(n * sizeof *want), loss;
    result got;

    for (size_t i = 0; i < n; i++)
        zd[i] = (double)z[i], td[i] = (double)t[i];
    loss = ref_cross_entropy(zd, td, B, K);
    for (int b = 0; b < B; b++) {
        const double *x = zd + b * K, *y = td + b * K;
        double top = -INFINITY, sum = 0, all = 0;

        for (int k = 0; k < K; k++)
            top = fmax(top, x[k]), all += y[k];
        for (int k = 0; k < K; k++)
            sum += exp(x[k] - top);
        for (int k = 0; k < K; k++)
            want[b * K + k] = (exp(x[k] - top) / sum * all - y[k]) / B;
    }
    got = run(class, z, t, B, K, 1);
    cr_expect(vt_near("loss", &got.loss, &loss, 1, 1e-5, 1e-6), "%dx%d", B, K);
    cr_expect(vt_near("gradient", got.grad, want, n, 1e-5, 1e-6), "%dx%d", B,
              K);
    free(zd), free(td), free(want), free(got.grad);
}

/* Logits so far apart that only the largest may be subtracted, at any position;
 * targets that sum to less and to more than 1; a class with probability 0 and
 * target 0. */
Test(loss, far_apart)
{
    enum { B = 4, K = 9 };
    float z[B * K], t[B * K];

    for (int i = 0; i < B * K; i++)
        z[i] = (float)(i * 7 % 5), t[i] = i % K == i / K ? 0.6f : 0.05f;
    z[0] = 300, z[K - 1] = -300; /* largest first, last, in the middle, none */
    z[K] = -300, z[2 * K - 1] = 300;
    z[2 * K + 4] = 300, z[3 * K - 1] = -300;
    z[3 * K + 1] = -INFINITY, t[3 * K + 1] = 0;
    z[2 * K + 8] = -INFINITY, t[2 * K + 8] = 0;
    for (int k = 0; k < K; k++)
        t[2 * K + k] *= 2.5f;
    for (vt_class c = VT_CLASS_CPU; c <= VT_CLASS_GPU; c++)
        check_rows(c, z, t, B, K);
}
