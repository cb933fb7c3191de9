/*
 * test_gemm_training.c - the products of a training step in bf16: B is not
 * packed (forward, gradient of x), or k is outermost in both operands (gradient
 * of w). By vdpbf16ps: by the processor, and with the instruction written in C
 * by an edit of the kernels, which runs on any processor with PoCL. And on the
 * matrix units of GPUs, with every vendor's instruction emulated.
 *
 * As in test_gemm_forms.c, the values are whole numbers that bf16 has, has not,
 * or has a tie at, and sums are exact: every bit is known.
 */
#include "base/half.h"
#include "base/memory.h"
#include "ocl/objects.h"
#include "product/state.h"
#include "support/device.h"
#include "support/oneplan.h"
#include "support/pictures.h"
#include "support/skip.h"
#include "support/words.h"
#include "trials/trials.h"
#include "units/dots.h"
#include "units/matrix.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OK(x) cr_assert_eq((x), VITCL_OK, "%s", vt_message())
#define GUARD 64

#define OUTER .trans_a = true, .trans_b = true
static const vt_gemm_desc cases[] = {
    /* whole panels and words or not, blocks of all heights, K in parts */
    {.M = 1, .N = 1, .K = 1},
    {.M = 23, .N = 37, .K = 45, .bias = true},
    {.M = 23, .N = 32, .K = 6, .bias = true, .residual = true},
    {.M = 29, .N = 96, .K = 139, .lda = 150, .ldb = 141, .ldc = 99},
    {.batch = 3, .M = 1, .N = 67, .K = 258},
    {.batch = 2, .M = 17, .N = 64, .K = 2050, .residual = true},
    {.M = 7, .N = 17, .K = 45, .trans_b = true},
    {.M = 23, .N = 64, .K = 131, .trans_b = true, .ldb = 70},
    {.M = 33, .N = 43, .K = 2050, .trans_b = true},
    {.M = 23,
     .N = 70,
     .K = 64,
     .trans_b = true,
     .residual = true,
     .times = true},
    /* tiles of several panels and of one, slices, an odd last term */
    {.M = 1, .N = 1, .K = 1, OUTER},
    {.M = 15, .N = 33, .K = 2, OUTER},
    {.M = 33,
     .N = 70,
     .K = 31,
     .lda = 40,
     .ldb = 72,
     .ldc = 80,
     OUTER,
     .accumulate = true},
    {.M = 201, .N = 67, .K = 1027, OUTER, .accumulate = true, .sums = true},
    {.M = 45, .N = 40, .K = 513, OUTER, .accumulate = true, .sums = true},
    {.M = 192, .N = 600, .K = 197, OUTER},
    {.M = 9, .N = 530, .K = 2563, OUTER},
};

static uint32_t state = 9;

/* In [-508, 508]; bf16 has every second above 256. */
static float *numbers(size_t n)
{
    float *x = malloc(n * sizeof *x);

    for (size_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = (float)((int)((state >> 8) % 1017) - 508);
    }
    return x;
}

static double rounded(float x)
{
    return fabsf(x) < 256 ? (double)x : 2 * rint((double)x / 2);
}

typedef struct job {
    vt_gemm_desc d;
    int rows, lda, ldb, ldc;
    size_t n_a, n_b, n_c;
    float *a, *b, *bias, *residual, *c0, *c, *sums;
} job;

static job job_new(const vt_gemm_desc *d)
{
    job j = {.d = *d, .rows = (d->batch ? d->batch : 1) * d->M};

    j.lda = d->lda ? d->lda : d->trans_a ? d->M : d->K;
    j.ldb = d->ldb ? d->ldb : d->trans_b ? d->N : d->K;
    j.ldc = d->ldc ? d->ldc : d->N;
    j.n_a = (size_t)((d->trans_a ? d->K : j.rows) * j.lda);
    j.n_b = (size_t)((d->trans_b ? d->K : d->N) * j.ldb);
    j.n_c = (size_t)(j.rows * j.ldc) + GUARD;
    j.a = numbers(j.n_a), j.b = numbers(j.n_b);
    j.bias = numbers((size_t)(d->sums ? d->M : d->N));
    j.residual = numbers(j.n_c), j.c0 = numbers(j.n_c);
    j.c = malloc(j.n_c * sizeof *j.c);
    j.sums = malloc((size_t)j.rows * sizeof *j.sums);
    return j;
}

static void job_free(job *j)
{
    free(j->a), free(j->b), free(j->bias), free(j->residual);
    free(j->c0), free(j->c), free(j->sums);
}

