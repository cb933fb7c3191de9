/*
 * test_gemm_mma.c - products on matrix units, with every vendor's instruction
 * emulated, against a reference in double: odd sizes, strides, epilogues,
 * storage in half, and a row alone with the same bits.
 *
 * All inputs are whole numbers of at most 127, and each row of A and column of
 * B has that one: rounding to f16, bf16 and int8 changes nothing and every sum
 * is exact. So an element in a wrong place is a wrong number, and int8 needs
 * the tolerance of its two steps only.
 *
 * With K in parts, the numbers have fractions and the order of the sums tells
 * in their bits, which are known: the emulated instructions add one product
 * after the other, each of them exact in f32.
 */
#include "base/half.h"
#include "product/state.h"
#include "ref/ref.h"
#include "support/device.h"
#include "support/oneplan.h"
#include "support/skip.h"
#include "trials/trials.h"
#include "units/matrix.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OK(x) cr_assert_eq((x), VITCL_OK, "%s", vt_message())
enum { GUARD = 64, TOP = 127 };

static uint32_t state = 7;

static int whole(int most)
{
    state = state * 1664525u + 1013904223u;
    return (int)((state >> 8) % (unsigned)(2 * most + 1)) - most;
}

/* rows x k, of stride ld; what lies between rows is NaN. */
static float *numbers(int rows, int k, int ld)
{
    float *x = malloc((size_t)rows * (size_t)ld * sizeof *x);

    for (int r = 0; r < rows; r++) {
        for (int i = 0; i < ld; i++)
            x[r * ld + i] = i < k ? (float)whole(TOP) : NAN;
        x[r * ld + r % k] = (float)TOP;
    }
    return x;
}

typedef struct operands {
    float *a, *b, *bias, *scale, *residual, *c;
} operands;

static void free_operands(const operands *o)
{
    free(o->a), free(o->b), free(o->bias), free(o->scale), free(o->residual);
    free(o->c);
}

/* C of d into o->c, from the rows `from` on. */
static void multiply(const vt_gemm_desc *d, const operands *o, int from,
                     const char *kind)
{
    vt_dev *dev = vt_test_device();
    vt_queue *q = vt_test_queue();
    const int rows = d->batch * d->M;
    const size_t n = (size_t)d->N, c = (size_t)(rows * d->ldc) + GUARD;
    vt_gemm_bufs bufs = {
        .a = vt_test_floats(o->a + from * d->lda, (size_t)(rows * d->lda)),
        .c = vt_test_floats(NULL, c),
        .bias = vt_test_floats(o->bias, n),
        .scale = vt_test_floats(o->scale, n),
        .residual = vt_test_floats(o->residual + from * d->ldc,
                                   (size_t)(rows * d->ldc))};
    vt_buf *b = vt_test_floats(o->b, n * (size_t)d->K);
    const vt_product x = vt_test_product("native", d);
    vt_gemm *g = NULL;

    OK(vt_buf_new(&bufs.b, dev, x.packed_bytes));
    OK(vt_buf_fill(q, bufs.b, 0x7fc07fc0u));
    OK(vt_product_pack(q, &x, bufs.b, b));
    if (x.temp_bytes) {
        OK(vt_buf_new(&bufs.temp, dev, x.temp_bytes));
        OK(vt_buf_fill(q, bufs.temp, 0x7fc00000u));
    }
    OK(vt_product_bind(&g, dev, &x, &bufs));
    cr_assert(strstr(vt_gemm_describe(g), kind), "%s", vt_gemm_describe(g));
    OK(vt_gemm_launch(q, g));
    vt_test_read(o->c, bufs.c, c);
    vt_gemm_free(g);
    vt_buf_free(b);
    vt_buf_free(bufs.a), vt_buf_free(bufs.b), vt_buf_free(bufs.c);
    vt_buf_free(bufs.bias), vt_buf_free(bufs.scale);
    vt_buf_free(bufs.residual), vt_buf_free(bufs.temp);
}

