/*
 * fewshot.c - ridge regression on frozen features.
 */
#include "eval/fewshot.h"

#include "base/memory.h"
#include "base/random.h"

#include <math.h>
#include <string.h>

#define BIAS 100.0

void vt_features_free(vt_features *f)
{
    free(f->x);
    free(f->label);
    *f = (vt_features){0};
}

/* rows[count, width + 1]: standardised features, then the bias column. */
static void standardise(double *rows, const vt_features *f, const double *mean,
                        const double *deviation)
{
    size_t w = f->width;

    for (size_t i = 0; i < f->count; i++) {
        double *row = rows + i * (w + 1);

        for (size_t j = 0; j < w; j++)
            row[j] = ((double)f->x[i * w + j] - mean[j]) / deviation[j];
        row[w] = BIAS;
    }
}

static void moments(double *mean, double *deviation, const vt_features *f)
{
    size_t w = f->width;
    double n = (double)f->count;

    memset(mean, 0, w * sizeof *mean);
    memset(deviation, 0, w * sizeof *deviation);
    for (size_t i = 0; i < f->count; i++)
        for (size_t j = 0; j < w; j++)
            mean[j] += (double)f->x[i * w + j] / n;
    for (size_t i = 0; i < f->count; i++)
        for (size_t j = 0; j < w; j++) {
            double d = (double)f->x[i * w + j] - mean[j];
            deviation[j] += d * d / n;
        }
    for (size_t j = 0; j < w; j++)
        deviation[j] = sqrt(deviation[j]) + 1e-5;
}

static double dot(const double *a, const double *b, size_t n)
{
    double s = 0;

    for (size_t i = 0; i < n; i++)
        s += a[i] * b[i];
    return s;
}

/* a[n,n] (lower half) -> its Cholesky factor; false: not positive definite. */
static int factor(double *a, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++)
            a[i * n + j] =
                (a[i * n + j] - dot(a + i * n, a + j * n, j)) / a[j * n + j];
        double d = a[i * n + i] - dot(a + i * n, a + i * n, i);
        if (!(d > 0))
            return 0;
        a[i * n + i] = sqrt(d);
    }
    return 1;
}

/* x[n]: right-hand side -> solution; a: from factor(). */
static void solve(double *x, const double *a, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (x[i] - dot(a + i * n, x, i)) / a[i * n + i];
    for (size_t i = n; i-- > 0;) {
        double s = x[i];

        for (size_t j = i + 1; j < n; j++)
            s -= a[j * n + i] * x[j];
        x[i] = s / a[i * n + i];
    }
}

/* weight[classes, w]: ridge weights from rows[n,w] and labels, primal form. */
static vitcl_status primal(double *weight, const double *rows,
                           const vt_features *train, size_t w, uint32_t classes,
                           double l2)
{
    vitcl_status st = VITCL_OK;
    double *gram = NULL;

    VT_TRY(vt_new(&gram, w * w, sizeof *gram));
    for (size_t i = 0; i < train->count; i++)
        for (size_t j = 0; j < w; j++)
            for (size_t k = 0; k <= j; k++)
                gram[j * w + k] += rows[i * w + j] * rows[i * w + k];
    for (size_t j = 0; j < w; j++)
        gram[j * w + j] += l2;
    if (!factor(gram, w))
        VT_TRY(vt_fail(VITCL_EINVAL, "the features contain NaN or infinity"));
    for (uint32_t c = 0; c < classes; c++) {
        double *x = weight + c * w;

        memset(x, 0, w * sizeof *x);
        for (size_t i = 0; i < train->count; i++)
            for (size_t j = 0; j < w; j++)
                x[j] += (train->label[i] == c ? 1 : -1) * rows[i * w + j];
        solve(x, gram, w);
    }
done:
    free(gram);
    return st;
}

/* The same in dual form: W = X^T (X X^T + l2 I)^-1 Y. */
static vitcl_status dual(double *weight, const double *rows,
                         const vt_features *train, size_t w, uint32_t classes,
                         double l2)
{
    vitcl_status st = VITCL_OK;
    size_t n = train->count;
    double *gram = NULL, *x = NULL;

    VT_TRY(vt_new(&gram, n * n, sizeof *gram));
    VT_TRY(VT_NEW(&x, n));
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++)
            gram[i * n + j] =
                dot(rows + i * w, rows + j * w, w) + (i == j ? l2 : 0);
    if (!factor(gram, n))
        VT_TRY(vt_fail(VITCL_EINVAL, "the features contain NaN or infinity"));
    for (uint32_t c = 0; c < classes; c++) {
        for (size_t i = 0; i < n; i++)
            x[i] = train->label[i] == c ? 1 : -1;
        solve(x, gram, n);
        memset(weight + c * w, 0, w * sizeof *weight);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < w; j++)
                weight[c * w + j] += x[i] * rows[i * w + j];
    }
done:
    free(gram);
    free(x);
    return st;
}

static double accuracy(const double *weight, const double *rows,
                       const vt_features *test, size_t w, uint32_t classes)
{
    size_t right = 0;

    for (size_t i = 0; i < test->count; i++) {
        uint32_t best = 0;
        double top = -HUGE_VAL;

        for (uint32_t c = 0; c < classes; c++) {
            double score = dot(weight + c * w, rows + i * w, w);
            if (score > top)
                top = score, best = c;
        }
        right += best == test->label[i];
    }
    return test->count ? (double)right / (double)test->count : 0;
}

vitcl_status vt_ridge_accuracy(double *out, const vt_features *train,
                               const vt_features *test, uint32_t classes,
                               double l2)
{
    vitcl_status st = VITCL_OK;
    size_t w = train->width + 1;
    double *mean = NULL, *deviation = NULL, *a = NULL, *b = NULL,
           *weight = NULL;

    if (train->count == 0 || train->width != test->width)
        return vt_fail(VITCL_EINVAL,
                       "cannot fit a classifier: %zu training pictures, "
                       "features of width %zu (training) and %zu (test)",
                       train->count, train->width, test->width);
    VT_TRY(VT_NEW(&mean, w));
    VT_TRY(VT_NEW(&deviation, w));
    VT_TRY(vt_new(&a, train->count * w, sizeof *a));
    VT_TRY(vt_new(&b, test->count * w, sizeof *b));
    VT_TRY(vt_new(&weight, classes * w, sizeof *weight));
    moments(mean, deviation, train);
    standardise(a, train, mean, deviation);
    standardise(b, test, mean, deviation);
    VT_TRY(
        (train->count >= w ? primal : dual)(weight, a, train, w, classes, l2));
    *out = accuracy(weight, b, test, w, classes);
done:
    free(mean);
    free(deviation);
    free(a);
    free(b);
    free(weight);
    return st;
}

vitcl_status vt_fewshot_choose(size_t *chosen, size_t *n, const uint32_t *label,
                               size_t count, uint32_t classes, uint32_t shots,
                               uint64_t random_state)
{
    vitcl_status st = VITCL_OK;
    size_t *order = NULL, taken = 0;
    uint32_t *have = NULL;

    VT_TRY(VT_NEW(&order, count));
    VT_TRY(VT_NEW(&have, classes));
    vt_shuffle(order, count, random_state);
    for (size_t i = 0; i < count; i++) {
        uint32_t c = label[order[i]];

        if (c < classes && have[c] < shots) {
            have[c]++;
            chosen[taken++] = order[i];
        }
    }
    *n = taken;
done:
    free(order);
    free(have);
    return st;
}