/* Which form the tests are for: its class, and what it is called. */
static struct {
    vt_class class;
    const char *name;
} form = {VT_CLASS_CPU, "vdpbf16ps"};

/* An operand, as the product has it stored. */
static vt_buf *stored(vt_dtype t, const float *x, size_t n)
{
    float *pairs = calloc(n / 2 + 1, sizeof *pairs);
    vt_buf *b;

    for (size_t i = 0; t == VT_BF16 && i < n; i++) {
        const uint16_t half = vt_f32_to_bf16(x[i]);

        memcpy((char *)pairs + i * sizeof half, &half, sizeof half);
    }
    b = t == VT_BF16 ? vt_test_floats(pairs, n / 2 + 1) : vt_test_floats(x, n);
    free(pairs);
    return b;
}

static void run(job *j)
{
    vt_dev *dev = vt_test_device();
    vt_queue *q = vt_test_queue();
    vt_gemm_desc d = j->d;
    vt_gemm *gemm = NULL;

    d.type = VT_BF16, d.device_class = form.class;
    const vt_product x = vt_test_product("native", &d);
    vt_gemm_bufs b = {.a = stored(d.a, j->a, j->n_a),
                      .b = stored(d.b, j->b, j->n_b),
                      .bias =
                          vt_test_floats(j->bias, (size_t)(d.sums ? d.M : d.N)),
                      .residual = vt_test_floats(j->residual, j->n_c),
                      .c = vt_test_floats(d.accumulate ? j->c0 : NULL, j->n_c)};

    if (x.temp_bytes) {
        OK(vt_buf_new(&b.temp, dev, x.temp_bytes));
        OK(vt_buf_fill(q, b.temp, 0x7fc00000u));
    }
    OK(vt_product_bind(&gemm, dev, &x, &b));
    cr_assert(strstr(vt_gemm_describe(gemm), form.name), "%s",
              vt_gemm_describe(gemm));
    OK(vt_gemm_launch(q, gemm));
    OK(vt_queue_finish(q));
    vt_test_read(j->c, b.c, j->n_c);
    if (d.sums)
        vt_test_read(j->sums, b.bias, (size_t)d.M);
    vt_gemm_free(gemm);
    vt_buf *const all[] = {b.a, b.b, b.bias, b.residual, b.c, b.temp};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        vt_buf_free(all[i]);
}

static double want(const job *j, int m, int n)
{
    const vt_gemm_desc *d = &j->d;
    const int at = m * j->ldc + n;
    double x = 0;

    for (int k = 0; k < d->K; k++)
        x += rounded(j->a[d->trans_a ? k * j->lda + m : m * j->lda + k]) *
             rounded(j->b[d->trans_b ? k * j->ldb + n : n * j->ldb + k]);
    if (d->accumulate)
        return (double)j->c0[at] + x;
    if (d->bias)
        x += (double)j->bias[n];
    return !d->residual ? x
           : d->times   ? (double)((float)x * j->residual[at])
                        : x + (double)j->residual[at];
}

static void check(const vt_gemm_desc *d)
{
    job j = job_new(d);
    int wrong = 0;

    run(&j);
    for (int i = 0; i < (int)j.n_c; i++) {
        const int m = i / j.ldc, n = i % j.ldc;
        const bool inside = m < j.rows && n < d->N;
        const double got = (double)j.c[i],
                     v = inside ? want(&j, m, n) : (double)j.c0[i];

        if (inside || d->accumulate ? got == v : isnan(got))
            continue;
        if (wrong++ == 0)
            cr_expect(false, "%dx%dx%d: C[%d,%d] is %.9g, not %.9g", d->M, d->N,
                      d->K, m, n, got, v);
    }
    for (int m = 0; d->sums && m < d->M; m++) { /* of A as it is stored */
        double v = (double)j.bias[m];
        for (int k = 0; k < d->K; k++) {
            const float a = j.a[k * j.lda + m];
            v += d->a == VT_BF16 ? rounded(a) : (double)a;
        }
        cr_expect_eq((double)j.sums[m], v, "%dx%dx%d: sum %d is %.9g, not %.9g",
                     d->M, d->N, d->K, m, (double)j.sums[m], v);
    }
    cr_expect_eq(wrong, 0, "%dx%dx%d: %d wrong", d->M, d->N, d->K, wrong);
    job_free(&j);
}