static double expected(const vt_gemm_desc *d, const operands *o, int m, int n)
{
    double v = d->bias ? (double)o->bias[n] : 0;

    for (int k = 0; k < d->K; k++)
        v += (double)o->a[m * d->lda + k] * (double)o->b[n * d->K + k];
    v = ref_act(v, (int)d->act) * (d->scale ? (double)o->scale[n] : 1);
    return v + (d->residual ? (double)o->residual[m * d->ldc + n] : 0);
}

static void check(const vt_gemm_desc *d, const char *kind)
{
    const int rows = d->batch * d->M;
    const size_t all = (size_t)(rows * d->ldc) + GUARD;
    const operands o = {.a = numbers(rows, d->K, d->lda),
                        .b = numbers(d->N, d->K, d->K),
                        .bias = numbers(1, d->N, d->N),
                        .scale = numbers(1, d->N, d->N),
                        .residual = numbers(rows, d->N, d->ldc),
                        .c = malloc(all * sizeof(float))};
    float *first = malloc(all * sizeof *first);
    vt_gemm_desc one = *d;
    int wrong = 0;

    vt_test_divide(true);
    multiply(d, &o, 0, kind);
    vt_test_divide(false);
    memcpy(first, o.c, all * sizeof *first);
    for (size_t i = 0; i < all; i++) {
        const int m = (int)i / d->ldc, n = (int)i % d->ldc;

        if (m >= rows || n >= d->N) {
            wrong += !isnan(first[i]); /* nothing is written there */
        } else {
            const double want = expected(d, &o, m, n);

            wrong +=
                !(fabs((double)first[i] - want) <= 4e-7 * fabs(want) + 1e-3);
        }
    }
    cr_expect_eq(wrong, 0, "%s, type %s, %dx%dx%d: %d elements are wrong", kind,
                 vt_dtype_name(d->type), rows, d->N, d->K, wrong);
    /* the last row alone, and so a second time */
    one.batch = one.M = 1;
    multiply(&one, &o, rows - 1, kind);
    cr_expect_eq(
        memcmp(o.c, first + (rows - 1) * d->ldc, (size_t)d->N * sizeof *first),
        0, "%s, type %s: other bits in a row alone", kind,
        vt_dtype_name(d->type));
    free_operands(&o);
    free(first);
}

/* Past the edges of tiles, with a tail of k; three strips or more go around all
 * stages. */
static const vt_gemm_desc all = {.batch = 3,
                                 .M = 12,
                                 .N = 37,
                                 .K = 131,
                                 .lda = 135,
                                 .ldb = 131,
                                 .ldc = 41,
                                 .bias = true,
                                 .scale = true,
                                 .residual = true,
                                 .act = VT_ACT_RELU,
                                 .b_packed = true,
                                 .device_class = VT_CLASS_GPU};

static void try_kind(const char *kind, vt_dtype type)
{
    vt_gemm_desc d = all;

    vt_test_emulate(kind);
    d.type = type;
    if (vt_test_tiny())
        d.batch = 2, d.M = 2, d.N = 3;
    check(&d, kind);
    unsetenv("VITCL_MMA");
}

/* PoCL compiles each for four seconds, so only a few are usual; with
 * VITCL_TEST_MMA=all, every kind in every type. */
static const struct {
    const char *kind;
    vt_dtype type;
    bool usual;
} tries[] = {
    {"mma16", VT_F16, true},     {"mma16", VT_BF16, false},
    {"mma16", VT_I8, true},      {"mma8", VT_F16, false},
    {"mma8", VT_I8, false},      {"wmma11", VT_F16, true},
    {"wmma11", VT_BF16, false},  {"wmma11", VT_I8, false},
    {"wmma12", VT_F16, false},   {"wmma12", VT_BF16, false},
    {"wmma12", VT_I8, false},    {"mfma90a", VT_F16, false},
    {"mfma90a", VT_BF16, false}, {"mfma90a", VT_I8, false},
    {"mfma942", VT_F16, false},  {"mfma942", VT_BF16, true},
    {"mfma942", VT_I8, false},   {"dpas8", VT_F16, true},
    {"dpas8", VT_BF16, false},   {"dpas8", VT_I8, false},
    {"dpas16", VT_F16, false},   {"dpas16", VT_BF16, false},
    {"dpas16", VT_I8, true},     {"dot8", VT_I8, true},
    {"dot2", VT_F16, true},
};

