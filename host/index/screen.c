/*
 * screen.c - main directions of vectors by orthogonal iteration, and how many
 * of them make the comparison fastest.
 */
#include "index/screen.h"

#include "base/memory.h"
#include "base/random.h"
#include "index/index.h"

#include <math.h>
#include <string.h>

enum { STEP = 32, ROUNDS = 3 };

typedef struct search {
    int width, fitted, tested, most; /* most: directions */
    float *fit, *turned;             /* [fitted, width], and transposed */
    float *test;                     /* [tested, width] */
    float *q, *t;                    /* [most, width], [most, fitted] */
    float *p, *rest;                 /* [tested, most], [tested, most / STEP] */
} search;

/* out[m, n] = a[m, k] b[n, k] */
static void multiply(float *out, const float *a, int m, const float *b, int n,
                     int k)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            *out++ = vt_dot(a + (size_t)i * (size_t)k,
                            b + (size_t)j * (size_t)k, (size_t)k);
}

/* ---- directions ---- */

/* Takes from v what it has of the rows before it. */
static void take_out(float *v, const float *q, int rows, int width)
{
    for (int i = 0; i < rows; i++, q += width) {
        const float c = vt_dot(v, q, (size_t)width);

        for (int k = 0; k < width; k++)
            v[k] -= c * q[k];
    }
}

/* Gram and Schmidt, twice, for rounding. A row that depends on others becomes
 * zero, which the inequality allows. */
static void orthonormalise(float *q, int rows, int width)
{
    for (int i = 0; i < rows; i++) {
        float *v = q + (size_t)i * (size_t)width;
        const float before = sqrtf(vt_dot(v, v, (size_t)width));
        float length;

        take_out(v, q, i, width);
        take_out(v, q, i, width);
        length = sqrtf(vt_dot(v, v, (size_t)width));
        if (!(length > 1e-3f * before)) {
            memset(v, 0, (size_t)width * sizeof *v);
            continue;
        }
        for (int k = 0; k < width; k++)
            v[k] /= length;
    }
}

static void find_directions(search *s)
{
    const size_t n = (size_t)s->most * (size_t)s->width;
    vt_random random = vt_random_new(1, 0, 0);

    for (size_t i = 0; i < n; i++)
        s->q[i] = (float)(vt_random_uniform(&random) - 0.5);
    orthonormalise(s->q, s->most, s->width);
    for (int i = 0; i < ROUNDS; i++) {
        multiply(s->t, s->q, s->most, s->fit, s->fitted, s->width);
        multiply(s->q, s->t, s->most, s->turned, s->width, s->fitted);
        orthonormalise(s->q, s->most, s->width);
    }
}

/* ---- their number ---- */

static float rest_of(float whole, float part)
{
    /* Not below the true length, by rounding. */
    return whole > 0 ? sqrtf(VT_MAX(whole - part, 0.0f) + 1e-6f) : 0.0f;
}

/* passed[g]: pairs of the tested rows that (g + 1) * STEP directions leave. */
static void count(uint64_t *passed, search *s, float least)
{
    const int steps = s->most / STEP;

    multiply(s->p, s->test, s->tested, s->q, s->most, s->width);
    for (int i = 0; i < s->tested; i++) {
        const float *a = s->p + (size_t)i * (size_t)s->most,
                    *row = s->test + (size_t)i * (size_t)s->width;
        const float whole = vt_dot(row, row, (size_t)s->width);
        float *rest = s->rest + (size_t)i * (size_t)steps, part = 0;

        for (int g = 0; g < steps; g++) {
            part += vt_dot(a + g * STEP, a + g * STEP, STEP);
            rest[g] = rest_of(whole, part);
        }
        for (int j = 0; j < i; j++) {
            const float *b = s->p + (size_t)j * (size_t)s->most,
                        *other = s->rest + (size_t)j * (size_t)steps;
            float sum = 0;

            for (int g = 0; g < steps; g++) {
                sum += vt_dot(a + g * STEP, b + g * STEP, STEP);
                if (sum + rest[g] * other[g] < least)
                    break;
                passed[g]++;
            }
        }
    }
}

/* The cost of a pair in multiply-adds, as measured on a CPU with tiles of 2048:
 * copying the scores of a tile that has many rows with hits takes as long as 32
 * of each pair; a product on the host takes 25 times as long as one in a
 * tile. */
static double cost(int kept, int width, double share)
{
    return kept + 32 * VT_MIN(1.0, share * 1e5) + 25.0 * width * share;
}

/* The best number of directions; 0: none pays. */
static int choose(const search *s, const uint64_t *passed)
{
    const double pairs = 0.5 * s->tested * (s->tested - 1);
    double least = 0.8 * s->width;
    int best = 0;

    for (int g = 0; g < s->most / STEP; g++) {
        const int kept = (g + 1) * STEP;
        const double c = cost(kept, s->width, (double)passed[g] / pairs);

        if (c < least) {
            least = c;
            best = kept;
        }
    }
    return best;
}

/* ---- the whole ---- */

static vitcl_status prepare(search *s, const float *sample)
{
    const size_t width = (size_t)s->width, fitted = (size_t)s->fitted,
                 tested = (size_t)s->tested, most = (size_t)s->most;

    VT_RET(VT_NEW(&s->fit, fitted * width));
    VT_RET(VT_NEW(&s->turned, fitted * width));
    VT_RET(VT_NEW(&s->test, tested * width));
    VT_RET(VT_NEW(&s->q, most * width));
    VT_RET(VT_NEW(&s->t, most * fitted));
    VT_RET(VT_NEW(&s->p, tested * most));
    VT_RET(VT_NEW(&s->rest, tested * (most / STEP)));
    for (size_t i = 0; i < fitted + tested; i++)
        memcpy((i % 2 ? s->test : s->fit) + i / 2 * width, sample + i * width,
               width * sizeof *sample);
    for (size_t i = 0; i < fitted; i++)
        for (size_t k = 0; k < width; k++)
            s->turned[k * fitted + i] = s->fit[i * width + k];
    return VITCL_OK;
}

vitcl_status vt_screen_new(vt_screen *out, const float *sample, int n,
                           int width, float least)
{
    search s = {.width = width,
                .fitted = (n + 1) / 2,
                .tested = n / 2,
                .most = width / 2 / STEP * STEP};
    const size_t row = (size_t)width;
    uint64_t *passed = NULL;
    vitcl_status st = VITCL_OK;
    int best = 0;

    if (s.most == 0 || s.tested < 2)
        return VITCL_OK;
    VT_TRY(prepare(&s, sample));
    VT_TRY(VT_NEW(&passed, (size_t)(s.most / STEP)));
    find_directions(&s);
    count(passed, &s, least - VT_SCREEN_SLACK);
    best = choose(&s, passed);
    if (best == 0)
        goto done;
    VT_TRY(VT_NEW(&out->basis, (size_t)best * row));
    memcpy(out->basis, s.q, (size_t)(best - 1) * row * sizeof *s.q);
    out->kept = best;
done:
    free(s.fit);
    free(s.turned);
    free(s.test);
    free(s.q);
    free(s.t);
    free(s.p);
    free(s.rest);
    free(passed);
    return st;
}

void vt_screen_finish(float *products, const vt_screen *s, const float *row,
                      int width)
{
    const size_t m = (size_t)s->kept - 1;

    products[m] =
        rest_of(vt_dot(row, row, (size_t)width), vt_dot(products, products, m));
}

void vt_screen_free(vt_screen *s)
{
    free(s->basis);
    *s = (vt_screen){.kept = 0};
}
