/*
 * test_gemm_f16.c - f16 by AVX512-FP16's vfmadd231ph, which adds in 16 bits.
 * The instruction is written in C by an edit of the kernels, so that the rest
 * runs on any processor with PoCL; where the processor has it, it runs, too.
 * tests/ops/assembly.sh compiles the instruction.
 *
 * Exact products: every 64 terms are whole numbers up to 5; or of a row, or of
 * a column, all but one are -1, 0 or 1, and that one needs more than 11 bits,
 * as often between two halves as not. Then no sum of 64 exceeds 2048 but by
 * that one, and rounding the operands is all that loses bits.
 */
#include "support/device.h"
#include "support/oneplan.h"
#include "support/pictures.h"
#include "support/rng.h"
#include "support/skip.h"
#include "trials/trials.h"
#include "units/dots.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OK(x) cr_assert_eq((x), VITCL_OK, "%s", vt_message())

enum { PART = 64 };

/* ---- the instruction, or C in its place ---- */

#define LANE(x) "(double)vload_half(lane, (half *)\\&(" x "))"
#define OF_A(i) "(double)vload_half(" i ", (global const half *)(p))"
/* Lane `to` of s is computed from the lane's weight. */
#define ADD(to, sum)                                                           \
    "for (int lane = 0; lane < 32; lane++) "                                   \
    "vstore_half_rte(" sum ", " to ", (half *)\\&(s))"
static const char right[] =
    ADD("lane", LANE("w") " * " OF_A("0") " + " LANE("s"));
static const char *const mutants[] = {
    ADD("lane", LANE("s") " * " OF_A("0") " + " LANE("w")),
    ADD("lane", LANE("w") " * " OF_A("1") " + " LANE("s")),
    ADD("lane", LANE("w") " * " OF_A("0")),
    ADD("lane ^ 1", LANE("w") " * " OF_A(
                        "0") " + "
                             "(double)vload_half(lane ^ 1, (half *)\\&(s))"),
};

/* With code NULL the instruction itself. False: not with this driver and
 * processor. No product calls gemm_dot.cl's function of the instruction, which
 * compilers refuse where vectors of 512 bits are missing. */
static bool begin(const char **folder, const char *code)
{
    static const char edit[] =
        "cp -r '%s/../../cl' '%s' && cd '%s/cl' && "
        "sed -i 's/__attribute__((target(\"avx512fp16\")))//; "
        "s/__asm__(\"vfmadd231ph .*/(void)x, (void)w;/' gemm_dot.cl && "
        "sed -i 's/__asm__(\"vfmadd231ph .*/%s/; "
        "s/__asm__(\"vcvtph2ps .*/do { const int8 y = x; "
        "f = vload_half16(0, (const half *)\\&y); } while (0)/' "
        "common_halves.cl && "
        "! grep -q '__asm__(' common_halves.cl";
    char text[2048];
    vt_dev *dev;

    *folder = vt_test_folder();
    if (code) {
        snprintf(text, sizeof text, edit, VT_DATA, *folder, *folder, code);
        cr_assert_eq(system(text), 0);
        snprintf(text, sizeof text, "%s/cl", *folder);
        setenv("VITCL_CL_DIR", text, 1);
    }
    dev = vt_test_device();
    if (vt_dev_class(dev) != VT_CLASS_CPU || vt_test_tiny() ||
        strcmp(vt_dev_info(dev)->platform, "Portable Computing Language") != 0)
        return false;
    vt_dot_use(dev, VT_F16, VT_DOT_F16);
    return code || vt_dot_here(VT_DOT_F16);
}

static void end(const char *folder, bool ran)
{
    vt_test_remove(folder);
    if (!ran)
        vt_skip("not with this driver and processor");
}

/* ---- one product ---- */

typedef struct data {
    int M, N, K;
    bool epilogue;
    float *a, *b, *bias, *scale, *residual, *c;
} data;

static data room(int M, int N, int K)
{
    const size_t m = (size_t)M, n = (size_t)N, k = (size_t)K;

    return (data){.M = M,
                  .N = N,
                  .K = K,
                  .a = calloc(m * k, sizeof(float)),
                  .b = calloc(n * k, sizeof(float)),
                  .bias = calloc(n, sizeof(float)),
                  .scale = calloc(n, sizeof(float)),
                  .residual = calloc(m * n, sizeof(float)),
                  .c = calloc(m * n, sizeof(float))};
}

