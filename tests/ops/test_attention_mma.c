/*
 * test_attention_mma.c - attention on matrix units, with every vendor's
 * instruction emulated, against a reference in double: odd numbers of queries
 * and keys, bias, shared queries, axial attention, rows in f32
 * as a training has them, a picture alone with the same bits.
 *
 * All inputs are multiples of 1/64 that f16 and bf16 hold. A scale near 0 makes
 * every probability the same, and the sums exact: a key left out or taken twice
 * shows in the last bits. Otherwise the probabilities are rounded to 16 bits,
 * 2^-11 or 2^-8 of each; in a training to 2^-16.
 */
#include "ops/attention_heads.h"
#include "ops/ops.h"
#include "plan/plan_private.h"
#include "ref/ref.h"
#include "support/commit.h"
#include "support/device.h"
#include "support/halves.h"
#include "support/near.h"
#include "support/pictures.h"
#include "support/rng.h"
#include "support/skip.h"
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
    bool shared;     /* queries */
    bool half;       /* the output in 16 bits, too */
    int wide;        /* not 0: to the columns of a grid */
    bool training;
} shape;

/* q is kv in self-attention. */
typedef struct numbers {
    int B, Tq, ldq, ldk; /* of pictures; queries */
    int sets;            /* of queries */
    float *q, *kv, *bias;
} numbers;

enum { PICTURES = 3, LARGEST = 2, GUARD = 33 };

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
    x.sets = c->shared ? 1 : B;
    x.kv = random_numbers(&r, B * c->T * x.ldk);
    x.q = c->Tq ? random_numbers(&r, x.sets * x.Tq * x.ldq) : x.kv;
    if (c->bias)
        x.bias =
            random_numbers(&r, (c->bias == 2 ? B : 1) * c->H * x.Tq * c->T);
    return x;
}

static void numbers_free(numbers *x)
{
    if (x->q != x->kv)
        free(x->q);
    free(x->kv);
    free(x->bias);
}

/* The pictures from `first` on. */
static float *run(const shape *c, const numbers *x, int first, int pictures,
                  vitcl_precision precision, const char *note)
{
    static const float guard[GUARD];
    const int sets = c->shared ? 1 : pictures, n = x->Tq * c->T * c->H;
    const int kv[] = {pictures, c->T, x->ldk}, q[] = {sets, x->Tq, x->ldq};
    const int all[] = {c->H, x->Tq, c->T},
              each[] = {pictures, c->H, x->Tq, c->T};
    vt_attention_args a = {.heads = c->H,
                           .bias = VT_NONE,
                           .scale = c->scale,
                           .to = c->wide ? VT_TO_COLUMNS : VT_TO_ALL,
                           .wide = c->wide};
    vt_val in, in_q = VT_NONE, last, y, h;
    vt_fixture f;
    float *out;

    vt_fixture_open_as(&f, (vt_plan_options){.device_class = VT_CLASS_GPU,
                                             .precision = precision,
                                             .backward = c->training,
                                             .train = c->training});
    in = vt_input(f.plan, "kv", VT_F32, 3, kv);
    h = vt_halves_copy(f.plan, in);
    if (c->bias)
        a.bias = c->bias == 1 ? vt_input(f.plan, "bias", VT_F32, 3, all)
                              : vt_input(f.plan, "bias", VT_F32, 4, each);
    last = vt_input(f.plan, "guard", VT_F32, 1, (int[]){GUARD});
    if (c->Tq) {
        in_q = vt_input(f.plan, "q", VT_F32, 3, q);
        y = vt_attention_cross(f.plan, vt_halves_copy(f.plan, in_q), h, a);
    } else {
        y = vt_attention(f.plan, h, a);
    }
    if (c->half)
        y = vt_halves_copy(f.plan, y);
    vt_keep(f.plan, y);
    vt_check(vt_plan_finish(f.plan));
    h = VT_NONE;
    for (size_t i = 0; i < f.plan->steps; i++)
        h = strstr(f.plan->step[i]->note, note) ? y : h;
    cr_assert_neq(h, VT_NONE, "no step is \"%s\"", note);
    vt_check(vt_buf_fill(f.plan->queue, f.plan->arena[0], VT_STRAY));
    vt_check(vt_plan_write(f.plan, in, x->kv + first * c->T * x->ldk,
                           (size_t)(pictures * c->T * x->ldk) * 4));
    if (c->Tq)
        vt_check(vt_plan_write(f.plan, in_q,
                               x->q + (c->shared ? 0 : first * x->Tq * x->ldq),
                               (size_t)(sets * x->Tq * x->ldq) * 4));
    if (c->bias)
        vt_check(vt_plan_write(f.plan, a.bias,
                               x->bias + (c->bias == 2 ? first * n : 0),
                               (size_t)(c->bias == 2 ? pictures * n : n) * 4));
    vt_check(vt_plan_write(f.plan, last, guard, sizeof guard));
    vt_check(vt_plan_run(f.plan, 0));
    out = malloc(vt_elements(f.plan, y) * sizeof *out);
    vt_check(vt_plan_read(f.plan, y, out, vt_elements(f.plan, y)));
    vt_check_stray(f.plan);
    vt_fixture_close(&f);
    return out;
}