/* Where sums are rounded, too: the same bits twice, and in any batch. */
static void check_bits(bool trans_b)
{
    enum { PICTURES = 3, M = 29, N = 61, K = 301 };
    const vt_gemm_desc d = {
        .batch = PICTURES, .M = M, .N = N, .K = K, .trans_b = trans_b};
    job all = job_new(&d), again = all, one = all;

    for (size_t i = 0; i < all.n_a; i++)
        all.a[i] = sinf((float)i);
    again.c = malloc(all.n_c * sizeof *again.c), one.c = again.c;
    run(&all);
    vt_test_divide(true);
    run(&again);
    vt_test_divide(false);
    cr_expect_arr_eq(all.c, again.c, PICTURES * M * N * sizeof *all.c);
    one.d.batch = 1, one.rows = M, one.a += M * K;
    one.n_a = M * K, one.n_c = M * N;
    run(&one);
    cr_expect_arr_eq(all.c + M * N, one.c, M * N * sizeof *all.c);
    free(again.c);
    job_free(&all);
}

static void check_twice(const vt_gemm_desc *d)
{
    job j = job_new(d), again = j;

    for (size_t i = 0; i < j.n_a; i++)
        j.a[i] = sinf((float)i);
    again.c = malloc(j.n_c * sizeof *again.c);
    again.sums = malloc((size_t)d->M * sizeof *again.sums);
    run(&j), run(&again);
    cr_expect_arr_eq(j.c, again.c, j.n_c * sizeof *j.c);
    if (d->sums)
        cr_expect_arr_eq(j.sums, again.sums, (size_t)d->M * sizeof *j.sums);
    free(again.c), free(again.sums);
    job_free(&j);
}

static void check_all(int kind)
{
    static const vt_gemm_desc sums = {
        .M = 61, .N = 67, .K = 1301, OUTER, .accumulate = true, .sums = true};

    form.name = vt_dot_kinds[kind].name;
    vt_dot_use(vt_test_device(), VT_BF16, kind);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        vt_gemm_desc d = cases[i];
        const uint32_t numbers_from = state;

        check(&d);
        for (int half = 1; d.trans_a && half < 3; half++) {
            d.a = half == 1 ? VT_BF16 : VT_F32,
            d.b = half == 2 ? VT_BF16 : VT_F32;
            state = numbers_from;
            check(&d);
        }
    }
    check_bits(false);
    check_bits(true);
    check_twice(&sums);
}

/* Only its compiler is known to take what is written for processors. */
static bool on_pocl(const vt_dev *dev)
{
    return vt_dev_class(dev) == VT_CLASS_CPU && !vt_test_tiny() &&
           strcmp(vt_dev_info(dev)->platform, "Portable Computing Language") ==
               0;
}

Test(gemm_training, vdpbf16ps)
{
    if (!vt_dot_here(VT_DOT_BF16) || !on_pocl(vt_test_device()))
        vt_skip("no vdpbf16ps here");
    check_all(VT_DOT_BF16);
}

Test(gemm_training, tdpbf16ps)
{
    if (!vt_dot_here(VT_DOT_BF16_TILES) ||
        !vt_dot_permitted(VT_DOT_BF16_TILES) || !on_pocl(vt_test_device()))
        vt_skip("no AMX here");
    check_all(VT_DOT_BF16_TILES);
}

static void emulated(int kind, void (*in_c)(const char *))
{
    const char *folder = vt_test_folder();

    in_c(folder);
    if (on_pocl(vt_test_device()))
        check_all(kind);
    vt_test_remove(folder);
}

Test(gemm_training, vdpbf16ps_emulated)
{
    emulated(VT_DOT_BF16, vt_test_words_in_c);
}

Test(gemm_training, tdpbf16ps_emulated)
{
    emulated(VT_DOT_BF16_TILES, vt_test_tiles_in_c);
}

/* What no code supports is left to FMAs. */
Test(gemm_training, other_instructions)
{
    static const int kinds[] = {VT_DOT_NONE, VT_DOT_BF16_ARM, VT_DOT_BF16_PAIR};
    const vt_gemm_desc d = {.M = 33,
                            .N = 70,
                            .K = 1030,
                            .type = VT_BF16,
                            OUTER,
                            .device_class = VT_CLASS_CPU};
    vt_dev *dev = vt_test_device();

    if (vt_dev_class(dev) != VT_CLASS_CPU)
        vt_skip("no CPU");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        vt_gemm_bufs b = {.a = vt_test_floats(NULL, (size_t)(d.M * d.K)),
                          .b = vt_test_floats(NULL, (size_t)(d.N * d.K)),
                          .c = vt_test_floats(NULL, (size_t)(d.M * d.N))};
        vt_gemm *gemm = NULL;

        vt_dot_use(dev, VT_BF16, kinds[i]);
        const vt_product x = vt_test_product("native", &d);
        OK(vt_buf_new(&b.temp, dev, x.temp_bytes + 4));
        OK(vt_product_bind(&gemm, dev, &x, &b));
        cr_expect(strstr(vt_gemm_describe(gemm), " bf16"), "%s",
                  vt_gemm_describe(gemm));
        vt_gemm_free(gemm);
        vt_buf_free(b.a), vt_buf_free(b.b), vt_buf_free(b.c);
        vt_buf_free(b.temp);
    }
}

