/*
 * test_gemm.c - every provider against a reference in double: odd sizes,
 * transposes, strides, epilogues, packed weights, half storage. The bits are
 * reproducible and independent of the number of rows.
 */
#include "ref/gemm.h"
#include "support/device.h"
#include "support/near.h"
#include "support/oneplan.h"
#include "support/skip.h"

#include "base/half.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const providers[] = {"plain", "clblast", "native"};
#define GUARD 64

typedef struct gemm_case {
    vt_gemm_desc d;
    double tolerance; /* of a sum of terms in [-1,1]; 0: f32's */
} gemm_case;

#define D(...)                                                                 \
    {                                                                          \
        .d = { __VA_ARGS__ }                                                   \
    }
static const gemm_case cases[] = {
    D(.M = 1, .N = 1, .K = 1),
    D(.M = 2, .N = 3, .K = 5, .bias = true),
    D(.M = 197, .N = 192, .K = 192, .bias = true, .b_packed = true),
    D(.M = 197, .N = 192, .K = 64, .bias = true, .act = VT_ACT_GELU,
      .b_packed = true),
    D(.M = 50, .N = 130, .K = 33, .bias = true, .scale = true, .residual = true,
      .b_packed = true),
    D(.M = 50, .N = 130, .K = 33, .bias = true, .scale = true,
      .residual = true),
    D(.M = 7, .N = 1000, .K = 192, .bias = true, .b_packed = true),
    D(.M = 1, .N = 31, .K = 768, .bias = true, .act = VT_ACT_TANH,
      .b_packed = true),
    D(.M = 65, .N = 63, .K = 17, .act = VT_ACT_GELU_TANH),
    D(.M = 65, .N = 63, .K = 17, .act = VT_ACT_GELU_QUICK, .trans_b = true),
    D(.M = 13, .N = 16, .K = 100, .act = VT_ACT_RELU, .residual = true),
    D(.M = 13, .N = 48, .K = 100, .act = VT_ACT_SILU, .b_packed = true,
      .residual = true),
    D(.M = 31, .N = 33, .K = 70, .lda = 80, .ldb = 73, .ldc = 40,
      .residual = true, .bias = true),
    D(.M = 31, .N = 33, .K = 70, .lda = 80, .ldb = 73, .ldc = 40,
      .b_packed = true),
    D(.M = 33, .N = 70, .K = 31, .lda = 33, .ldb = 72, .trans_a = true,
      .trans_b = true, .accumulate = true),
    D(.M = 192, .N = 64, .K = 197, .trans_a = true, .trans_b = true),
    D(.M = 33, .N = 65, .K = 19, .trans_b = true, .accumulate = true),
    D(.M = 33, .N = 43, .K = 19, .trans_b = true, .residual = true,
      .times = true),
    D(.M = 199, .N = 259, .K = 530, .trans_a = true, .trans_b = true,
      .accumulate = true),
    D(.M = 20, .N = 21, .K = 22, .trans_a = true, .accumulate = true),
    D(.batch = 11, .M = 1, .N = 35, .K = 70, .bias = true, .b_packed = true),
    D(.batch = 3, .M = 17, .N = 40, .K = 24, .bias = true, .residual = true,
      .b_packed = true),
    D(.batch = 2, .M = 5, .N = 65, .K = 48, .lda = 64, .ldc = 72, .scale = true,
      .residual = true),
    D(.M = 197, .N = 40, .K = 1100, .b_packed = true, .bias = true,
      .act = VT_ACT_GELU, .residual = true),
    D(.M = 75, .N = 65, .K = 1100, .lda = 2048, .trans_b = true,
      .accumulate = true),
    D(.M = 61, .N = 160, .K = 1030, .lda = 2048, .bias = true,
      .residual = true),
    D(.M = 40, .N = 33, .K = 1024, .trans_a = true, .trans_b = true,
      .accumulate = true),
    D(.M = 19, .N = 35, .K = 40, .b_packed = true, .out = VT_F16, .bias = true),
    D(.M = 19, .N = 35, .K = 40, .b_packed = true, .a = VT_BF16,
      .out = VT_BF16),
    {.d = {.M = 197,
           .N = 96,
           .K = 128,
           .b_packed = true,
           .type = VT_F16,
           .bias = true,
           .act = VT_ACT_GELU},
     .tolerance = 3e-3},
    {.d = {.M = 20,
           .N = 96,
           .K = 128,
           .b_packed = true,
           .type = VT_BF16,
           .bias = true,
           .residual = true},
     .tolerance = 1.5e-2},
    /* half a step of 1/127 a weight, and half a step of 1/127 an activation
     * if these are rounded too: 1.9e-3 sqrt(K) rms */
    {.d = {.M = 20,
           .N = 90,
           .K = 133,
           .b_packed = true,
           .type = VT_I8,
           .bias = true,
           .act = VT_ACT_GELU,
           .residual = true},
     .tolerance = 1e-2},
    {.d = {.M = 61, .N = 33, .K = 1100, .type = VT_I8}, .tolerance = 1e-2},
    {{0}, 0}};

