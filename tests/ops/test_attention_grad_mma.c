/*
 * test_attention_grad_mma.c - attention's gradients on matrix units, with every
 * vendor's instruction emulated, against formulas in double: odd numbers of
 * queries and keys, bias, axial attention, a picture alone with the same bits.
 *
 * All inputs are multiples of 1/64 that bf16 holds. So p and dx alone are
 * rounded, by 2^-8 of each at most: an error may be that share of the sum of
 * the absolute values of a gradient's terms.
 */
#include "ops/attention_heads.h"
#include "ops/ops.h"
#include "plan/plan_private.h"
#include "support/commit.h"
#include "support/device.h"
#include "support/near.h"
#include "support/oneplan.h"
#include "support/pictures.h"
#include "support/rng.h"
#include "trials/trials.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct shape {
    int H, Tq, T, D; /* Tq 0: self-attention */
    int bias;        /* 1: for all pictures; 2: for each */
    float scale;     /* 0: as usual */
    int wide;        /* not 0: to the columns of a grid */
} shape;

enum { PICTURES = 2 };

/* q is kv in self-attention. n: numbers of a picture. */
typedef struct numbers {
    int B, Tq, ldq, ldk, n_q, n_kv, n_bias, n_dy;
    float *q, *kv, *bias, *dy;
} numbers;

/* Beside what the device computes: the sums of absolute values. */
typedef struct gradients {
    float *q, *kv, *bias;
} gradients;
typedef struct terms {
    double *sum, *absolute;
} terms;

static float *random_numbers(vt_rng *r, int n)
{
    float *x = malloc((size_t)n * sizeof *x);

    for (int i = 0; i < n; i++)
        x[i] = (float)((int)(vt_rng_bits(r) % 255) - 127) / 64;
    return x;
}

static numbers numbers_new(const shape *c)
{
    const int C = c->H * c->D, B = vt_test_tiny() ? 1 : PICTURES;
    numbers x = {.B = B, .Tq = c->Tq ? c->Tq : c->T};
    vt_rng r = {(uint64_t)(c->T * 31 + c->D)};

    x.ldk = (c->Tq ? 2 : 3) * C;
    x.ldq = c->Tq ? C : x.ldk;
    x.n_q = x.Tq * x.ldq, x.n_kv = c->T * x.ldk, x.n_dy = x.Tq * C;
    x.n_bias = c->bias ? c->H * x.Tq * c->T : 0;
    x.kv = random_numbers(&r, B * x.n_kv);
    x.q = c->Tq ? random_numbers(&r, B * x.n_q) : x.kv;
    x.dy = random_numbers(&r, B * x.n_dy);
    x.bias = random_numbers(&r, (c->bias == 2 ? B : 1) * x.n_bias);
    return x;
}

static void numbers_free(numbers *x)
{
    if (x->q != x->kv)
        free(x->q);
    free(x->kv);
    free(x->bias);
    free(x->dy);
}

static void gradients_free(gradients *g)
{
    free(g->q);
    free(g->kv);
    free(g->bias);
}

static float *gradient(vt_fixture *f, const char *name)
{
    const vt_val v = vt_plan_find(f->plan, name);
    float *x;

    if (v == VT_NONE)
        return NULL;
    x = malloc((size_t)vt_elements(f->plan, v) * sizeof *x);
    vt_check(vt_plan_read(f->plan, v, x, (size_t)vt_elements(f->plan, v)));
    return x;
}