static double *doubles(const float *x, int n)
{
    double *d = malloc((size_t)n * sizeof *d);

    for (int i = 0; i < n; i++)
        d[i] = (double)x[i];
    return d;
}

static double *expected(const shape *c, const numbers *x)
{
    const int C = c->H * c->D, own = x->Tq * x->ldq;
    const double scale =
        c->scale > 0 ? (double)c->scale : 1 / sqrt((double)c->D);
    double *out = malloc((size_t)(x->B * x->Tq * C) * sizeof *out);
    double *kv = doubles(x->kv, x->B * c->T * x->ldk), *q = kv, *bias = NULL;
    const double *k = kv + (c->Tq ? 0 : C);

    if (c->Tq) {
        q = malloc((size_t)(x->B * own) * sizeof *q);
        for (int i = 0; i < x->B * own; i++)
            q[i] = (double)x->q[i % (x->sets * own)];
    }
    if (c->bias)
        bias =
            doubles(x->bias, (c->bias == 2 ? x->B : 1) * c->H * x->Tq * c->T);
    if (c->wide)
        ref_axial(out, kv, x->B, c->H, c->D, c->T, c->wide, 1);
    else
        ref_heads(out, q, k, k + C, bias, x->B, c->H, c->D, x->Tq, c->T, x->ldq,
                  x->ldk, scale, c->bias == 2);
    if (q != kv)
        free(q);
    free(kv);
    free(bias);
    return out;
}

static void check(const shape *c, vitcl_precision precision, const char *kind)
{
    numbers x = numbers_new(c);
    const int one = x.Tq * c->H * c->D, n = x.B * one, last = x.B - 1;
    const double unit = c->training               ? 0x1p-16
                        : precision == VITCL_BF16 ? 0x1p-8
                                                  : 0x1p-11;
    const bool exact = c->scale > 0 && c->scale < 1e-20f && !c->half;
    double *want = expected(c, &x);
    float *got = run(c, &x, 0, x.B, precision, kind), *again;
    char what[120];

    snprintf(what, sizeof what, "%s in %s: H %d Tq %d T %d D %d", kind,
             precision == VITCL_BF16 ? "bf16" : "f16", c->H, x.Tq, c->T, c->D);
    cr_expect(vt_near(what, got, want, (size_t)n, c->half ? unit : 0,
                      exact ? 1e-6 : unit * LARGEST + 1e-5));
    if (!vt_test_tiny()) {
        vt_test_divide(true);
        again = run(c, &x, 0, x.B, precision, kind);
        vt_test_divide(false);
        cr_expect_eq(memcmp(again, got, (size_t)n * sizeof *got), 0,
                     "%s: other bits in a 2nd run", what);
        free(again);
        again = run(c, &x, last, 1, precision, kind);
        cr_expect_eq(memcmp(again, got + last * one, (size_t)one * sizeof *got),
                     0, "%s: other bits alone", what);
        free(again);
    }
    free(got);
    free(want);
    numbers_free(&x);
}

#define NEAR_0 1e-30f

