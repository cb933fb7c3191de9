/*
 * test_fewshot.c - ridge regression against NumPy, and the choice of pictures.
 *
 * tools/golden_fewshot.py prints the expected accuracies. It solves the normal
 * equations with numpy.linalg.solve, whichever form (primal or dual) the code
 * uses, on the features of make().
 */
#include "base/memory.h"
#include "eval/fewshot.h"

#include <criterion/criterion.h>
#include <math.h>

static vt_features make(size_t n, size_t w, int seed)
{
    vt_features f = {n, w, NULL, NULL};

    f.x = calloc(n * w, sizeof *f.x);
    f.label = calloc(n, sizeof *f.label);
    for (size_t i = 0; i < n; i++) {
        f.label[i] = (uint32_t)((i * 7 + (size_t)seed) % 4);
        for (size_t j = 0; j < w; j++)
            f.x[i * w + j] =
                (float)(sin(0.37 * (double)(i * (j + 1)) + seed) +
                        0.35 * cos(1.3 * f.label[i] * (double)(j + 1)));
    }
    return f;
}

Test(fewshot, ridge)
{
    static const struct {
        size_t train, test, width;
        double l2, want;
    } c[] = {{40, 100, 7, 1024, 0.43},
             {12, 100, 30, 1024, 0.45},
             {200, 100, 7, 1, 0.54},
             {12, 100, 30, 1, 0.34}};

    for (size_t i = 0; i < VT_COUNT(c); i++) {
        vt_features a = make(c[i].train, c[i].width, 1);
        vt_features b = make(c[i].test, c[i].width, 2);
        double got = -1;

        cr_assert_eq(vt_ridge_accuracy(&got, &a, &b, 4, c[i].l2), VITCL_OK);
        cr_expect_float_eq(got, c[i].want, 1e-9, "case %zu: %g, NumPy %g", i,
                           got, c[i].want);
        vt_features_free(&a);
        vt_features_free(&b);
    }
}

Test(fewshot, refuses_bad_features)
{
    vt_features a = make(8, 5, 1), b = make(8, 4, 1);
    double got;

    cr_expect_eq(vt_ridge_accuracy(&got, &a, &b, 4, 1), VITCL_EINVAL);
    a.x[3] = NAN;
    cr_expect_eq(vt_ridge_accuracy(&got, &a, &a, 4, 1), VITCL_EINVAL);
    vt_features_free(&a);
    vt_features_free(&b);
}

Test(fewshot, choice)
{
    uint32_t label[300];
    size_t chosen[40], again[40], n = 0, m = 0, per[10] = {0}, same = 0;

    for (size_t i = 0; i < VT_COUNT(label); i++)
        label[i] = (uint32_t)(i % 10);
    cr_assert_eq(vt_fewshot_choose(chosen, &n, label, 300, 10, 4, 5), VITCL_OK);
    cr_assert_eq(n, 40);
    for (size_t i = 0; i < n; i++) {
        per[label[chosen[i]]]++;
        for (size_t j = 0; j < i; j++)
            cr_expect_neq(chosen[i], chosen[j]);
    }
    for (size_t c = 0; c < 10; c++)
        cr_expect_eq(per[c], 4);
    cr_assert_eq(vt_fewshot_choose(again, &m, label, 300, 10, 4, 5), VITCL_OK);
    cr_expect_arr_eq(chosen, again, sizeof chosen);
    cr_assert_eq(vt_fewshot_choose(again, &m, label, 300, 10, 4, 6), VITCL_OK);
    for (size_t i = 0; i < n; i++)
        same += chosen[i] == again[i];
    cr_expect_lt(same, 20);
}

Test(fewshot, takes_all_pictures_of_a_small_class)
{
    uint32_t label[90];
    size_t chosen[90], n = 0;
    int seen[90] = {0};

    for (size_t i = 0; i < VT_COUNT(label); i++)
        label[i] = i < 80 ? (uint32_t)(i % 2) : 2; /* 40, 40 and 10 */
    cr_assert_eq(vt_fewshot_choose(chosen, &n, label, 90, 3, 40, 1), VITCL_OK);
    cr_assert_eq(n, 90);
    for (size_t i = 0; i < n; i++)
        seen[chosen[i]]++;
    for (size_t i = 0; i < n; i++)
        cr_expect_eq(seen[i], 1, "%zu", i);
    cr_assert_eq(vt_fewshot_choose(chosen, &n, label, 90, 3, 20, 1), VITCL_OK);
    cr_expect_eq(n, 50);
}