/* The pictures from `first` on. */
static gradients run(const shape *c, const numbers *x, int first, int pictures,
                     vitcl_precision precision, const char *note)
{
    const int all[] = {c->H, x->Tq, c->T},
              each[] = {pictures, c->H, x->Tq, c->T};
    vt_attention_args a = {.heads = c->H,
                           .bias = VT_NONE,
                           .scale = c->scale,
                           .to = c->wide ? VT_TO_COLUMNS : VT_TO_ALL,
                           .wide = c->wide};
    int found = 0;
    vt_val kv, y, dy;
    vt_fixture f;
    gradients g;

    vt_fixture_open_as(&f, (vt_plan_options){.device_class = VT_CLASS_GPU,
                                             .precision = precision,
                                             .backward = true,
                                             .train = true});
    kv = vt_fixture_param(&f, "kv", 3, (int[]){pictures, c->T, x->ldk},
                          x->kv + first * x->n_kv);
    if (c->bias)
        a.bias = vt_fixture_param(
            &f, "bias", c->bias == 1 ? 3 : 4, c->bias == 1 ? all : each,
            x->bias + (c->bias == 2 ? first * x->n_bias : 0));
    y = c->Tq
            ? vt_attention_cross(
                  f.plan,
                  vt_fixture_param(&f, "q", 3, (int[]){pictures, x->Tq, x->ldq},
                                   x->q + first * x->n_q),
                  kv, a)
            : vt_attention(f.plan, kv, a);
    dy = vt_input(f.plan, "gradient", VT_F32, 3,
                  (int[]){pictures, x->Tq, c->H * c->D});
    vt_plan_backward(f.plan, vt_seed_gradient(f.plan, y, dy), vt_add);
    vt_check(vt_plan_finish(f.plan));
    for (size_t i = 0; i < f.plan->steps; i++)
        found += strncmp(f.plan->step[i]->op->name, "attention", 9) == 0 &&
                 strstr(f.plan->step[i]->note, note);
    cr_assert_eq(found, 2, "not both steps are \"%s\"", note);
    vt_check(vt_buf_fill(f.plan->queue, f.plan->arena[0], VT_STRAY));
    vt_check(vt_plan_write(f.plan, dy, x->dy + first * x->n_dy,
                           (size_t)(pictures * x->n_dy) * 4));
    vt_check(vt_plan_run(f.plan, 0));
    vt_check_stray(f.plan);
    g = (gradients){.q = gradient(&f, "grad.q"),
                    .kv = gradient(&f, "grad.kv"),
                    .bias = gradient(&f, "grad.bias")};
    vt_fixture_close(&f);
    return g;
}

static void add(terms *t, int at, double x)
{
    t->sum[at] += x;
    t->absolute[at] += fabs(x);
}

/* Of one head of one picture, or of a column of a grid. Tokens are `apart` from
 * one another; q, k, v, y and bias: where they begin. */
static void head(terms dq, terms dkv, terms dbias, const shape *c,
                 const numbers *x, int q, int k, int v, int y, int bias,
                 int apart)
{
    const int C = c->H * c->D, T = c->wide ? c->T / c->wide : c->T,
              Tq = c->wide ? T : x->Tq;
    const double scale =
        c->scale > 0 ? (double)c->scale : 1 / sqrt((double)c->D);
    double *p = malloc(2 * (size_t)T * sizeof *p), *dp = p + T;

    for (int i = 0; i < Tq; i++) {
        const int qi = q + i * apart * x->ldq, yi = y + i * apart * C;
        double top = -INFINITY, all = 0, mean = 0;

        for (int j = 0; j < T; j++) {
            const int at = j * apart * x->ldk;

            p[j] = c->bias ? (double)x->bias[bias + i * T + j] : 0;
            dp[j] = 0;
            for (int d = 0; d < c->D; d++) {
                p[j] +=
                    scale * (double)x->q[qi + d] * (double)x->kv[k + at + d];
                dp[j] += (double)x->dy[yi + d] * (double)x->kv[v + at + d];
            }
            top = fmax(top, p[j]);
        }
        for (int j = 0; j < T; j++)
            all += p[j] = exp(p[j] - top);
        for (int j = 0; j < T; j++)
            mean += (p[j] /= all) * dp[j];
        for (int j = 0; j < T; j++) {
            const int at = j * apart * x->ldk;
            const double dx = p[j] * (dp[j] - mean);

            for (int d = 0; d < c->D; d++) {
                add(&dq, qi + d, scale * dx * (double)x->kv[k + at + d]);
                add(&dkv, k + at + d, scale * dx * (double)x->q[qi + d]);
                add(&dkv, v + at + d, p[j] * (double)x->dy[yi + d]);
            }
            if (c->bias)
                add(&dbias, bias + i * T + j, dx);
        }
    }
    free(p);
}

static terms terms_new(int n)
{
    return (terms){.sum = calloc((size_t)n + 1, sizeof(double)),
                   .absolute = calloc((size_t)n + 1, sizeof(double))};
}

static void terms_free(terms *t)
{
    free(t->sum);
    free(t->absolute);
}

static void expected(terms *dq, terms *dkv, terms *dbias, const shape *c,
                     const numbers *x)
{
    const int C = c->H * c->D, lines = c->wide ? c->wide : 1;

    for (int n = 0; n < x->B * lines * c->H; n++) {
        const int h = n % c->H, line = n / c->H % lines, b = n / c->H / lines;
        const int q = b * x->n_q + line * x->ldq + h * c->D;
        const int k = b * x->n_kv + line * x->ldk + h * c->D + (c->Tq ? 0 : C);

        head(*dq, *dkv, *dbias, c, x, q, k, k + C,
             b * x->n_dy + line * C + h * c->D,
             ((c->bias == 2 ? b * c->H : 0) + h) * x->Tq * c->T, lines);
    }
}