/* The first ones have all numbers of tokens in one program. */
static const shape shapes[] = {
    {.H = 3, .T = 17, .D = 64},
    {.H = 1, .T = 65, .D = 64, .scale = NEAR_0},
    {.H = 2, .T = 1, .D = 64},
    {.H = 1, .T = 2, .D = 64},
    {.H = 2, .T = 15, .D = 64},
    {.H = 1, .T = 16, .D = 64, .scale = NEAR_0},
    {.H = 1, .T = 31, .D = 64, .scale = 2},
    {.H = 2, .T = 32, .D = 64},
    {.H = 1, .T = 33, .D = 64, .scale = NEAR_0},
    {.H = 1, .T = 63, .D = 64, .scale = NEAR_0},
    {.H = 1, .T = 64, .D = 64},
    {.H = 2, .T = 101, .D = 64},
    {.H = 1, .T = 197, .D = 64, .scale = 2},
    {.H = 1, .T = 101, .D = 64, .scale = NEAR_0},
    {.H = 3, .Tq = 1, .T = 65, .D = 64, .shared = true},
    {.H = 1, .Tq = 33, .T = 31, .D = 64, .scale = NEAR_0},
    {.H = 2, .Tq = 15, .T = 66, .D = 32, .bias = 1, .half = true},
    {.H = 1, .T = 37, .D = 128, .bias = 2},
    {.H = 2, .T = 21, .D = 32, .wide = 3},
    {.H = 2, .T = 67, .D = 72, .half = true},
    {.H = 2, .Tq = 35, .T = 33, .D = 80, .scale = NEAR_0},
    {.H = 1, .T = 45, .D = 80, .bias = 1, .half = true},
    {.H = 2, .T = 19, .D = 96, .half = true},
    {.H = 2, .T = 39, .D = 16, .scale = NEAR_0},
    {.H = 2, .T = 9, .D = 24},
    {.H = 1, .T = 33, .D = 112},
};
enum { PADDED = 19, NARROW = 24 }; /* heads of 72 and of 24 */
enum {
    FEW = 1,
    ONE_PROGRAM = 16,
    USUAL = 21,
    TINY = 16,
    ALL = sizeof shapes / sizeof *shapes
};

/* PoCL compiles each program for seconds, so only a few are usual: the first of
 * these with ONE_PROGRAM and one of USUAL, and another one with `shapes` and
 * `other`, others at each commit. With VITCL_TEST_MMA=all, every kind in every
 * type and shape; with a kind's name, that one. */
typedef struct sample {
    const char *kind;
    vitcl_precision precision;
    int shapes, other;
} sample;
static const sample tries[] = {
    {"mma16", VITCL_F16, ONE_PROGRAM, 0},
    {"mma16", VITCL_BF16, ONE_PROGRAM, 0},
    {"mma8", VITCL_F16, FEW, NARROW},
    {"wmma11", VITCL_F16, ONE_PROGRAM, PADDED},
    {"wmma11", VITCL_BF16, FEW, NARROW},
    {"wmma12", VITCL_F16, FEW, PADDED},
    {"wmma12", VITCL_BF16, ONE_PROGRAM, 0},
    {"mfma90a", VITCL_F16, FEW, NARROW},
    {"mfma90a", VITCL_BF16, FEW, PADDED},
    {"mfma942", VITCL_F16, ONE_PROGRAM, 0},
    {"mfma942", VITCL_BF16, FEW, PADDED},
    {"dpas8", VITCL_F16, ONE_PROGRAM, PADDED},
    {"dpas8", VITCL_BF16, FEW, NARROW},
    {"dpas16", VITCL_F16, FEW, NARROW},
    {"dpas16", VITCL_BF16, ONE_PROGRAM, PADDED},
};

static void emulate(const sample *t, int from, int end, int other)
{
    vt_test_emulate(t->kind);
    for (int k = from; k < end; k++)
        if (shapes[k].D <= vt_mma_kinds[vt_mma_named(t->kind)].heads)
            check(&shapes[k], t->precision, t->kind);
    if (other)
        check(&shapes[other], t->precision, t->kind);
    unsetenv("VITCL_MMA");
}

Test(attention_mma, emulated)
{
    const unsigned long turn = vt_test_commit();
    const size_t n = sizeof tries / sizeof *tries;
    const sample *one = &tries[1 + turn % (n - 1)];
    const char *word = getenv("VITCL_TEST_MMA");
    const bool tiny = vt_test_tiny();

    if (word) {
        int tried = 0;

        for (size_t i = 0; i < n; i++)
            if (strcmp(word, "all") == 0 || strcmp(word, tries[i].kind) == 0) {
                emulate(&tries[i], tiny ? TINY : 0, tiny ? TINY + 1 : ALL, 0);
                tried++;
            }
        cr_assert_gt(tried, 0, "VITCL_TEST_MMA=%s is no instruction", word);
    } else if (tiny) {
        emulate(tries, TINY, TINY + 1, 0);
    } else {
        emulate(tries, 0, tries->shapes,
                ONE_PROGRAM + (int)(turn % (USUAL - ONE_PROGRAM)));
        emulate(one, 0, one->shapes, one->other);
    }
}

/* ---- a training's ---- */

