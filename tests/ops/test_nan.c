/*
 * test_nan.c - any NaN bit pattern stays NaN: softmax, maximum, length, matrix
 * products in every precision. Results that do not depend on it stay finite.
 */
#include "ops/ops.h"
#include "support/device.h"
#include "support/oneplan.h"
#include "support/rng.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The usual NaN, other positive ones, negative ones, and a signalling one. */
static const uint32_t nans[] = {0x7fc00000, 0x7fc00001, 0x7fc0dead, 0x7fffffff,
                                0xffc00000, 0xffc00101, 0x7f800001};
#define NANS (vt_test_tiny() ? 3u : sizeof nans / sizeof *nans)

static float number(uint32_t bits)
{
    float f;

    memcpy(&f, &bits, sizeof f);
    return f;
}

static float *numbers(size_t n)
{
    vt_rng r = {11};
    float *x = malloc(n * sizeof *x);

    vt_rng_fill(&r, x, n, 1, 0);
    return x;
}

/* Every number of row `bad` is NaN, and none of the others. */
static void expect(const char *what, uint32_t bits, const float *x, int rows,
                   int width, int bad)
{
    int wrong = 0;

    for (int r = 0; r < rows; r++)
        for (int i = 0; i < width; i++)
            wrong += (isnan(x[r * width + i]) != 0) != (r == bad);
    cr_expect_eq(wrong, 0, "%s, NaN %08x: %d elements are wrong", what, bits,
                 wrong);
}

/* Query 3's bias towards key 1. */
static void attention(vt_class class, uint32_t bits)
{
    enum { T = 21, C = 16 };
    static const char *const keep[] = {"probs", NULL};
    const vt_plan_options o = {
        .dev = vt_test_device(), .device_class = class, .keep = keep};
    float *qkv = numbers(T * 3 * C), *b = numbers(T * T), out[T * C],
          probs[T * T];
    vt_plan *p = NULL;
    vt_val x, bias, y;

    b[3 * T + 1] = number(bits);
    vt_test_class(class);
    vt_check(vt_plan_new(&p, &o));
    x = vt_input(p, "qkv", VT_F32, 3, (int[]){1, T, 3 * C});
    bias = vt_input(p, "bias", VT_F32, 3, (int[]){1, T, T});
    y = vt_attention(
        p, x, (vt_attention_args){.heads = 1, .bias = bias, .probs = "probs"});
    vt_keep(p, y);
    vt_check(vt_plan_finish(p));
    vt_check(vt_plan_write(p, x, qkv, T * 3 * C * 4));
    vt_check(vt_plan_write(p, bias, b, T * T * 4));
    vt_check(vt_plan_run(p, 0));
    vt_check(vt_plan_read(p, y, out, T * C));
    vt_check(vt_plan_read(p, vt_plan_find(p, "probs"), probs, T * T));
    expect("attention", bits, out, T, C, 3);
    expect("probabilities", bits, probs, T, T, 3);
    vt_plan_free(p);
    free(qkv);
    free(b);
}

Test(nan, attention)
{
    for (size_t i = 0; i < NANS; i++)
        for (vt_class c = VT_CLASS_CPU; c <= VT_CLASS_GPU; c++)
            attention(c, nans[i]);
}

/* A NaN in row 2, or in picture 2 of a maximum over tokens. */
static void rows(const char *what, vt_val (*op)(vt_plan *p, vt_val x), int rank,
                 uint32_t bits, int at)
{
    enum { B = 4, T = 3, C = 19 };
    const vt_plan_options o = {.dev = vt_test_device()};
    const int width = rank == 3 ? T * C : C;
    float *in = numbers((size_t)(B * width)), *out;
    int wrong = 0;
    vt_plan *p = NULL;
    vt_val x, y;

    in[2 * width + at] = number(bits);
    vt_check(vt_plan_new(&p, &o));
    x = rank == 3 ? vt_input(p, "x", VT_F32, 3, (int[]){B, T, C})
                  : vt_input(p, "x", VT_F32, 2, (int[]){B, C});
    y = op(p, x);
    vt_keep(p, y);
    vt_check(vt_plan_finish(p));
    vt_check(vt_plan_write(p, x, in, (size_t)(B * width) * 4));
    vt_check(vt_plan_run(p, 0));
    out = malloc(B * C * 4);
    vt_check(vt_plan_read(p, y, out, B * C));
    for (int i = 0; i < B * C; i++)
        wrong += (isnan(out[i]) != 0) !=
                 (i / C == 2 && (rank == 2 || i % C == at % C));
    cr_expect_eq(wrong, 0, "%s, NaN %08x at %d: %d elements are wrong", what,
                 bits, at, wrong);
    vt_plan_free(p);
    free(in);
    free(out);
}

