/*
 * test_locality.c - what the layers of a Vision Transformer may look at (the
 * paper's section 3.1), on the real kernels of both device classes: an MLP sees
 * one token, attention every token of its picture and none of another picture,
 * and neither knows the order of the tokens. A shift of the picture by a
 * ResNet stem's stride shifts its features, except at the border.
 */
#include "support/device.h"
#include "support/near.h"
#include "support/oneplan.h"
#include "support/rng.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { B = 2, T = 37, C = 24, WIDE = 52, HEADS = 3, N = B * T * C };

static float fc1[WIDE * C], fc2[C * WIDE], qkv[3 * C * C];

static vt_val dense(vt_fixture *f, vt_val x, const char *name, int n, int k,
                    const float *w, vt_act act)
{
    const vt_val v = vt_fixture_param(f, name, 2, (int[]){n, k}, w);

    return vt_linear(f->plan, x,
                     (vt_linear_args){.w = v,
                                      .b = VT_NONE,
                                      .scale = VT_NONE,
                                      .residual = VT_NONE,
                                      .act = act});
}

static vt_val mlp(vt_fixture *f, vt_val x)
{
    x = dense(f, x, "fc1", WIDE, C, fc1, VT_ACT_GELU);
    return dense(f, x, "fc2", C, WIDE, fc2, VT_ACT_NONE);
}

static vt_val attention(vt_fixture *f, vt_val x)
{
    x = dense(f, x, "qkv", 3 * C, C, qkv, VT_ACT_NONE);
    return vt_attention(f->plan, x,
                        (vt_attention_args){.heads = HEADS, .bias = VT_NONE});
}

typedef vt_val (*layer)(vt_fixture *f, vt_val x);

/* A plan of one layer, from x[B,T,C] to y[B,T,C]. */
typedef struct net {
    vt_fixture f;
    vt_val x, y;
} net;

static void net_open(net *n, vt_class class, layer build)
{
    vt_rng r = {5};

    vt_rng_fill(&r, fc1, WIDE * C, 0.3f, 0);
    vt_rng_fill(&r, fc2, C * WIDE, 0.3f, 0);
    /* small, so that every key counts for every query */
    vt_rng_fill(&r, qkv, 3 * C * C, 0.2f, 0);
    vt_fixture_open(&n->f, class, false);
    n->x = vt_input(n->f.plan, "x", VT_F32, 3, (int[]){B, T, C});
    n->y = build(&n->f, n->x);
    vt_keep(n->f.plan, n->y);
    vt_check(vt_plan_finish(n->f.plan));
}

static void net_run(net *n, float *y, const float *x)
{
    vt_check(vt_plan_write(n->f.plan, n->x, x, N * sizeof *x));
    vt_check(vt_plan_run(n->f.plan, 0));
    vt_check(vt_plan_read(n->f.plan, n->y, y, N));
}

static bool same_row(const float *a, const float *b, int row)
{
    return memcmp(a + row * C, b + row * C, C * sizeof *a) == 0;
}

/* Changes one number of one token, and counts the rows that change with it. */
static void check_reach(vt_class class, layer build, bool all)
{
    static const int tokens[] = {0, 17, T - 1};
    static float x[N], before[N], after[N];
    vt_rng r = {11};
    net n;

    net_open(&n, class, build);
    vt_rng_fill(&r, x, N, 1, 0);
    net_run(&n, before, x);
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
        const int changed = T + tokens[i]; /* of the second picture */
        const float kept = x[changed * C + 3];

        x[changed * C + 3] += 0.5f;
        net_run(&n, after, x);
        for (int row = 0; row < B * T; row++) {
            const bool seen = row == changed || (all && row >= T);

            cr_expect_eq(same_row(before, after, row), !seen,
                         "token %d of picture 1 %s token %d of picture %d",
                         tokens[i], seen ? "leaves" : "changes", row % T,
                         row / T);
        }
        x[changed * C + 3] = kept;
    }
    vt_fixture_close(&n.f);
}

/* Without positions, permuted tokens give permuted rows. Sums over keys are
 * made in another order, so the last bits may differ. */