Test(gemm_mma, emulated)
{
    const bool every = getenv("VITCL_TEST_MMA") != NULL;
    const size_t n = vt_test_tiny() ? 1 : sizeof tries / sizeof *tries;

    for (size_t i = 0; i < n; i++)
        if (every || tries[i].usual)
            try_kind(tries[i].kind, tries[i].type);
}

/* ---- NVIDIA's groups of sub-groups ---- */

static int differing(const float *c, const vt_gemm_desc *d, const operands *o)
{
    int wrong = 0;

    for (int m = 0; m < d->M; m++)
        for (int n = 0; n < d->N; n++) {
            const double want = expected(d, o, m, n);

            wrong += !(fabs((double)c[m * d->ldc + n] - want) <=
                       4e-7 * fabs(want) + 1e-3);
        }
    return wrong;
}

/* In rows that may be read and stored 16 bytes at a time, or in others. */
static void try_groups(vt_dtype type, int odd, const char *name)
{
    const bool tiny = vt_test_tiny();
    vt_gemm_desc d = all;
    operands o;

    d.batch = 1, d.M = tiny ? 2 : 150;
    d.N = (tiny ? 8 : 136) + odd, d.K = (tiny ? 40 : 136) + odd;
    d.lda = d.ldb = d.K, d.ldc = d.N, d.type = type;
    o = (operands){.a = numbers(d.M, d.K, d.lda),
                   .b = numbers(d.N, d.K, d.K),
                   .bias = numbers(1, d.N, d.N),
                   .scale = numbers(1, d.N, d.N),
                   .residual = numbers(d.M, d.N, d.ldc),
                   .c = calloc((size_t)(d.M * d.ldc) + GUARD, sizeof(float))};
    vt_test_emulate("wgmma");
    multiply(&d, &o, 0, name);
    cr_expect_eq(differing(o.c, &d, &o), 0, "%s %s, odd %d: %d are wrong", name,
                 vt_dtype_name(d.type), odd, differing(o.c, &d, &o));
    unsetenv("VITCL_MMA");
    free_operands(&o);
}

Test(gemm_mma, wgmma)
{
    const char *verdict = "";
    const bool tiny = vt_test_tiny();

    vt_product_state_of(vt_test_device())->units = 1; /* one tile is enough */
    for (int odd = 0; odd < (tiny ? 1 : 2); odd++)
        for (int type = VT_F16; type <= (odd || tiny ? VT_F16 : VT_I8); type++)
            try_groups((vt_dtype)type, odd, "wgmma 64x128");
    vt_product_state_of(vt_test_device())->units = 0;
    /* its tile needs 36 KiB; a product with less takes small tiles */
    if (tiny || vt_dev_info(vt_test_device())->local_bytes < 36 << 10)
        return;
    vt_test_emulate("wgmma");
    for (int i = 0; i < 2; i++) {
        OK(vt_trial_groups(&verdict, vt_test_device(),
                           (vt_mma_choice){VT_MMA_16, .emulated = true},
                           i ? VT_I8 : VT_BF16));
        cr_expect_str_eq(verdict, "right");
    }
    vt_test_sources(vt_mma_subject(VT_MMA_GROUPS, VT_BF16));
    unsetenv("VITCL_MMA");
}

/* ---- the peak ---- */

enum { ITEMS = 256, ROUNDS = 3 };

/* Half of a word of its factors, in bf16. */
static double factor(int lid, int i)
{
    return (double)vt_bf16_to_f32(
        (uint16_t)(0x3c00u ^ (unsigned)(lid * 7 + i) % 64u));
}

/* The sums of all elements of what the instructions of a work-group add up, by
 * the layouts that PTX describes: a word has its two halves alike. */
