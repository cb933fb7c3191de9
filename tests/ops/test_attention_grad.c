/*
 * test_attention_grad.c - gradients of q, k, v and the bias.
 */
#define _GNU_SOURCE /* pthread_setattr_default_np */
#include "ref/ref.h"
#include "support/attention.h"
#include "support/near.h"
#include "support/oneplan.h"
#include "support/rng.h"
#include "support/skip.h"

#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

/* in qkv, bias; arg: heads */
static vt_val build(vt_plan *p, const vt_val *in, const vt_case *c)
{
    return vt_attention(p, in[0],
                        (vt_attention_args){.heads = c->arg[0], .bias = in[1]});
}

static void ref(double *out, const double *const *in, const vt_case *c)
{
    const int *x = c->in[0].dim, C = x[2] / 3, D = C / c->arg[0];

    ref_heads(out, in[0], in[0] + C, in[0] + 2 * C, in[1], x[0], c->arg[0], D,
              x[1], x[1], 3 * C, 3 * C, 1 / sqrt(D), c->in[1].rank == 4);
}

/* in q, kv, bias; arg: heads */
static vt_val build_cross(vt_plan *p, const vt_val *in, const vt_case *c)
{
    return vt_attention_cross(
        p, in[0], in[1],
        (vt_attention_args){.heads = c->arg[0], .bias = in[2], .scale = 0.3f});
}

static void ref_cross(double *out, const double *const *in, const vt_case *c)
{
    const int *q = c->in[0].dim, *kv = c->in[1].dim, C = q[2];

    ref_heads(out, in[0], in[1], in[1] + C, in[2], q[0], c->arg[0],
              C / c->arg[0], q[1], kv[1], C, 2 * C, (double)0.3f,
              c->in[2].rank == 4);
}

#define QKV(B, T, C)                                                           \
    {                                                                          \
        .rank = 3, .dim = { B, T, 3 * C }                                      \
    }
#define BIAS(H, Tq, T)                                                         \
    {                                                                          \
        .rank = 3, .dim = {H, Tq, T}, .param = true                            \
    }

Test(attention_grad, self)
{
    static const vt_case cases[] = {
        {.name = "1 token of 1",
         .in = {QKV(1, 1, 1), {.none = true}},
         .arg = {1}},
        {.name = "2x5, 2 heads of 3",
         .in = {QKV(2, 5, 6), {.none = true}},
         .arg = {2}},
        {.name = "1x17, 1 head of 8",
         .in = {QKV(1, 17, 8), {.none = true}},
         .arg = {1}},
        {.name = "2x9, 3 heads of 5, bias",
         .in = {QKV(2, 9, 15), BIAS(3, 9, 9)},
         .arg = {3}},
        {.name = "2x9, 3 heads of 5, biases",
         .in = {QKV(2, 9, 15), {.rank = 4, .dim = {2, 3, 9, 9}, .param = true}},
         .arg = {3}},
        {.name = "1x35, 1 head of 20",
         .in = {QKV(1, 35, 20), {.none = true}},
         .arg = {1}},
        {.name = "1x6, 1 head of 64",
         .in = {QKV(1, 6, 64), {.none = true}},
         .arg = {1}},
        {0}};

    vt_check_ops(cases, build, ref);
}

Test(attention_grad, cross)
{
    static const vt_case cases[] = {{.name = "2x3 to 2x7, 2 heads of 4",
                                     .in = {{.rank = 3, .dim = {2, 3, 8}},
                                            {.rank = 3, .dim = {2, 7, 16}},
                                            {.none = true}},
                                     .arg = {2}},
                                    {.name = "1x19 to 1x2, bias",
                                     .in = {{.rank = 3, .dim = {1, 19, 6}},
                                            {.rank = 3, .dim = {1, 2, 12}},
                                            BIAS(2, 19, 2)},
                                     .arg = {2}},
                                    {0}};

    vt_check_ops(cases, build_cross, ref_cross);
}

/* in qkv; arg: heads, to, wide */
static vt_val build_axial(vt_plan *p, const vt_val *in, const vt_case *c)
{
    return vt_attention(p, in[0],
                        (vt_attention_args){.heads = c->arg[0],
                                            .bias = VT_NONE,
                                            .to = (vt_attention_to)c->arg[1],
                                            .wide = c->arg[2]});
}

static void ref_axial_case(double *out, const double *const *in,
                           const vt_case *c)
{
    const int *x = c->in[0].dim, D = x[2] / 3 / c->arg[0];

    ref_axial(out, in[0], x[0], c->arg[0], D, x[1], c->arg[2],
              c->arg[1] == VT_TO_COLUMNS);
}