static void check_order(vt_class class, layer build)
{
    static float x[N], moved[N], y[N], got[N];
    double largest = 0, worst = 0;
    vt_rng r = {12};
    net n;

    net_open(&n, class, build);
    vt_rng_fill(&r, x, N, 1, 0);
    for (int b = 0; b < B; b++)
        for (int t = 0; t < T; t++) /* 5 and T have no common divisor */
            memcpy(moved + (b * T + (5 * t + 2) % T) * C, x + (b * T + t) * C,
                   C * sizeof *x);
    net_run(&n, y, x);
    net_run(&n, got, moved);
    for (int b = 0; b < B; b++)
        for (int t = 0; t < T; t++)
            for (int c = 0; c < C; c++) {
                const double want = (double)y[(b * T + t) * C + c];
                const int at = b * T + (5 * t + 2) % T;

                largest = fmax(largest, fabs(want));
                worst = vt_worse(worst, fabs((double)got[at * C + c] - want));
            }
    cr_expect(worst <= 2e-6 * largest, "off by %g of %g", worst, largest);
    vt_fixture_close(&n.f);
}

Test(locality, an_mlp_sees_one_token)
{
    check_reach(VT_CLASS_CPU, mlp, false);
    check_reach(VT_CLASS_GPU, mlp, false);
}

Test(locality, attention_sees_every_token_of_its_picture)
{
    check_reach(VT_CLASS_CPU, attention, true);
    check_reach(VT_CLASS_GPU, attention, true);
}

Test(locality, no_layer_knows_the_order_of_tokens)
{
    check_order(VT_CLASS_CPU, mlp);
    check_order(VT_CLASS_GPU, mlp);
    check_order(VT_CLASS_CPU, attention);
    check_order(VT_CLASS_GPU, attention);
}

/* A ResNet's root: 7x7 with stride 2, then the largest of 3x3 with stride 2;
 * one feature for 4x4 pixels. */
enum { SIDE = 44, STRIDE = 4, CHANNELS = 6, OUT = 11 };

static void features(float *y, vt_class class, const float *x)
{
    static float w[CHANNELS * 3 * 7 * 7];
    vt_rng r = {6};
    vt_fixture f;
    vt_val in, v;

    vt_rng_fill(&r, w, sizeof w / sizeof *w, 1, 0);
    vt_fixture_open(&f, class, false);
    in = vt_input(f.plan, "x", VT_F32, 4, (int[]){1, 3, SIDE, SIDE});
    v = vt_fixture_param(&f, "conv", 4, (int[]){CHANNELS, 3, 7, 7}, w);
    v = vt_conv(f.plan, in, v, 2, 3, 3, 3, 3);
    v = vt_maxpool(f.plan, v, 3, 2, 1, 1, 1, 1);
    vt_keep(f.plan, v);
    vt_check(vt_plan_finish(f.plan));
    cr_assert_eq(vt_elements(f.plan, v), CHANNELS * OUT * OUT);
    vt_check(vt_plan_write(f.plan, in, x, 3 * SIDE * SIDE * sizeof *x));
    vt_check(vt_plan_run(f.plan, 0));
    vt_check(vt_plan_read(f.plan, v, y, CHANNELS * OUT * OUT));
    vt_fixture_close(&f);
}

static void check_shift(vt_class class)
{
    static float x[3 * SIDE * SIDE], moved[3 * SIDE * SIDE];
    static float y[CHANNELS * OUT * OUT], got[CHANNELS * OUT * OUT];
    vt_rng r = {13};
    double worst = 0, largest = 0;

    vt_rng_fill(&r, x, 3 * SIDE * SIDE, 1, 0);
    vt_rng_fill(&r, moved, 3 * SIDE * SIDE, 1, 0);
    for (int c = 0; c < 3; c++) /* down and to the right by one feature */
        for (int i = STRIDE; i < SIDE; i++)
            memcpy(moved + (c * SIDE + i) * SIDE + STRIDE,
                   x + (c * SIDE + i - STRIDE) * SIDE,
                   (SIDE - STRIDE) * sizeof *x);
    features(y, class, x);
    features(got, class, moved);
    /* A feature reads 5 pixels to each side of its first one. */
    for (int c = 0; c < CHANNELS; c++)
        for (int i = 3; i < OUT - 1; i++)
            for (int k = 3; k < OUT - 1; k++) {
                const double want = (double)y[(c * OUT + i - 1) * OUT + k - 1];
                const double is = (double)got[(c * OUT + i) * OUT + k];

                largest = fmax(largest, fabs(want));
                worst = vt_worse(worst, fabs(is - want));
            }
    cr_expect(worst <= 1e-5 * largest, "off by %g of %g", worst, largest);
}

Test(locality, a_shift_by_the_stride_shifts_features)
{
    check_shift(VT_CLASS_CPU);
    check_shift(VT_CLASS_GPU);
}