static double of_fragments(void)
{
    double total = 0;

    for (int first = 0; first < ITEMS; first += 32) {
        double a[8] = {0}, b[8] = {0};

        for (int l = 0; l < 32; l++) {
            for (int r = 0; r < 4; r++)
                a[l % 4 + 4 * (r / 2)] += factor(first + l, r);
            for (int r = 0; r < 2; r++)
                b[l % 4 + 4 * r] += factor(first + l, r + 5);
        }
        for (int k = 0; k < 8; k++)
            total += 2 * a[k] * b[k];
    }
    return total;
}

static double of_groups(void)
{
    double a[4] = {0}, b[4] = {0}, total = 0;

    for (int at = 0; at < 64 * 4; at++)
        a[at % 4 ^ (at / 8 & 3)] += factor(at, at);
    for (int at = 0; at < 128 * 4; at++)
        b[at % 4 ^ (at / 8 & 3)] += factor(at % ITEMS, at + 5);
    for (int c = 0; c < 4; c++)
        total += 4 * 2 * a[c] * b[c];
    return ITEMS / 128 * total;
}

static void try_peak(const char *defines, double one, int elements)
{
    vt_kernel *k = NULL;
    vt_buf *sink = vt_test_floats(NULL, ITEMS);
    float got[ITEMS];
    double sum = 0, want = ROUNDS * one + 0.5 * elements;

    OK(vt_kernel_new(&k, vt_test_device(), "peak_mma", "peak_mma", defines));
    OK(vt_kernel_buf(k, 0, sink));
    OK(vt_kernel_int(k, 1, ROUNDS));
    OK(vt_kernel_float(k, 2, 0.5f));
    vt_kernel_size(k, 1, (size_t[3]){ITEMS, 1, 1}, (size_t[3]){ITEMS, 1, 1});
    OK(vt_kernel_launch(vt_test_queue(), k));
    vt_test_read(got, sink, ITEMS);
    for (int i = 0; i < ITEMS; i++)
        sum += (double)got[i];
    cr_expect(fabs(sum - want) <= 1e-5 * want, "%s: %g, not %g", defines, sum,
              want);
    vt_kernel_free(k);
    vt_buf_free(sink);
}

/* Does it multiply at all, so often? How fast only a unit can tell. */
Test(gemm_mma, peak)
{
    if (vt_test_tiny())
        return;
    try_peak("-DKIND=1 -DEMULATE -DTYPE=1 -DFM=1 -DFN=1", of_fragments(),
             ITEMS * 4);
    try_peak("-DKIND=1 -DEMULATE -DWGMMA -DTYPE=1 -DFM=1 -DFN=16", of_groups(),
             ITEMS * 64);
}

/* ---- without a matrix unit ---- */

/* Without an epilogue, in this type alone. */
static void without_unit(const char *kind, vt_dtype type, vt_dtype other)
{
    vt_dev *dev = vt_test_device();
    const bool tiny = vt_test_tiny();
    const vt_gemm_desc d = {.batch = tiny ? 1 : 7,
                            .M = tiny ? 2 : 11,
                            .N = 69,
                            .K = 67,
                            .lda = 67,
                            .ldb = 67,
                            .ldc = 69,
                            .type = type,
                            .b_packed = true,
                            .device_class = VT_CLASS_GPU};

    vt_test_emulate(kind);
    cr_assert_eq(vt_mma_ask(dev, other).kind, VT_MMA_NONE);
    cr_assert_eq(vt_mma_ask_training(dev).kind, VT_MMA_NONE);
    check(&d, kind);
}

/* And in a trial, in large tiles by the instruction or what the compiler has
 * for it. */
Test(gemm_mma, dot8)
{
    const char *verdict = "";

    without_unit("dot8", VT_I8, VT_F16);
    unsetenv("VITCL_MMA");
    if (vt_test_tiny())
        return;
    OK(vt_trial_unit(&verdict, vt_test_device(), "dot8", VT_I8, false));
    vt_test_sources(vt_mma_subject(VT_MMA_PRODUCT, VT_I8));
    cr_assert_str_eq(verdict, "right");
}