/* For simulators: every form once, just past the edges of its blocks. */
static const gemm_case tiny_cases[] = {
    D(.M = 1, .N = 1, .K = 1),
    D(.M = 7, .N = 17, .K = 9, .bias = true, .act = VT_ACT_GELU, .scale = true,
      .residual = true),
    D(.batch = 5, .M = 1, .N = 18, .K = 6, .b_packed = true),
    D(.batch = 2, .M = 3, .N = 33, .K = 5, .bias = true, .scale = true,
      .residual = true, .b_packed = true, .lda = 8, .ldc = 40),
    D(.M = 7, .N = 18, .K = 6, .lda = 9, .ldb = 21, .ldc = 20, .trans_b = true,
      .accumulate = true),
    D(.M = 7, .N = 18, .K = 6, .trans_a = true, .trans_b = true),
    D(.M = 5, .N = 6, .K = 7, .trans_a = true, .accumulate = true),
    D(.M = 3, .N = 5, .K = 6, .b_packed = true, .out = VT_F16, .bias = true),
    D(.M = 3, .N = 5, .K = 6, .b_packed = true, .a = VT_BF16, .out = VT_BF16),
    D(.M = 2, .N = 3, .K = 1030, .b_packed = true, .bias = true,
      .act = VT_ACT_GELU),
    D(.M = 2, .N = 3, .K = 1030, .trans_a = true, .trans_b = true,
      .accumulate = true),
    {.d = {.M = 7, .N = 17, .K = 9, .b_packed = true, .type = VT_F16},
     .tolerance = 3e-3},
    {.d = {.M = 7, .N = 17, .K = 9, .b_packed = true, .type = VT_BF16},
     .tolerance = 1.5e-2},
    {.d = {.M = 7,
           .N = 17,
           .K = 37,
           .b_packed = true,
           .type = VT_I8,
           .bias = true,
           .residual = true},
     .tolerance = 2e-2},
    {{0}, 0}};

static uint32_t state = 1;

/* In [-1, 1]. */
static float number(void)
{
    state = state * 1664525u + 1013904223u;
    return (float)(state >> 8) / 8388608.0f - 1.0f;
}