/* Forward and backward over rows and columns, of grids where these differ. */
Test(attention_grad, axial)
{
    static const vt_case cases[] = {
        {.name = "rows of 2x3x5, 2 heads of 3",
         .in = {QKV(2, 15, 6)},
         .arg = {2, VT_TO_ROWS, 5}},
        {.name = "columns of 2x3x5, 2 heads of 3",
         .in = {QKV(2, 15, 6)},
         .arg = {2, VT_TO_COLUMNS, 5}},
        {.name = "rows of a row, 1x1x7",
         .in = {QKV(1, 7, 4)},
         .arg = {1, VT_TO_ROWS, 7}},
        {.name = "columns of a row, 1x1x7",
         .in = {QKV(1, 7, 4)},
         .arg = {1, VT_TO_COLUMNS, 7}},
        {.name = "columns of a column, 1x9x1, 3 heads of 5",
         .in = {QKV(1, 9, 15)},
         .arg = {3, VT_TO_COLUMNS, 1}},
        {.name = "columns of 1x19x2, 1 head of 8",
         .in = {QKV(1, 38, 8)},
         .arg = {1, VT_TO_COLUMNS, 2}},
        {.name = "rows of 1x2x19, 1 head of 8",
         .in = {QKV(1, 38, 8)},
         .arg = {1, VT_TO_ROWS, 19}},
        {0}};

    vt_check_ops(cases, build_axial, ref_axial_case);
}

/* Sizes of real models, too large for finite differences. */
static void check_long(vt_class class, int batch, int tokens, int heads,
                       int width, double size)
{
    const size_t B = (size_t)batch, T = (size_t)tokens, H = (size_t)heads;
    const size_t D = (size_t)width, C = H * D;
    const size_t n = B * T * 3 * C, m = B * T * C;
    float *x = malloc(n * sizeof *x), *g = malloc(m * sizeof *g);
    float *got = malloc(n * sizeof *got);
    double *want = calloc(n, sizeof *want);
    vt_rng r = {7};
    vt_fixture f;
    vt_val in, out, gradient, back;

    vt_rng_fill(&r, x, n, size, 0);
    for (size_t i = 0; i < n && size > 2; i++)
        x[i] = rintf(x[i]); /* so that large scores are exact */
    vt_rng_fill(&r, g, m, 1, 0);
    vt_fixture_open(&f, class, true);
    in = vt_fixture_param(&f, "qkv", 3,
                          (int[]){batch, tokens, 3 * heads * width}, x);
    out = vt_attention(f.plan, in,
                       (vt_attention_args){.heads = heads, .bias = VT_NONE});
    gradient = vt_input(f.plan, "gradient", VT_F32, 3,
                        (int[]){batch, tokens, heads * width});
    vt_plan_backward(f.plan, vt_seed_gradient(f.plan, out, gradient), vt_add);
    vt_check(vt_plan_finish(f.plan));
    vt_check(vt_plan_write(f.plan, gradient, g, m * sizeof *g));
    vt_check(vt_plan_run(f.plan, 0));
    back = vt_plan_find(f.plan, "grad.qkv");
    cr_assert_neq(back, VT_NONE);
    vt_check(vt_plan_read(f.plan, back, got, n));
    vt_test_qkv_grad(want, x, g, B, T, H, D);
    /* the larger the scores, the fewer bits their differences have */
    cr_expect(vt_near("dqkv", got, want, n, 1e-4,
                      (size > 2 ? 2e-5 : 1e-5) * vt_largest(want, n)),
              "class %d, %d heads of %d, %d tokens", (int)class, heads, width,
              tokens);
    vt_fixture_close(&f);
    free(x), free(g), free(got), free(want);
}

static const vt_class classes[] = {VT_CLASS_CPU, VT_CLASS_GPU};

Test(attention_grad, long)
{
    for (size_t i = 0; i < 2 && !vt_test_tiny(); i++)
        check_long(classes[i], 2, 197, 3, 64, 2);
}

/* Scores of several hundred, positive and negative: exp() of a score from which
 * the largest is not subtracted would be infinite. */
Test(attention_grad, far_apart)
{
    for (size_t i = 0; i < 2; i++)
        check_long(classes[i], 1, vt_test_tiny() ? 9 : 41, 2, 16, 14);
}

/* Heads of SigLIP's so400m and of ViT-H: the kernel has pairs of vectors, a
 * single one, and a remainder. */
Test(attention_grad, odd_widths)
{
    for (size_t i = 0; i < 2 && !vt_test_tiny(); i++) {
        check_long(classes[i], 1, 21, 2, 72, 2);
        check_long(classes[i], 1, 21, 2, 80, 2);
    }
}

/* in q, kv, bias; what inspection reads: the probabilities times their
 * gradient. By formulas in double. */