Test(gemm_mma, dot2)
{
    without_unit("dot2", VT_F16, VT_I8);
    unsetenv("VITCL_MMA");
}

/* ---- K in parts ---- */

enum { PARTS = 3, UNITS = 6, PART_TERMS = 64 };

/* Multiples of 2^-10 below 1, or of 8 bits with several exponents, for bf16. */
static float *fractions(int n, vt_dtype type)
{
    float *x = malloc((size_t)n * sizeof *x);

    for (int i = 0; i < n; i++)
        x[i] = type == VT_F16 ? (float)whole(1023) / 1024
                              : (float)whole(TOP) / (float)(1 << (7 + i % 5));
    return x;
}

static operands fractional(const vt_gemm_desc *d, vt_dtype type)
{
    const int rows = d->batch * d->M;

    return (operands){
        .a = fractions(rows * d->lda, type),
        .b = fractions(d->N * d->K, type),
        .bias = fractions(d->N, VT_F16),
        .scale = fractions(d->N, VT_F16),
        .residual = fractions(rows * d->ldc, VT_F16),
        .c = malloc((size_t)(rows * d->ldc + GUARD) * sizeof(float))};
}

/* The bits of an element: the sum of each part from zero, then these. */
static float in_parts(const vt_gemm_desc *d, const operands *o, int m, int n)
{
    float all_parts = 0, part = 0;

    for (int k = 0; k < d->K; k++) {
        const float x = o->a[m * d->lda + k], y = o->b[n * d->K + k];

        part = fmaf(x, y, part);
        if ((k + 1) % PART_TERMS == 0 || k + 1 == d->K) {
            all_parts += part;
            part = 0;
        }
    }
    all_parts += o->bias[n];
    return all_parts + o->residual[m * d->ldc + n];
}

static int wrong_bits(const vt_gemm_desc *d, const operands *o)
{
    int wrong = 0;

    for (int m = 0; m < d->batch * d->M; m++)
        for (int n = 0; n < d->N; n++) {
            const float want = in_parts(d, o, m, n);

            wrong += memcmp(&o->c[m * d->ldc + n], &want, sizeof want) != 0;
        }
    return wrong;
}

/* One picture has too few tiles for UNITS processors, all have enough. */
static void check_parts(const char *kind, vt_dtype type)
{
    vt_product_state *g = vt_product_state_of(vt_test_device());
    vt_gemm_desc d = all;
    operands o;

    d.type = type;
    d.batch = 9, d.M = 13, d.scale = false, d.act = VT_ACT_NONE;
    if (vt_test_tiny())
        d.M = 2, d.N = 3;
    o = fractional(&d, type);
    vt_test_emulate(kind);
    g->parts = PARTS, g->units = vt_test_tiny() ? 2 : UNITS;
    if (!vt_test_tiny()) {
        multiply(&d, &o, 0, "3 parts");
        cr_expect_eq(wrong_bits(&d, &o), 0, "%s, all pictures", kind);
    }
    d.batch = 1;
    multiply(&d, &o, 0, "parts at once");
    cr_expect_eq(wrong_bits(&d, &o), 0, "%s, one picture", kind);
    g->parts = g->units = 0;
    unsetenv("VITCL_MMA");
    free_operands(&o);
}

Test(gemm_mma, parts)
{
    const bool every = getenv("VITCL_TEST_MMA") != NULL;

    check_parts("mma16", VT_F16);
    for (size_t i = 1; i < sizeof tries / sizeof *tries && !vt_test_tiny(); i++)
        if (tries[i].type != VT_I8 && (every || tries[i].usual))
            check_parts(tries[i].kind, tries[i].type);
}