static float *numbers(size_t n)
{
    float *x = malloc(n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = number();
    return x;
}

static float from_half(uint16_t h, vt_dtype t)
{
    return t == VT_F16 ? vt_f16_to_f32(h) : vt_bf16_to_f32(h);
}

/* Upload floats as this type, and round them in place to its precision. */
static vt_buf *upload(float *x, size_t n, vt_dtype t)
{
    vt_buf *b = NULL;
    uint16_t *h;

    if (t == VT_F32)
        return vt_test_floats(x, n);
    h = malloc(n * sizeof *h);
    for (size_t i = 0; i < n; i++) {
        h[i] = t == VT_F16 ? vt_f32_to_f16(x[i]) : vt_f32_to_bf16(x[i]);
        x[i] = from_half(h[i], t);
    }
    cr_assert_eq(vt_buf_new(&b, vt_test_device(), n * 2), VITCL_OK);
    cr_assert_eq(vt_buf_write(vt_test_queue(), b, 0, h, n * 2), VITCL_OK);
    free(h);
    return b;
}

/* The operands and results of one multiplication. */
typedef struct job {
    vt_gemm_desc d;
    int lda, ldb, ldc, rows;
    size_t n_a, n_b, n_c;
    float *a, *b, *bias, *scale, *residual, *c0, *c;
    vt_gemm_bufs bufs;
} job;

static job job_new(const gemm_case *t)
{
    job j = {.d = t->d};
    const vt_gemm_desc *d = &j.d;

    j.rows = (d->batch ? d->batch : 1) * d->M;
    j.lda = d->lda ? d->lda : d->trans_a ? d->M : d->K;
    j.ldb = d->ldb ? d->ldb : d->trans_b ? d->N : d->K;
    j.ldc = d->ldc ? d->ldc : d->N;
    j.n_a = (size_t)((d->trans_a ? d->K : j.rows) * j.lda);
    j.n_b = (size_t)((d->trans_b ? d->K : d->N) * j.ldb);
    j.n_c = (size_t)(j.rows * j.ldc);
    j.a = numbers(j.n_a);
    j.b = numbers(j.n_b);
    j.bias = numbers((size_t)d->N);
    j.scale = numbers((size_t)d->N);
    j.residual = numbers(j.n_c);
    j.c0 = numbers(j.n_c + GUARD);
    j.c = malloc((j.n_c + GUARD) * sizeof *j.c);
    j.bufs = (vt_gemm_bufs){
        .a = upload(j.a, j.n_a, d->a),
        .b = vt_test_floats(j.b, j.n_b),
        .bias = d->bias ? vt_test_floats(j.bias, (size_t)d->N) : NULL,
        .scale = d->scale ? vt_test_floats(j.scale, (size_t)d->N) : NULL,
        .residual = d->residual ? vt_test_floats(j.residual, j.n_c) : NULL};
    return j;
}

static void job_free(job *j)
{
    float *mine[] = {j->a, j->b, j->bias, j->scale, j->residual, j->c0, j->c};
    vt_buf *bufs[] = {j->bufs.a,        j->bufs.b, j->bufs.bias, j->bufs.scale,
                      j->bufs.residual, j->bufs.c, j->bufs.temp};

    for (size_t i = 0; i < sizeof mine / sizeof *mine; i++)
        free(mine[i]);
    for (size_t i = 0; i < sizeof bufs / sizeof *bufs; i++)
        vt_buf_free(bufs[i]);
}

/* Runs j once into j->c; `rows` of A per picture. */
/* Returns the number of launches. */
static unsigned run(job *j, const char *provider, vt_class class,
                    char note[128])
{
    vt_dev *dev = vt_test_device();
    vt_queue *q = vt_test_queue();
    vt_gemm_desc d = j->d;
    vt_gemm_bufs bufs = j->bufs;
    vt_buf *packed = NULL;
    vt_gemm *g = NULL;
    const size_t n = j->n_c + GUARD;
    unsigned launches;

    d.device_class = class;
    vt_test_class(class);
    bufs.c = d.out == VT_F32 ? vt_test_floats(d.accumulate ? j->c0 : NULL, n)
                             : upload(j->c0, n, d.out);
    const vt_product x = vt_test_product(provider, &d);
    if (d.b_packed) {
        cr_assert_neq(x.layout[0], '\0');
        cr_assert_eq(vt_buf_new(&packed, dev, x.packed_bytes), VITCL_OK);
        cr_assert_eq(vt_buf_fill(q, packed, 0x7fc07fc0u), VITCL_OK);
        cr_assert_eq(vt_product_pack(q, &x, packed, bufs.b), VITCL_OK, "%s",
                     vt_message());
        bufs.b = packed;
    }
    if (x.temp_bytes) {
        cr_assert_eq(vt_buf_new(&bufs.temp, dev, x.temp_bytes), VITCL_OK);
        cr_assert_eq(vt_buf_fill(q, bufs.temp, 0x7fc00000u), VITCL_OK);
    }
    cr_assert_eq(vt_product_bind(&g, dev, &x, &bufs), VITCL_OK, "%s",
                 vt_message());
    cr_assert_eq(vt_gemm_launch(q, g), VITCL_OK, "%s", vt_message());
    cr_assert_eq(vt_queue_finish(q), VITCL_OK, "%s", vt_message());
    launches = vt_gemm_launches(g);
    snprintf(note, 128, "%s: %s", provider, vt_gemm_describe(g));
    if (d.out == VT_F32) {
        vt_test_read(j->c, bufs.c, n);
    } else {
        uint16_t *h = malloc(n * 2);
        cr_assert_eq(vt_buf_read(q, bufs.c, 0, h, n * 2), VITCL_OK);
        for (size_t i = 0; i < n; i++)
            j->c[i] = from_half(h[i], d.out);
        free(h);
    }
    vt_gemm_free(g);
    vt_buf_free(packed);
    vt_buf_free(bufs.temp);
    vt_buf_free(bufs.c);
    return launches;
}

static double expected(const job *j, int m, int n)
{
    const vt_gemm_desc *d = &j->d;
    const size_t at = (size_t)(m * j->ldc + n);
    double v = ref_dot(j->a, j->b, m, n, d->K, d->trans_a ? 1 : j->lda,
                       d->trans_a ? j->lda : 1, d->trans_b ? 1 : j->ldb,
                       d->trans_b ? j->ldb : 1);

    if (d->accumulate)
        return v + (double)j->c0[at];
    if (d->bias)
        v += (double)j->bias[n];
    v = ref_act(v, (int)d->act);
    if (d->scale)
        v *= (double)j->scale[n];
    if (d->times)
        return v * (double)j->residual[at];
    return d->residual ? v + (double)j->residual[at] : v;
}

static void compare(const job *j, double tolerance, const char *note)
{
    const vt_gemm_desc *d = &j->d;
    /* Partial sums grow as sqrt(k) / 3, so roundings add up to some 1.4e-8 K;
     * the largest of many thousands is several times that. */
    const double each = tolerance > 0 ? tolerance * sqrt((double)d->K)
                                      : 5e-8 * (8 + (double)d->K),
                 rtol = d->out == VT_F16    ? 1e-3
                        : d->out == VT_BF16 ? 8e-3
                                            : 1e-6;
    double worst = -1;
    int wm = 0, wn = 0;

    for (int m = 0; m < j->rows; m++)
        for (int n = 0; n < d->N; n++) {
            const double want = expected(j, m, n),
                         got = (double)j->c[m * j->ldc + n],
                         off = fabs(got - want) / (each + rtol * fabs(want));
            if (!(off <= worst))
                worst = vt_worse(worst, off), wm = m, wn = n;
        }
    cr_expect(worst <= 1,
              "%s: %dx%dx%d: C[%d,%d] is %.9g, not %.9g: %.2f tolerances", note,
              d->M, d->N, d->K, wm, wn, (double)j->c[wm * j->ldc + wn],
              expected(j, wm, wn), worst);
    /* Nothing is written between rows or after the last one. */
    for (size_t i = 0; i < j->n_c + GUARD; i++)
        if (i >= j->n_c || (int)(i % (size_t)j->ldc) >= d->N) {
            const bool kept = d->accumulate || d->out != VT_F32;
            cr_assert(kept ? j->c[i] == j->c0[i] : isnan(j->c[i]),
                      "%s: %dx%dx%d: element %zu of padding is written", note,
                      d->M, d->N, d->K, i);
        }
}

static int divided; /* products by the provider that were launched in parts */

static void try_case(const gemm_case *t, const char *provider, vt_class class)
{
    job j = job_new(t);
    const size_t bytes = j.n_c * sizeof(float);
    float *first = malloc(bytes);
    unsigned launches;
    char note[128];

    launches = run(&j, provider, class, note);
    /* native alone has int8, for both classes; its tiles take all types */
    if (t->d.type == VT_I8 ||
        (strcmp(provider, "native") == 0 && class == VT_CLASS_GPU))
        cr_expect(strstr(note, ": native"), "%s", note);
    compare(&j, t->tolerance, note);
    memcpy(first, j.c, bytes);
    if (!vt_test_tiny()) {
        vt_test_divide(true);
        divided += run(&j, provider, class, note) > launches &&
                   strstr(strchr(note, ' '), provider);
        vt_test_divide(false);
        cr_expect_eq(memcmp(first, j.c, bytes), 0, "%s: other bits", note);
    }
    free(first);
    job_free(&j);
}

static void try_cases(const char *provider, vt_class class)
{
    const gemm_case *t = vt_test_tiny() ? tiny_cases : cases;

    if (class == VT_CLASS_AUTO)
        class = vt_dev_class(vt_test_device());
    for (; t->d.M; t++) {
        /* Skipped on a simulator: products that native leaves to plain on CPUs,
         * which has its own test; long sums for GPUs, because only CPUs divide
         * them; and single rows for GPUs, because a tile takes seconds even if
         * little of it is used. */
        if (vt_test_tiny() &&
            ((strcmp(provider, "native") == 0 && class == VT_CLASS_CPU &&
              (t->d.out || t->d.a)) ||
             (class == VT_CLASS_GPU && (t->d.K > 1000 || t->d.M == 1))))
            continue;
        try_case(t, provider, class);
    }
}

static bool usable(const char *provider)
{
    const char *name;

    /* A simulator is for our own kernels; in CLBlast's Xgemm, Oclgrind 21.10
     * reports uninitialised reads. */
    if (vt_test_tiny() && strcmp(provider, "clblast") == 0)
        return false;
    return vt_product_provider(&name, vt_test_device(), provider) == VITCL_OK &&
           strcmp(name, provider) == 0;
}

static void all_cases(const char *provider)
{
    /* A provider that the device cannot run is not usable; plain always is. */
    if (!usable(provider)) {
        cr_expect_str_neq(provider, "plain");
        return;
    }
    try_cases(provider, VT_CLASS_AUTO);
}

static vt_class other_class(void)
{
    return vt_dev_class(vt_test_device()) == VT_CLASS_CPU ? VT_CLASS_GPU
                                                          : VT_CLASS_CPU;
}

Test(gemm, plain)
{
    all_cases("plain");
    try_cases("plain", other_class());
    cr_expect(divided > 0 || vt_test_tiny());
}

Test(gemm, clblast)
{
    all_cases("clblast");
}

Test(gemm, native)
{
    all_cases("native");
    if (usable("native"))
        try_cases("native", other_class());
    cr_expect(divided > 0 || vt_test_tiny());
}

/* A row has the same bits with any other rows. */
static void rows_agree(const char *provider, bool packed, int n, int k)
{
    static const int counts[] = {1, 7, 16, 64, 197};
    const size_t tries = vt_test_tiny() ? 2 : sizeof counts / sizeof *counts;
    const int rows = vt_test_tiny() ? 9 : 197;
    const gemm_case most = {.d = {.M = rows,
                                  .N = n,
                                  .K = k,
                                  .bias = true,
                                  .act = VT_ACT_GELU,
                                  .residual = true,
                                  .b_packed = packed}};
    job j = job_new(&most);
    float *all = malloc(j.n_c * sizeof *all);
    char note[128];

    run(&j, provider, VT_CLASS_AUTO, note);
    memcpy(all, j.c, j.n_c * sizeof *all);
    for (size_t i = 0; i < tries; i++) {
        const int skip = rows - counts[i];
        job part = job_new(&most);
        memcpy(part.b, j.b, j.n_b * sizeof(float));
        vt_buf_free(part.bufs.a);
        vt_buf_free(part.bufs.b);
        vt_buf_free(part.bufs.bias);
        vt_buf_free(part.bufs.residual);
        part.d.M = part.rows = counts[i];
        part.n_c = (size_t)(counts[i] * n);
        part.bufs.a = vt_test_floats(j.a + skip * k, (size_t)(counts[i] * k));
        part.bufs.b = vt_test_floats(j.b, j.n_b);
        part.bufs.bias = vt_test_floats(j.bias, (size_t)n);
        part.bufs.residual = vt_test_floats(j.residual + skip * n, part.n_c);
        run(&part, provider, VT_CLASS_AUTO, note);
        cr_expect_eq(memcmp(part.c, all + skip * n, part.n_c * sizeof(float)),
                     0, "%s: bits of %d rows of %d differ, N %d K %d", note,
                     counts[i], rows, n, k);
        job_free(&part);
    }
    free(all);
    job_free(&j);
}

Test(gemm, rows)
{
    for (size_t i = 0; i < sizeof providers / sizeof *providers; i++)
        if (usable(providers[i]) && vt_test_tiny()) {
            rows_agree(providers[i], true, 17, 9);
        } else if (usable(providers[i])) {
            rows_agree(providers[i], true, 192, 192);
            rows_agree(providers[i], true, 33, 100);
            rows_agree(providers[i], false, 33, 100);
            rows_agree(providers[i], true, 24, 1100);
        }
}

/* Gradients of a bias and a weight together, in one slice of k or several. */
static void sums_agree(int m, int n, int k)
{
    const gemm_case c = {.d = {.M = m,
                               .N = n,
                               .K = k,
                               .trans_a = true,
                               .trans_b = true,
                               .accumulate = true,
                               .sums = true,
                               .device_class = VT_CLASS_CPU}};
    job j = job_new(&c);
    float *start = numbers((size_t)m), *got[2];
    double *want = malloc((size_t)m * sizeof *want);
    char note[128];

    for (int i = 0; i < 2; i++) {
        got[i] = malloc((size_t)m * sizeof **got);
        vt_buf_free(j.bufs.bias);
        j.bufs.bias = vt_test_floats(start, (size_t)m);
        run(&j, "native", VT_CLASS_CPU, note);
        vt_test_read(got[i], j.bufs.bias, (size_t)m);
    }
    for (int i = 0; i < m; i++) {
        want[i] = (double)start[i];
        for (int e = 0; e < k; e++)
            want[i] += (double)j.a[(size_t)e * (size_t)m + (size_t)i];
    }
    cr_expect(vt_near(note, got[0], want, (size_t)m, 1e-5, 1e-5 * k), "sums");
    cr_expect_eq(memcmp(got[0], got[1], (size_t)m * sizeof **got), 0);
    for (int i = 0; i < m * n; i++)
        cr_expect_float_eq((double)j.c[i], expected(&j, i / n, i % n), 1e-5 * k,
                           "%s: C", note);
    free(start), free(got[0]), free(got[1]), free(want);
    job_free(&j);
}

Test(gemm, sums)
{
    const vt_gemm_desc d = {.M = 1,
                            .N = 1,
                            .K = 1,
                            .trans_a = true,
                            .trans_b = true,
                            .accumulate = true,
                            .device_class = VT_CLASS_CPU};

    if (!vt_test_product("native", &d).sums)
        vt_skip("too little local memory");
    sums_agree(37, 5, 23);
    if (!vt_test_tiny())
        sums_agree(197, 35, 1301);
}

Test(gemm, refuses)
{
    static const gemm_case wrong[] = {
        D(.M = 0, .N = 1, .K = 1),
        D(.M = 1, .N = -1, .K = 1),
        D(.M = 2, .N = 2, .K = 4, .lda = 3),
        D(.M = 2, .N = 2, .K = 4, .ldc = 1),
        D(.M = 2, .N = 2, .K = 4, .accumulate = true, .bias = true),
        D(.batch = 2, .M = 2, .N = 2, .K = 4, .trans_a = true),
        D(.batch = 1 << 20, .M = 1 << 12, .N = 1, .K = 1),
    };
    vt_dev *dev = vt_test_device();
    vt_buf *b = vt_test_floats(NULL, 64);
    const vt_gemm_bufs bufs = {
        .a = b, .b = b, .c = b, .bias = b, .scale = b, .residual = b};
    const char *name = NULL;
    vt_gemm *g = NULL;
    vt_product x;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_expect_eq(vt_product_of(&x, dev, "plain", &wrong[i].d), VITCL_EINVAL,
                     "%zu", i);
    const vt_gemm_desc large = {.M = 9, .N = 8, .K = 1};
    x = vt_test_product("plain", &large);
    cr_expect_eq(vt_product_bind(&g, dev, &x, &bufs), VITCL_EINVAL);
    cr_expect(strstr(vt_message(), "matrix C"), "%s", vt_message());
    for (int a = 0; a < VT_ACTS; a++)
        cr_expect(vt_act_name((vt_act)a)[0]);
    vt_buf_free(b);
    if (vt_test_tiny()) /* this asks all providers, and CLBlast builds
                         * programs */
        return;
    cr_expect_eq(vt_product_provider(&name, dev, "cublas"), VITCL_EINVAL);
    cr_expect(strstr(vt_message(), "cublas") && strstr(vt_message(), "plain"),
              "%s", vt_message());
    cr_expect_eq(vt_product_provider(&name, dev, NULL), VITCL_OK);
    cr_expect_not_null(name);
}