static vt_val most(vt_plan *p, vt_val x)
{
    return vt_pool(p, x, VT_POOL_MAX, 0);
}

Test(nan, rows)
{
    for (size_t i = 0; i < NANS; i++) {
        rows("maximum", most, 3, nans[i], 0); /* of the first token */
        rows("maximum", most, 3, nans[i], 19 + 3);
        rows("maximum", most, 3, nans[i], 38 + 18); /* beyond whole vectors */
    }
}

/* A x B^T with a NaN in A's row 2 or B's row 2: C's row 2, or column 2. */
static void product(const char *provider, vt_class class, vt_dtype type,
                    bool in_a, uint32_t bits)
{
    enum { M = 9, N = 35, K = 37 };
    const vt_gemm_desc d = {.M = M,
                            .N = N,
                            .K = K,
                            .type = type,
                            .b_packed = true,
                            .device_class = class};
    vt_dev *dev = vt_test_device();
    vt_queue *q = vt_test_queue();
    float *a = numbers(M * K), *b = numbers(N * K), c[M * N], turned[M * N];
    vt_gemm_bufs bufs = {.c = NULL};
    vt_gemm *g = NULL;
    vt_buf *plain;
    vt_product x;
    char what[96];

    vt_test_class(class);
    (in_a ? a : b)[2 * K + 20] = number(bits);
    bufs.a = vt_test_floats(a, M * K);
    bufs.c = vt_test_floats(NULL, M * N);
    plain = vt_test_floats(b, N * K);
    x = vt_test_product(provider, &d);
    vt_check(vt_buf_new(&bufs.b, dev, x.packed_bytes));
    vt_check(vt_product_pack(q, &x, bufs.b, plain));
    if (x.temp_bytes)
        vt_check(vt_buf_new(&bufs.temp, dev, x.temp_bytes));
    vt_check(vt_product_bind(&g, dev, &x, &bufs));
    vt_check(vt_gemm_launch(q, g));
    vt_check(vt_queue_finish(q));
    vt_test_read(c, bufs.c, M * N);
    snprintf(what, sizeof what, "%s in %s, %s", vt_gemm_describe(g),
             vt_dtype_name(type), in_a ? "A" : "B");
    if (in_a) {
        expect(what, bits, c, M, N, 2);
    } else {
        for (int i = 0; i < M * N; i++)
            turned[i % N * M + i / N] = c[i];
        expect(what, bits, turned, N, M, 2);
    }
    vt_gemm_free(g);
    vt_buf_free(bufs.a);
    vt_buf_free(bufs.b);
    vt_buf_free(bufs.c);
    vt_buf_free(bufs.temp);
    vt_buf_free(plain);
    free(a);
    free(b);
}

Test(nan, products)
{
    static const char *const providers[] = {"native", "clblast", "plain"};
    const char *name;

    for (size_t i = 0; i < 3; i++) {
        if (vt_product_provider(&name, vt_test_device(), providers[i]) ||
            (vt_test_tiny() && i == 1)) /* a simulator is for our own kernels */
            continue;
        for (int type = VT_F32; type <= VT_I8; type++)
            for (size_t n = 0; n < NANS; n++) {
                product(name, VT_CLASS_CPU, (vt_dtype)type, true, nans[n]);
                product(name, VT_CLASS_CPU, (vt_dtype)type, false, nans[n]);
            }
    }
}