/* share: of the terms' absolute values */
static void compare(const char *what, const char *name, const float *got,
                    const terms *want, int n, double share)
{
    const double most = vt_largest(want->sum, (size_t)n);
    int bad = 0, worst = 0;
    double error = 0;

    cr_assert(got, "%s: no %s", what, name);
    for (int i = 0; i < n; i++) {
        const double allowed = share * want->absolute[i] + 1e-5 * most + 1e-30;
        const double e = fabs((double)got[i] - want->sum[i]) / allowed;

        bad += !(e <= 1);
        if (!(e <= error))
            error = e, worst = i;
    }
    cr_expect_eq(bad, 0,
                 "%s: %d of %d of %s are wrong; worst at %d: %.6g, not %.6g, "
                 "%.3g of what is allowed",
                 what, bad, n, name, worst, (double)got[worst],
                 want->sum[worst], error);
}

static void same(const char *what, const float *a, const float *b, int n)
{
    cr_expect_eq(memcmp(a, b, (size_t)n * sizeof *a), 0, "%s: other bits",
                 what);
}

static void check(const shape *c, const char *kind)
{
    numbers x = numbers_new(c);
    const int last = x.B - 1, biases = c->bias == 2 ? x.B : 1;
    terms dq = terms_new(x.B * x.n_q), dkv = terms_new(x.B * x.n_kv),
          dbias = terms_new(biases * x.n_bias);
    gradients g = run(c, &x, 0, x.B, VITCL_BF16, kind), again;
    char what[120];

    snprintf(what, sizeof what, "%s: H %d Tq %d T %d D %d", kind, c->H, x.Tq,
             c->T, c->D);
    expected(&dq, c->Tq ? &dkv : &dq, &dbias, c, &x);
    if (c->Tq)
        compare(what, "dq", g.q, &dq, x.B * x.n_q, 0x1p-8);
    compare(what, "dkv", g.kv, c->Tq ? &dkv : &dq, x.B * x.n_kv, 0x1p-8);
    if (c->bias)
        compare(what, "dbias", g.bias, &dbias, biases * x.n_bias, 0);
    if (!vt_test_tiny()) {
        vt_test_divide(true);
        again = run(c, &x, 0, x.B, VITCL_BF16, kind);
        vt_test_divide(false);
        if (c->Tq)
            same(what, again.q, g.q, x.B * x.n_q);
        same(what, again.kv, g.kv, x.B * x.n_kv);
        gradients_free(&again);
        again = run(c, &x, last, 1, VITCL_BF16, kind);
        if (c->Tq)
            same(what, again.q, g.q + last * x.n_q, x.n_q);
        same(what, again.kv, g.kv + last * x.n_kv, x.n_kv);
        gradients_free(&again);
    }
    gradients_free(&g);
    terms_free(&dq);
    terms_free(&dkv);
    terms_free(&dbias);
    numbers_free(&x);
}

/* The first ones have all numbers of tokens in one program. */
static const shape shapes[] = {
    {.H = 3, .T = 17, .D = 64},
    {.H = 2, .Tq = 33, .T = 31, .D = 64},
    {.H = 1, .Tq = 65, .T = 1, .D = 64},
    {.H = 2, .T = 1, .D = 64},
    {.H = 2, .T = 5, .D = 64},
    {.H = 1, .T = 32, .D = 64, .scale = 2},
    {.H = 1, .Tq = 1, .T = 64, .D = 64},
    {.H = 1, .T = 65, .D = 64},
    {.H = 2, .T = 101, .D = 64},
    {.H = 1, .T = 129, .D = 64},
    {.H = 2, .Tq = 15, .T = 66, .D = 32, .bias = 1},
    {.H = 1, .T = 37, .D = 64, .bias = 2},
    {.H = 2, .T = 21, .D = 32, .wide = 3},
    {.H = 2, .T = 37, .D = 72},
    {.H = 2, .Tq = 35, .T = 33, .D = 80},
    {.H = 1, .T = 19, .D = 96, .bias = 1},
    {.H = 2, .T = 67, .D = 24},
};
enum { WIDE = 14, NARROW = 16 }; /* heads of 80 and of 24 */
enum { FEW = 1, ONE_PROGRAM = 10, USUAL = 14, TINY = 10 };
enum { ALL = sizeof shapes / sizeof *shapes };