static void leave(data *d)
{
    free(d->a), free(d->b), free(d->bias), free(d->scale);
    free(d->residual), free(d->c);
}

/* The first M rows, into c, once more with the same bits. */
static void multiply(const data *d, int M, float *c)
{
    vt_dev *dev = vt_test_device();
    vt_queue *q = vt_test_queue();
    const vt_gemm_desc g = {.M = M,
                            .N = d->N,
                            .K = d->K,
                            .type = VT_F16,
                            .b_packed = true,
                            .bias = d->epilogue,
                            .scale = d->epilogue,
                            .residual = d->epilogue,
                            .act = d->epilogue ? VT_ACT_RELU : VT_ACT_NONE};
    const size_t n = (size_t)d->N, all = (size_t)M * n, k = (size_t)d->K;
    vt_gemm_bufs b = {.a = vt_test_floats(d->a, (size_t)M * k),
                      .bias = vt_test_floats(d->bias, n),
                      .scale = vt_test_floats(d->scale, n),
                      .residual = vt_test_floats(d->residual, all),
                      .c = vt_test_floats(NULL, all)};
    const vt_product x = vt_test_product("native", &g);
    vt_buf *plain = vt_test_floats(d->b, n * k);
    float *again = malloc(all * sizeof *again);
    vt_gemm *gemm = NULL;

    OK(vt_buf_new(&b.b, dev, x.packed_bytes));
    OK(vt_buf_fill(q, b.b, 0x7fc07fc0u));
    OK(vt_product_pack(q, &x, b.b, plain));
    OK(vt_buf_new(&b.temp, dev, x.temp_bytes));
    OK(vt_buf_fill(q, b.temp, 0x7fc07fc0u));
    OK(vt_product_bind(&gemm, dev, &x, &b));
    cr_assert(strstr(vt_gemm_describe(gemm), "vfmadd231ph"), "%s",
              vt_gemm_describe(gemm));
    for (int i = 0; i < 2; i++) {
        OK(vt_gemm_launch(q, gemm));
        OK(vt_queue_finish(q));
        vt_test_read(i ? again : c, b.c, all);
        OK(vt_buf_fill(q, b.c, 0x7fc00000u));
    }
    cr_assert_arr_eq(c, again, all * sizeof *c, "other bits the second time");
    free(again);
    vt_gemm_free(gemm);
    vt_buf *const bufs[] = {b.a,        b.b, b.bias, b.scale,
                            b.residual, b.c, b.temp, plain};
    for (size_t i = 0; i < sizeof bufs / sizeof *bufs; i++)
        vt_buf_free(bufs[i]);
}

/* ---- exact products ---- */

/* In [-most, most]. */
static float whole(vt_rng *r, int most)
{
    return (float)((int)(vt_rng_bits(r) % (unsigned)(2 * most + 1)) - most);
}

/* Rounds a whole number, |x| < 4096, to 11 bits, ties to even. */
static double half_of(float x)
{
    return fabs((double)x) < 2048 ? (double)x : 2 * rint((double)x / 2);
}

/* What the terms from k on are, in rows (0) or columns (1): up to 5; 1 but
 * one; 1. */
static int most_in(int k, int side)
{
    const int turn = k / PART % 3;

    return turn == 0 ? 5 : turn == side + 1 ? 4095 : 1;
}

static void exact_side(float *x, int n, int K, int side, vt_rng *r)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < K; k += PART) {
            const int most = most_in(k, side),
                      there = k + PART < K ? PART : K - k;

            for (int j = 0; j < there; j++)
                x[i * K + k + j] = most == 4095 ? 0 : whole(r, most);
            if (most == 4095)
                x[i * K + k + (i * 7 + k) % there] = whole(r, most);
        }
}