/* In a plan of so many pictures, the result of the first one. */
static void first_of(float *out, int batch, bool any_batch, const float *x,
                     const float *w)
{
    enum { ROWS = 8, N = 16, K = 192 };
    vt_product_state *g = vt_product_state_of(vt_test_device());
    vt_fixture f;
    vt_val in, y;

    g->parts = PARTS, g->units = 2; /* of which one picture has a tile */
    vt_fixture_open_as(&f, (vt_plan_options){.device_class = VT_CLASS_GPU,
                                             .precision = VITCL_F16,
                                             .gemm = "native",
                                             .any_batch = any_batch});
    in = vt_input(f.plan, "x", VT_F32, 3, (int[]){batch, ROWS, K});
    y = vt_linear(
        f.plan, in,
        (vt_linear_args){.w = vt_fixture_param(&f, "w", 2, (int[]){N, K}, w),
                         .b = VT_NONE,
                         .scale = VT_NONE,
                         .residual = VT_NONE});
    vt_keep(f.plan, y);
    OK(vt_plan_finish(f.plan));
    OK(vt_plan_write(f.plan, in, x, (size_t)batch * ROWS * K * sizeof(float)));
    OK(vt_plan_run(f.plan, 0));
    OK(vt_plan_read(f.plan, y, out, (size_t)batch * ROWS * N));
    vt_fixture_close(&f);
    g->parts = g->units = 0;
}

/* wgmma adds all terms in turn, small tiles add them in parts: other bits,
 * unless a plan is to have those of any batch. */
Test(gemm_mma, any_batch)
{
    enum { BATCH = 16, EACH = 8 * 16 };
    float *x = fractions(BATCH * 8 * 192, VT_F16);
    float *w = fractions(16 * 192, VT_F16);
    float one[EACH], many[BATCH * EACH];

    if (!vt_test_tiny() &&
        vt_dev_info(vt_test_device())->local_bytes >= 36 << 10) {
        vt_test_emulate("wgmma");
        first_of(one, 1, true, x, w);
        first_of(many, BATCH, true, x, w);
        cr_expect_eq(memcmp(one, many, sizeof one), 0, "asked for, and not so");
        first_of(one, 1, false, x, w);
        first_of(many, BATCH, false, x, w);
        cr_expect_neq(memcmp(one, many, sizeof one), 0,
                      "no wgmma: the test sees nothing");
        unsetenv("VITCL_MMA");
    }
    free(x), free(w);
}

/* Whole numbers: no order of their sums changes a bit. */
Test(gemm_mma, parts_of_int8)
{
    vt_product_state *g = vt_product_state_of(vt_test_device());

    g->parts = PARTS, g->units = UNITS;
    if (!vt_test_tiny())
        try_kind("mma16", VT_I8);
    g->parts = g->units = 0;
}

/* A picture's sums and GELU, by the unit's own epilogue and by that of
 * gemm_sum.cl. Without EMULATE both multiply by the device's reciprocal. */
Test(gemm_mma, parts_of_dots)
{
    vt_product_state *g = vt_product_state_of(vt_test_device());
    vt_gemm_desc d = all;
    operands o;
    float *many;

    if (vt_test_tiny())
        return;
    if (strstr(vt_dev_info(vt_test_device())->platform, "Intel"))
        vt_skip("Intel's compiler for processors rounds two kernels unlike");
    d.type = VT_I8, d.act = VT_ACT_GELU, d.batch = 9, d.M = 13;
    o = fractional(&d, VT_F16);
    many = malloc((size_t)(d.M * d.ldc) * sizeof *many);
    setenv("VITCL_MMA", "dot8", 1);
    vt_test_class(VT_CLASS_GPU);
    g->parts = PARTS, g->units = 2; /* of which one picture has a tile */
    multiply(&d, &o, 0, "3 parts");
    memcpy(many, o.c, (size_t)(d.M * d.ldc) * sizeof *many);
    d.batch = 1;
    multiply(&d, &o, 0, "parts at once");
    for (int m = 0; m < d.M; m++)
        cr_expect_eq(memcmp(many + m * d.ldc, o.c + m * d.ldc,
                            (size_t)d.N * sizeof *many),
                     0, "row %d", m);
    g->parts = g->units = 0;
    unsetenv("VITCL_MMA"), free_operands(&o), free(many);
}