/* ---- matrix units ---- */

/* Edges of tiles, a tail of k, strides, and every number of kernels: one or two
 * operands are packed, and parts are added up. */
enum { Y, DX, DW, DW_PARTS, PRODUCTS, LEAST_PARTS = 64 };
static const vt_gemm_desc products[PRODUCTS] = {
    [Y] = {.batch = 3,
           .M = 12,
           .N = 37,
           .K = 131,
           .lda = 135,
           .ldc = 41,
           .ldb = 132,
           .bias = true},
    [DX] = {.M = 37,
            .N = 131,
            .K = 70,
            .ldb = 137,
            .ldc = 140,
            .trans_b = true,
            .residual = true,
            .times = true},
    [DW] = {.M = 41, .N = 35, .K = 77, .lda = 43, .ldb = 39, .ldc = 37, OUTER},
    [DW_PARTS] = {.M = 37,
                  .N = 131,
                  .K = 3 * LEAST_PARTS - 7,
                  .lda = 40,
                  .ldc = 133,
                  OUTER,
                  .accumulate = true},
};

/* PoCL compiles each for some seconds, so only a few are usual; with
 * VITCL_TEST_MMA=all, every kind in every product. */
static const struct {
    const char *kind;
    bool usual[PRODUCTS];
} units[] = {{"mma16", {true, true, false, true}},
             {"wmma11", {[DW_PARTS] = true}},
             {"wmma12", {false}},
             {"mfma90a", {[DW] = true}},
             {"mfma942", {false}},
             {"dpas8", {[DX] = true}},
             {"dpas16", {[DW_PARTS] = true}}};

static void on_unit(const char *kind)
{
    static char name[16];

    snprintf(name, sizeof name, "%s", kind);
    vt_test_emulate(kind);
    form.class = VT_CLASS_GPU, form.name = name;
}

/* Parts as a GPU with many processors has them. */
static void check_product(int which)
{
    vt_product_state *g = vt_product_state_of(vt_test_device());
    vt_gemm_desc d = products[which];

    if (vt_test_tiny()) /* also under oclgrind, which is slow */
        d.batch = 1, d.M = 3, d.N = d.trans_b ? 5 : 3;
    g->parts = which == DW_PARTS ? 3 : 1;
    check(&d);
    g->parts = 0;
}

Test(gemm_training, units_emulated)
{
    const bool every = getenv("VITCL_TEST_MMA") != NULL;
    const size_t n = vt_test_tiny() ? 1 : sizeof units / sizeof *units;

    for (size_t i = 0; i < n; i++) {
        on_unit(units[i].kind);
        for (int k = 0; k < PRODUCTS; k++)
            if (every || units[i].usual[k])
                check_product(k);
    }
    unsetenv("VITCL_MMA");
}

/* The same bits twice, and in any batch. */
Test(gemm_training, units_twice)
{
    vt_product_state *g = vt_product_state_of(vt_test_device());

    if (vt_test_tiny())
        return;
    on_unit("mma16");
    check_bits(false);
    g->parts = 3;
    check_twice(&products[DW_PARTS]);
    g->parts = 0;
    unsetenv("VITCL_MMA");
}

/* f16 would lose small gradients; f32 and units without bf16 keep the tiles. */
Test(gemm_training, units_refuse)
{
    static const struct {
        const char *word;
        vt_dtype type;
    } others[] = {{"emulate", VT_F16},
                  {"emulate", VT_F32},
                  {"emulate-mma8", VT_BF16},
                  {"off", VT_BF16}};

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        for (int k = 0; k < PRODUCTS; k++) {
            vt_gemm_desc d = products[k];

            setenv("VITCL_MMA", others[i].word, 1);
            d.type = others[i].type, d.device_class = VT_CLASS_GPU;
            cr_expect_str_eq(vt_test_product("native", &d).form->name, "tile",
                             "%s, product %d", others[i].word, k);
        }
    unsetenv("VITCL_MMA");
}

/* ---- the trial ---- */