static double exact_want(const data *d, int m, int n)
{
    double sum = d->epilogue ? (double)d->bias[n] : 0;

    for (int k = 0; k < d->K; k++)
        sum += half_of(d->a[m * d->K + k]) * half_of(d->b[n * d->K + k]);
    return !d->epilogue ? sum
                        : fmax(sum, 0) * (double)d->scale[n] +
                              (double)d->residual[m * d->N + n];
}

/* Rows and columns times powers of two, which is exact. */
static float row_power(int m)
{
    return ldexpf(1, m % 9 * 20 - 80);
}
static float column_power(int n)
{
    return ldexpf(1, n % 5 * 10 - 20);
}

static void check_exact(int M, int N, int K)
{
    vt_rng r = {(uint64_t)(M + N + K)};
    data d = room(M, N, K);
    int wrong = 0;

    exact_side(d.a, M, K, 0, &r);
    exact_side(d.b, N, K, 1, &r);
    for (int n = 0; n < N; n++)
        d.bias[n] = whole(&r, 99), d.scale[n] = (float)(n % 4) - 1;
    for (int i = 0; i < M * N; i++)
        d.residual[i] = whole(&r, 99);
    for (int scaled = 0; scaled < 2; scaled++) {
        d.epilogue = !scaled;
        for (int i = 0; scaled && i < M * K; i++)
            d.a[i] *= row_power(i / K);
        for (int i = 0; scaled && i < N * K; i++)
            d.b[i] *= column_power(i / K);
        multiply(&d, M, d.c);
        for (int i = 0; scaled && i < M * K; i++)
            d.a[i] /= row_power(i / K);
        for (int i = 0; scaled && i < N * K; i++)
            d.b[i] /= column_power(i / K);
        for (int i = 0; i < M * N; i++) {
            const double want =
                exact_want(&d, i / N, i % N) *
                (scaled ? (double)(row_power(i / N) * column_power(i % N)) : 1);
            if ((double)d.c[i] != want && wrong++ == 0)
                cr_expect(false, "%dx%dx%d: C[%d,%d] is %.9g, not %.9g", M, N,
                          K, i / N, i % N, (double)d.c[i], want);
        }
    }
    cr_expect_eq(wrong, 0, "%dx%dx%d: %d wrong", M, N, K, wrong);
    leave(&d);
}

/* Blocks of 14, 13, 4 and 1 rows; parts of a panel, several panels; one part of
 * K, several, and more than are multiplied at a time. */
static void exact(const char *code)
{
    const char *folder;
    const bool runs = begin(&folder, code);

    if (runs) {
        check_exact(23, 37, 45);
        check_exact(29, 130, 333);
        check_exact(7, 17, 2450);
    }
    end(folder, runs);
}

Test(gemm_forms, f16_exact_emulated)
{
    exact(right);
}

Test(gemm_forms, f16_exact)
{
    exact(NULL);
}

/* ---- rounded products ---- */

/* The root of the mean square of errors, relative to that of the sums. */
static double error_of(const data *d)
{
    double error = 0, all = 0;

    for (int i = 0; i < d->M * d->N; i++) {
        double want = 0;

        for (int k = 0; k < d->K; k++)
            want += (double)d->a[i / d->N * d->K + k] *
                    (double)d->b[i % d->N * d->K + k];
        error += pow((double)d->c[i] - want, 2), all += want * want;
    }
    return sqrt(error / all);
}

/* Of bf16 it is 0.0023. A few rows alone have the same bits. */
static void rounded(const char *code)
{
    enum { M = 31, N = 70, K = 768 };
    const char *folder;
    const bool runs = begin(&folder, code);

    if (runs) {
        vt_rng r = {11};
        data d = room(M, N, K);
        float few[5 * N];
        double error;

        vt_rng_fill(&r, d.a, M * K, 1, 0);
        vt_rng_fill(&r, d.b, N * K, 1, 0);
        multiply(&d, M, d.c);
        error = error_of(&d);
        cr_expect(error > 5e-4 && error < 1.4e-3, "error %.3g", error);
        multiply(&d, 5, few);
        cr_expect_arr_eq(few, d.c, sizeof few);
        leave(&d);
    }
    end(folder, runs);
}

Test(gemm_forms, f16_rounded_emulated)
{
    rounded(right);
}

Test(gemm_forms, f16_rounded)
{
    rounded(NULL);
}