/* PoCL compiles each program for seconds, so only a few are usual: the first
 * kind with `shapes`, one of USUAL, and one of the other kinds, others at each
 * commit. With VITCL_TEST_MMA=all, every kind in every shape that it takes;
 * with a kind's name, that one. */
static const struct {
    const char *kind;
    int shapes, other;
} tries[] = {
    {"mma16", ONE_PROGRAM, 0},  {"wmma11", FEW, NARROW},
    {"wmma12", ONE_PROGRAM, 0}, {"mfma90a", FEW, WIDE},
    {"mfma942", FEW, 0},        {"dpas8", FEW, NARROW},
    {"dpas16", FEW, WIDE},
};

static bool takes(const char *kind, int d)
{
    return vt_mma_gradient_takes((vt_mma_choice){.kind = vt_mma_named(kind)},
                                 d);
}

static void emulate(const char *kind, int from, int end, int other)
{
    vt_test_emulate(kind);
    for (int k = from; k < end; k++)
        if (takes(kind, shapes[k].D))
            check(&shapes[k], kind);
    if (other)
        check(&shapes[other], kind);
    unsetenv("VITCL_MMA");
}

Test(attention_grad_mma, emulated)
{
    const unsigned long turn = vt_test_commit();
    const size_t n = sizeof tries / sizeof *tries;
    const size_t one = 1 + turn % (n - 1);
    const char *word = getenv("VITCL_TEST_MMA");
    const bool tiny = vt_test_tiny();

    if (word) {
        int tried = 0;

        for (size_t i = 0; i < n; i++)
            if (strcmp(word, "all") == 0 || strcmp(word, tries[i].kind) == 0) {
                emulate(tries[i].kind, tiny ? TINY : 0, tiny ? TINY + 1 : ALL,
                        0);
                tried++;
            }
        cr_assert_gt(tried, 0, "VITCL_TEST_MMA=%s is no instruction", word);
    } else if (tiny) {
        emulate(tries[0].kind, TINY, TINY + 1, 0);
    } else {
        emulate(tries[0].kind, 0, tries[0].shapes,
                ONE_PROGRAM + (int)(turn % (USUAL - ONE_PROGRAM)));
        emulate(tries[one].kind, 0, tries[one].shapes, tries[one].other);
    }
}

/* Other widths, other precisions and units without bf16 keep tiles of f32. */
Test(attention_grad_mma, refuses)
{
    static const struct {
        shape c;
        const char *word;
        vitcl_precision precision;
    } others[] = {
        {{.H = 1, .T = 3, .D = 20}, "emulate", VITCL_BF16},
        {{.H = 1, .T = 3, .D = 104}, "emulate", VITCL_BF16},
        {{.H = 1, .T = 3, .D = 80}, "emulate-wmma11", VITCL_BF16},
        {{.H = 1, .T = 3, .D = 32}, "emulate", VITCL_F32},
        {{.H = 1, .T = 3, .D = 32}, "emulate", VITCL_F16},
        {{.H = 1, .T = 3, .D = 32}, "emulate-mma8", VITCL_BF16},
        {{.H = 1, .T = 3, .D = 32}, "off", VITCL_BF16},
    };

    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        numbers x = numbers_new(&others[i].c);
        gradients g;

        setenv("VITCL_MMA", others[i].word, 1);
        g = run(&others[i].c, &x, 0, 1, others[i].precision, "tile");
        unsetenv("VITCL_MMA");
        gradients_free(&g);
        numbers_free(&x);
    }
}

/* ---- the trial ---- */

static const char *verdict(int kind, bool timed)
{
    const vt_mma_choice c = {.kind = kind, .emulated = true};
    const char *word = "none";

    vt_check(vt_trial_gradient(&word, vt_test_device(), c, timed));
    return word;
}

Test(attention_grad_mma, trial)
{
    char *folder;

    if (vt_test_tiny())
        return;
    cr_expect_str_eq(verdict(1, false), "right");
    cr_expect_str_eq(verdict(1, true), "slower", "an emulation is not faster");
    folder = vt_test_folder();
    vt_test_sources(vt_mma_subject(VT_MMA_GRADIENT, VT_BF16));
    vt_test_mutant(folder, "attention_grad_mma", "g[e] - deltas",
                   "g[e] + deltas");
    setenv("VITCL_CL_DIR", folder, 1); /* another kind: not built before */
    cr_expect_str_eq(verdict(4, false), "wrong");
    unsetenv("VITCL_CL_DIR");
    vt_test_tidy();
}