static const shape trainings[] = {
    {.H = 2, .T = 67, .D = 64, .training = true},
    {.H = 1, .T = 65, .D = 64, .scale = NEAR_0, .training = true},
    {.H = 2, .Tq = 15, .T = 66, .D = 32, .bias = 1, .training = true},
    {.H = 2, .T = 21, .D = 32, .wide = 3, .training = true},
    {.H = 1, .T = 33, .D = 80, .training = true},
};
enum { TRAININGS = sizeof trainings / sizeof *trainings, SAME_PROGRAM = 2 };

static void train(const char *kind, int from, int end)
{
    const vt_mma_choice c = {.kind = vt_mma_named(kind)};

    vt_test_emulate(kind);
    for (int i = from; i < end; i++)
        if (vt_mma_gradient_takes(c, trainings[i].D))
            check(&trainings[i], VITCL_BF16, kind);
    unsetenv("VITCL_MMA");
}

Test(attention_mma, training)
{
    static const char *const kinds[] = {
        "mma16", "wmma11", "wmma12", "mfma90a", "mfma942", "dpas8", "dpas16"};
    const size_t n = sizeof kinds / sizeof *kinds;
    const unsigned long turn = vt_test_commit();
    const int some = SAME_PROGRAM + (int)(turn % (TRAININGS - SAME_PROGRAM));
    const char *word = getenv("VITCL_TEST_MMA");

    for (size_t i = 0; word && i < n; i++)
        if (strcmp(word, "all") == 0 || strcmp(word, kinds[i]) == 0)
            train(kinds[i], 0, TRAININGS);
    if (word)
        return;
    if (vt_test_tiny()) {
        train(kinds[0], SAME_PROGRAM, SAME_PROGRAM + 1);
        return;
    }
    train(kinds[0], 0, SAME_PROGRAM);
    train(kinds[0], some, some + 1);
    train(kinds[1 + turn % (n - 1)], 0, 1);
}

/* A query's bits are the same with one fragment a sub-group, and with two. */
Test(attention_mma, fragments)
{
    const shape one = {.H = 2, .Tq = 31, .T = 17, .D = 64},
                two = {.H = 2, .Tq = 33, .T = 17, .D = 64};
    numbers x, y;
    float *a, *b;

    if (vt_test_tiny())
        return;
    vt_test_can_emulate();
    x = numbers_new(&one), y = numbers_new(&two);
    setenv("VITCL_MMA", "emulate", 1);
    a = run(&one, &x, 0, 1, VITCL_F16, "mma16 32x");
    b = run(&two, &y, 0, 1, VITCL_F16, "mma16 64x");
    unsetenv("VITCL_MMA");
    cr_expect_eq(memcmp(a, b, (size_t)(one.Tq * one.H * one.D) * sizeof *a), 0);
    free(a);
    free(b);
    numbers_free(&x);
    numbers_free(&y);
}

/* Other widths, short kernels and f32 keep the form in tiles. */
Test(attention_mma, refuses)
{
    static const struct {
        shape c;
        const char *word;
    } others[] = {
        {{.H = 1, .T = 3, .D = 20}, "emulate"},
        {{.H = 1, .T = 3, .D = 136}, "emulate"},
        {{.H = 1, .T = 3, .D = 104}, "emulate-dpas8"},
        {{.H = 1, .T = 3, .D = 32}, "off"},
    };

    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        numbers x = numbers_new(&others[i].c);

        setenv("VITCL_MMA", others[i].word, 1);
        free(run(&others[i].c, &x, 0, 1, VITCL_F16, "tiled"));
        unsetenv("VITCL_MMA");
        numbers_free(&x);
    }
}

/* ---- the trial ---- */

static const char *verdict(int kind, vt_dtype type, bool timed)
{
    const vt_mma_choice c = {.kind = kind, .emulated = true};
    const char *word = "none";

    vt_check(vt_trial_attention(&word, vt_test_device(), c, type, timed));
    return word;
}

Test(attention_mma, trial)
{
    char *folder;

    if (vt_test_tiny())
        return;
    cr_expect_str_eq(verdict(1, VT_F16, false), "right");
    cr_expect_str_eq(verdict(1, VT_BF16, false), "right");
    cr_expect_str_eq(verdict(1, VT_F16, true), "slower",
                     "an emulation is not faster");
    folder = vt_test_folder();
    vt_test_sources(vt_mma_subject(VT_MMA_ATTENTION, VT_F16));
    vt_test_mutant(folder, "attention_mma", "FACTOR, -base", "FACTOR, +base");
    setenv("VITCL_CL_DIR", folder, 1); /* another kind: not built before */
    cr_expect_str_eq(verdict(2, VT_F16, false), "wrong");
    unsetenv("VITCL_CL_DIR");
    vt_test_tidy();
}