static const char *verdict(const char *kind)
{
    const vt_mma_choice c = {.kind = vt_mma_named(kind), .emulated = true};
    const char *word = "none";

    on_unit(kind);
    OK(vt_trial_training(&word, vt_test_device(), c));
    vt_test_sources(vt_mma_subject(VT_MMA_TRAINING, VT_BF16));
    unsetenv("VITCL_MMA");
    return word;
}

Test(gemm_training, units_trial)
{
    if (!vt_test_tiny())
        cr_expect_str_eq(verdict("mma16"), "right");
}

/* Without the last term. A process has each program once. */
Test(gemm_training, units_trial_wrong)
{
    static const char *const others[] = {"gemm_mma_copies", "gemm_mma_pack",
                                         "gemm_sum"}; /* as they are */
    char *folder;

    if (vt_test_tiny())
        return;
    folder = vt_test_folder();
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        vt_test_mutant(folder, others[i], "kernel ", "kernel ");
    vt_test_mutant(folder, "gemm_mma_turn", "r < N && k + 1 < K",
                   "r < N && k + 2 < K");
    setenv("VITCL_CL_DIR", folder, 1);
    cr_expect_str_eq(verdict("mma16"), "wrong");
    unsetenv("VITCL_CL_DIR");
    vt_test_tidy();
}

static const char *verdict_in_f16(const char *kind, bool timed)
{
    const char *word = "none";

    on_unit(kind);
    OK(vt_trial_unit(&word, vt_test_device(), kind, VT_F16, timed));
    unsetenv("VITCL_MMA");
    return word;
}

Test(gemm_training, unit_of_f16)
{
    if (!vt_test_tiny())
        cr_expect_str_eq(verdict_in_f16("mfma90a", false), "right");
}

/* A unit whose kernel loses time, as one that spills does. */
Test(gemm_training, unit_of_f16_slow)
{
    char *folder, *text = NULL, *slow = NULL, *at;

    if (vt_test_tiny())
        return;
    folder = vt_test_folder();
    OK(vt_source_read(&text, "gemm_mma_registers"));
    at = strstr(text, "BEGIN_SUMS(s, earlier);");
    cr_assert(at);
    OK(vt_format(&slow, "%.*sfor (volatile int i = 0; i < 20000; i++)\n;\n%s",
                 (int)(at - text), text, at));
    vt_test_mutant(folder, "gemm_sum", "kernel ", "kernel "); /* and the rest */
    vt_test_mutant(folder, "gemm_tile", "kernel ", "kernel ");
    vt_test_kernel(folder, "gemm_mma_registers", slow);
    setenv("VITCL_CL_DIR", folder, 1);
    cr_expect_str_eq(verdict_in_f16("mfma90a", true), "slower");
    unsetenv("VITCL_CL_DIR");
    free(text);
    free(slow);
    vt_test_tidy();
}

/* A unit that takes numbers below 2^-14 for zero. */
Test(gemm_training, unit_of_f16_flushes)
{
    static const char flush[] =
        "static inline float flushed(int i, const half *p)\n"
        "{\n"
        "    return ((const ushort *)p)[i] & 0x7c00 ? vload_half(i, p) : 0;\n"
        "}\n"
        "#define vload_half flushed\n";
    char *folder, *text = NULL, *common = NULL;

    if (vt_test_tiny())
        return;
    folder = vt_test_folder();
    OK(vt_source_read(&text, "common_units_by_emulation"));
    OK(vt_format(&common, "%s%s#undef vload_half\n", flush, text));
    vt_test_mutant(folder, "gemm_sum", "kernel ", "kernel "); /* and the rest */
    vt_test_kernel(folder, "common_units_by_emulation", common);
    setenv("VITCL_CL_DIR", folder, 1);
    cr_expect_str_eq(verdict_in_f16("mfma90a", false), "wrong");
    unsetenv("VITCL_CL_DIR");
    free(text);
    free(common);
    vt_test_tidy();
}

/* Where a driver of Intel has no block reads of local memory. */
Test(gemm_training, plain_reads)
{
    vt_dev *dev = vt_test_device();

    if (vt_dev_reports(dev, "cl_intel_subgroup_local_block_io"))
        vt_skip("this driver has block reads of local memory");
    setenv("VITCL_MMA", "dpas8", 1);
    cr_expect(strstr(vt_mma_flags(vt_mma_ask(dev, VT_F16)), "-DPLAIN_READS"));
    on_unit("dpas8");
    cr_expect_str_eq(vt_mma_flags(vt_mma_ask(dev, VT_F16)), " -DEMULATE");
    unsetenv("VITCL_MMA");
}