/* Numbers that halves have not, and the largest sums of 64 terms: all of one
 * sign and, scaled, next to 16. */
static void range(const char *code)
{
    enum { M = 18, N = 65, K = 200 };
    static const float tops[] = {1, 65535.0f, 1e30f, 1e-30f, 1.9999f};
    const char *folder;
    const bool runs = begin(&folder, code);

    if (runs) {
        data d = room(M, N, K);

        for (int i = 0; i < M * K; i++)
            d.a[i] = i / K % 6 < 5 ? tops[i / K % 6] : i % K ? 0 : 1e36f;
        for (int i = 0; i < N * K; i++)
            d.b[i] = i / K % 3 == 0 ? 1.9999f : 100000.0f;
        d.b[7] = -1e-20f, d.a[9] = 0; /* less than halves have, beside 1 */
        d.b[4 * K] = 1; /* times 1e36, where the two scales are too large */
        multiply(&d, M, d.c);
        for (int i = 0; i < M * N; i++) {
            double want = 0;

            for (int k = 0; k < K; k++)
                want += (double)d.a[i / N * K + k] * (double)d.b[i % N * K + k];
            cr_expect(want > 3e38 || fabs((double)d.c[i] / want - 1) < 0.01,
                      "C[%d,%d] is %g, not %g", i / N, i % N, (double)d.c[i],
                      want);
        }
        leave(&d);
    }
    end(folder, runs);
}

Test(gemm_forms, f16_range_emulated)
{
    range(right);
}

Test(gemm_forms, f16_range)
{
    range(NULL);
}

/* NaNs and infinities in whole vectors and after them, in a row and a column,
 * and zeros alone. */
Test(gemm_forms, f16_not_numbers_emulated)
{
    enum { M = 9, N = 20, K = 37 };
    const char *folder;
    const bool runs = begin(&folder, right);

    if (runs) {
        data d = room(M, N, K);

        for (int i = 0; i < M * K; i++)
            d.a[i] = (float)(i / K != 8);
        for (int i = 0; i < N * K; i++)
            d.b[i] = 2;
        d.a[1 * K + 3] = NAN, d.a[3 * K + 36] = NAN;
        d.a[5 * K + 3] = INFINITY, d.a[7 * K + 36] = -INFINITY;
        d.b[6 * K + 20] = NAN, d.b[8 * K] = INFINITY;
        multiply(&d, M, d.c);
        for (int i = 0; i < M * N; i++)
            if (i / N % 2 == 1 || i % N == 6 || i % N == 8)
                cr_expect(isnan(d.c[i]), "C[%d,%d]: %g", i / N, i % N,
                          (double)d.c[i]);
            else
                cr_expect_eq(d.c[i], i / N == 8 ? 0.0f : 2.0f * K);
        leave(&d);
    }
    end(folder, runs);
}

/* ---- the trial ---- */

static const char *verdict_of(const char *code, bool *runs)
{
    const char *folder, *verdict = "";

    *runs = begin(&folder, code);
    if (*runs)
        OK(vt_trial_dot(&verdict, vt_test_device(), "vfmadd231ph"));
    if (*runs)
        vt_test_sources(vt_dot_subject(VT_F16));
    vt_test_remove(folder);
    return verdict;
}

/* In C it is slower. */
Test(gemm_forms, f16_trial_takes_the_right_one)
{
    bool runs;
    const char *verdict = verdict_of(right, &runs);

    if (!runs)
        vt_skip("not with this driver");
    cr_expect_str_eq(verdict, "slower");
}

static void kills(int mutant)
{
    bool runs;
    const char *verdict = verdict_of(mutants[mutant], &runs);

    if (!runs)
        vt_skip("not with this driver");
    cr_expect_str_eq(verdict, "wrong", "mutant %d is %s", mutant, verdict);
}

Test(gemm_forms, f16_trial_kills_swapped_operands)
{
    kills(0);
}

Test(gemm_forms, f16_trial_kills_the_next_element)
{
    kills(1);
}

Test(gemm_forms, f16_trial_kills_a_product_alone)
{
    kills(2);
}

Test(gemm_forms, f16_trial_kills_swapped_lanes)
{
    kills(3);
}