static void check_product(vt_class class)
{
    enum { B = 2, TQ = 3, T = 7, H = 2, D = 5, C = H * D };
    static const char *const keep[] = {"relevance.4", NULL};
    float q[B * TQ * C], kv[B * T * 2 * C], bias[H * TQ * T], g[B * TQ * C];
    float got[B * H * TQ * T];
    double want[B * H * TQ * T], p[T];
    vt_rng r = {11};
    vt_fixture f;
    vt_val x, gradient, product;

    vt_rng_fill(&r, q, B * TQ * C, 2, 0);
    vt_rng_fill(&r, kv, B * T * 2 * C, 2, 0);
    vt_rng_fill(&r, bias, H * TQ * T, 1, 0);
    vt_rng_fill(&r, g, B * TQ * C, 1, 0);
    vt_fixture_open_as(&f, (vt_plan_options){.device_class = class,
                                             .gemm = "plain",
                                             .backward = true,
                                             .train = true,
                                             .keep = keep});
    x = vt_attention_cross(
        f.plan, vt_fixture_param(&f, "q", 3, (int[]){B, TQ, C}, q),
        vt_fixture_param(&f, "kv", 3, (int[]){B, T, 2 * C}, kv),
        (vt_attention_args){
            .heads = H,
            .bias = vt_fixture_param(&f, "bias", 3, (int[]){H, TQ, T}, bias),
            .scale = 0.3f,
            .probs = "attention.4"});
    gradient = vt_input(f.plan, "gradient", VT_F32, 3, (int[]){B, TQ, C});
    vt_plan_backward(f.plan, vt_seed_gradient(f.plan, x, gradient), vt_add);
    vt_check(vt_plan_finish(f.plan));
    vt_check(vt_plan_write(f.plan, gradient, g, sizeof g));
    vt_check(vt_plan_run(f.plan, 0));
    product = vt_plan_find(f.plan, "relevance.4");
    cr_assert_neq(product, VT_NONE);
    vt_check(vt_plan_read(f.plan, product, got, B * H * TQ * T));
    for (int row = 0; row < B * H * TQ; row++) {
        const int b = row / (H * TQ), h = row / TQ % H, i = row % TQ;
        const float *qi = q + (b * TQ + i) * C + h * D;
        const float *gi = g + (b * TQ + i) * C + h * D;
        double all = 0;

        for (int j = 0; j < T; j++) {
            const float *k = kv + (b * T + j) * 2 * C + h * D, *v = k + C;
            double dp = 0;

            p[j] = (double)bias[(h * TQ + i) * T + j];
            for (int d = 0; d < D; d++) {
                p[j] += (double)0.3f * (double)qi[d] * (double)k[d];
                dp += (double)gi[d] * (double)v[d];
            }
            all += p[j] = exp(p[j]);
            want[row * T + j] = dp;
        }
        for (int j = 0; j < T; j++)
            want[row * T + j] *= p[j] / all;
    }
    cr_expect(vt_near("product", got, want, B * H * TQ * T, 1e-4,
                      1e-5 * vt_largest(want, B * H * TQ * T)),
              "class %d", (int)class);
    vt_fixture_close(&f);
}

Test(attention_grad, product)
{
    for (size_t i = 0; i < 2; i++)
        check_product(classes[i]);
}

/* Does the driver run a work-item's loops as they are, however long? */
static bool patient(void)
{
    vt_fixture f;
    bool yes;

    vt_fixture_open(&f, VT_CLASS_CPU, true);
    yes = vt_dev_long_items(vt_plan_settings(f.plan)->dev);
    vt_fixture_close(&f);
    return yes;
}

Test(attention_grad, longest)
{
    if (!patient())
        vt_skip("the driver cuts a work-item's loops short");
    for (size_t i = 0; i < 2 && !vt_test_tiny(); i++) {
        check_long(classes[i], 1, 257, 1, 256, 2);
        if (classes[i] == VT_CLASS_CPU) /* GPUs' tiles are the same as of 197 */
            check_long(classes[i], 1, 1025, 1, 64, 2);
    }
}

/* As with `ulimit -s`: the driver's threads get stacks of this size. */
static void with_stacks_of(size_t bytes)
{
    pthread_attr_t usual;

    cr_assert_eq(pthread_attr_init(&usual), 0);
    cr_assert_eq(pthread_attr_setstacksize(&usual, bytes), 0);
    cr_assert_eq(pthread_setattr_default_np(&usual), 0);
    pthread_attr_destroy(&usual);
}

Test(attention_grad, small_stacks)
{
    if (vt_test_tiny() || !patient())
        vt_skip("tiny, or the driver cuts a work-item's loops short");
    with_stacks_of(256 << 10);
    check_long(VT_CLASS_CPU, 1, 197, 2, 64, 2); /* no room for copies of keys */
    /* no room for a row of scores either */
    check_long(VT_CLASS_CPU, 1, 962, 1, 64, 2);
}

Test(attention_grad, middling_stacks)
{
    if (vt_test_tiny() || !patient())
        vt_skip("tiny, or the driver cuts a work-item's loops short");
    with_stacks_of(1 << 20);
    check_long(VT_CLASS_CPU, 1, 962, 1, 64, 2);
}
