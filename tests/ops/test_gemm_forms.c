/*
 * test_gemm_forms.c - every int8 and bf16 form that the CPU supports. Each is
 * forced by a stored trial result and its name is asserted: after a failed
 * trial, another form would be tested without notice.
 *
 * The values lie on a grid on which scales are 1 and sums are exact, so
 * rounding to the format is the only error and every bit is known. Weights, and
 * activations if these are rounded too, are on a step as often as between two
 * steps. The largest values of a row and of a column are first, in the middle,
 * and after the last whole vector.
 */
#include "ref/ref.h"
#include "support/device.h"
#include "support/oneplan.h"
#include "support/pictures.h"
#include "support/skip.h"
#include "support/words.h"
#include "units/dots.h"
#include "units/verdicts.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OK(x) cr_assert_eq((x), VITCL_OK, "%s", vt_message())

/* How a form rounds what it multiplies: activations not at all, to steps of
 * the row's largest magnitude or its range, or to bf16. PAIRS: as RANGE, and
 * steps of weights allow for the sum of two. */
enum { KEPT, STEPS, RANGE, PAIRS, BF16 };

typedef struct form {
    const char *name;  /* in the kernel's description */
    const char *needs; /* the processor feature of a form that needs a trial, or
                        * "" */
    vt_dtype type;
    int rounding;
    vt_class class;
} form;

static uint32_t state = 5;

/* In [-most, most], in quarters. */
static float quarter(int most)
{
    state = state * 1664525u + 1013904223u;
    return (float)((int)((state >> 8) % (unsigned)(8 * most + 1)) - 4 * most) /
           4;
}

/* Rounds a whole number, |x| < 512, to 8 bits, ties to even. */
static double to_bf16(double x)
{
    return fabs(x) < 256 ? x : 2 * rint(x / 2);
}

typedef struct data {
    int M, N, K, top;
    float *a, *b, *bias, *scale, *residual, *c;
} data;

static bool by_range(const form *f)
{
    return f->rounding == RANGE || f->rounding == PAIRS;
}

/* Column i's largest weight or, where sums of pairs count, two that add up to
 * it; both round up, and row_of_pairs() has 255 there. */
static void largest_weight(const data *d, const form *f, size_t i)
{
    const size_t k = (size_t)d->K;
    float *w = d->b + i * k + (size_t[]){1, k - 2, k - 4, 17}[i % 4];
    const float top = (float)(i % 8 < 4 ? d->top : -d->top);

    w[0] = top;
    if (f->rounding == PAIRS && i % 4 < 3)
        w[-1] = -top / 8;
    else if (f->rounding == PAIRS)
        w[-1] = w[0] = top / 2;
}

static void row_of_pairs(const form *f, float *row, int zero)
{
    if (f->rounding == PAIRS)
        row[16] = row[17] = (float)(255 - zero);
}

static data make(const form *f, int M, int N, int K)
{
    const size_t m = (size_t)M, n = (size_t)N, k = (size_t)K;
    const int most =
        (int)sqrt((double)INT32_MAX / K); /* as cl/gemm_dot_pack.cl */
    data d = {.M = M, .N = N, .K = K};

    d.top = f->rounding == STEPS && most > 4095 ? 4095
            : f->rounding == STEPS              ? most
                                                : 127;
    d.a = malloc(m * k * sizeof(float)), d.b = malloc(n * k * sizeof(float));
    d.bias = malloc(n * sizeof(float)), d.scale = malloc(n * sizeof(float));
    d.residual = malloc(m * n * sizeof(float));
    d.c = malloc(m * n * sizeof(float));
    for (size_t i = 0; i < m * k; i++)
        d.a[i] = f->type == VT_BF16 ? 4 * quarter(127) : quarter(20);
    for (size_t i = 0; i < n * k; i++)
        d.b[i] = f->type == VT_BF16 ? 4 * quarter(127) : quarter(20);
    for (size_t i = 0; i < n; i++)
        d.bias[i] = rintf(quarter(99)), d.scale[i] = (float)(i % 4) - 1;
    for (size_t i = 0; i < m * n; i++)
        d.residual[i] = rintf(quarter(99));
    for (size_t i = 0; i < m && f->type == VT_I8; i++) {
        const size_t at[4] = {0, k - 1, k - 3, 18}; /* even; those of columns
                                                     * are odd */
        const int zero = (int)(37 * i % 256);
        float *row = d.a + i * k;

        if (by_range(f))
            for (size_t e = 0; e < k; e++) /* within the range */
                row[e] =
                    fminf(fmaxf(row[e], (float)-zero), (float)(255 - zero));
        row[at[i % 4]] = (float)(by_range(f) ? -zero : -d.top);
        if (by_range(f))
            row[at[(i + 1) % 4]] = (float)(255 - zero);
        row_of_pairs(f, row, zero);
    }
    for (size_t i = 0; i < n && f->type == VT_I8; i++)
        largest_weight(&d, f, i);
    for (size_t e = 0; e < k; e++) /* a column without a scale */
        d.b[5 * k + e] = 0;
    return d;
}

static void unmake(data *d)
{
    free(d->a), free(d->b), free(d->bias), free(d->scale);
    free(d->residual), free(d->c);
}

static double rounded_a(const form *f, float x)
{
    return f->rounding == KEPT   ? (double)x
           : f->rounding == BF16 ? to_bf16((double)x)
                                 : rint((double)x);
}

static double want(const form *f, const data *d, int m, int n)
{
    double sum = (double)d->bias[n];

    for (int k = 0; k < d->K; k++) {
        const double w = (double)d->b[n * d->K + k];
        sum += rounded_a(f, d->a[m * d->K + k]) *
               (f->type == VT_BF16 ? to_bf16(w) : rint(w));
    }
    return ref_act(sum, VT_ACT_RELU) * (double)d->scale[n] +
           (double)d->residual[m * d->N + n];
}

static void multiply(const form *f, const data *d)
{
    vt_dev *dev = vt_test_device();
    vt_queue *q = vt_test_queue();
    const vt_gemm_desc g = {.M = d->M,
                            .N = d->N,
                            .K = d->K,
                            .type = f->type,
                            .b_packed = true,
                            .bias = true,
                            .scale = true,
                            .residual = true,
                            .act = VT_ACT_RELU,
                            .device_class = f->class};
    const size_t n = (size_t)d->N, c = (size_t)d->M * n, k = (size_t)d->K;
    vt_test_class(f->class);
    const vt_product x = vt_test_product("native", &g);
    vt_gemm_bufs b = {.a = vt_test_floats(d->a, (size_t)d->M * k),
                      .bias = vt_test_floats(d->bias, n),
                      .scale = vt_test_floats(d->scale, n),
                      .residual = vt_test_floats(d->residual, c),
                      .c = vt_test_floats(NULL, c)};
    vt_buf *plain = vt_test_floats(d->b, n * k);
    vt_gemm *gemm = NULL;

    OK(vt_buf_new(&b.b, dev, x.packed_bytes));
    OK(vt_buf_fill(q, b.b, 0x7fc07fc0u));
    OK(vt_product_pack(q, &x, b.b, plain));
    if (x.temp_bytes) {
        OK(vt_buf_new(&b.temp, dev, x.temp_bytes));
        OK(vt_buf_fill(q, b.temp, 0x7fc00000u));
    }
    OK(vt_product_bind(&gemm, dev, &x, &b));
    cr_assert(strstr(vt_gemm_describe(gemm), f->name), "%s, not %s",
              vt_gemm_describe(gemm), f->name);
    OK(vt_gemm_launch(q, gemm));
    OK(vt_queue_finish(q));
    vt_test_read(d->c, b.c, c);
    vt_gemm_free(gemm);
    vt_buf *const all[] = {b.a,        b.b, b.bias, b.scale,
                           b.residual, b.c, b.temp, plain};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        vt_buf_free(all[i]);
}

static void check_size(const form *f, int M, int N, int K)
{
    data d = make(f, M, N, K);
    int wrong = 0;

    multiply(f, &d);
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            const double got = (double)d.c[m * N + n], v = want(f, &d, m, n);
            if (!(got == v) && wrong++ == 0)
                cr_expect(false, "%s: %dx%dx%d: C[%d,%d] is %.9g, not %.9g",
                          f->name, M, N, K, m, n, got, v);
        }
    cr_expect_eq(wrong, 0, "%s: %dx%dx%d: %d wrong", f->name, M, N, K, wrong);
    unmake(&d);
}

/* A row with a NaN or an infinity has it in every column of its result; other
 * rows do not. NaNs have their bits at either end, and are in whole vectors and
 * after them. */
static void check_rows(const form *f)
{
    enum { M = 23, N = 37, K = 45 };
    static const uint32_t bits[] = {0x7f800001, 0xffc00000, 0x7f800000,
                                    0xff800000};
    data d = make(f, M, N, K);

    for (size_t i = 0; i < N * K; i++)
        d.b[i] += d.b[i] == 0; /* inf * 0 would be NaN in f32 alone */
    largest_weight(&d, f, 5);  /* its scale is now 1, too */
    for (int m = 1; m < M; m += 2)
        memcpy(d.a + m * K + (m < 4 ? K - 1 : 3), &bits[m / 2 % 4], 4);
    for (size_t n = 0; n < N; n++) /* ReLU would hide -inf */
        d.scale[n] = 1;
    multiply(f, &d);
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            const float c = d.c[m * N + n];
            if (m % 2 == 0)
                cr_assert_eq((double)c, want(f, &d, m, n), "%s: row %d",
                             f->name, m);
            else if (m < 4) /* NaNs */
                cr_assert(isnan(c), "%s: row %d: %g", f->name, m, (double)c);
        }
    unmake(&d);
}

static bool has(const char *needs)
{
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_cpu_init();
    if (strcmp(needs, "avx2") == 0)
        return __builtin_cpu_supports("avx2");
    if (strcmp(needs, "avx512vnni") == 0)
        return __builtin_cpu_supports("avx512vnni");
    if (strcmp(needs, "avx512bf16") == 0)
        return __builtin_cpu_supports("avx512bf16");
    if (strcmp(needs, "amx-int8") == 0)
        return vt_dot_here(VT_DOT_U8_TILES);
    if (strcmp(needs, "amx-bf16") == 0)
        return vt_dot_here(VT_DOT_BF16_TILES);
#elif defined(__aarch64__) && defined(__linux__)
    if (strcmp(needs, "asimddp") == 0)
        return vt_dot_here(VT_DOT_S8);
    if (strcmp(needs, "i8mm") == 0)
        return vt_dot_here(VT_DOT_S8_PAIR);
    if (strcmp(needs, "bf16") == 0)
        return vt_dot_here(VT_DOT_BF16_ARM);
#endif
    return *needs == '\0';
}

/* Only its compiler is known to take what is written for processors. */
static bool on_pocl(const vt_dev *dev)
{
    return vt_dev_class(dev) == VT_CLASS_CPU && !vt_test_tiny() &&
           strcmp(vt_dev_info(dev)->platform, "Portable Computing Language") ==
               0;
}

static void check(form f)
{
    const char *folder = *f.needs ? vt_test_folder() : NULL;
    vt_dev *dev;

    if (folder) { /* here the trial's result is stored */
        setenv("XDG_CACHE_HOME", folder, 1);
        unsetenv("VITCL_CACHE");
        if (f.rounding == STEPS) /* on request, where 8 bits are faster */
            setenv("VITCL_DOT", f.name, 1);
        else
            unsetenv("VITCL_DOT");
    } else {
        setenv("VITCL_DOT", "off", 1);
    }
    dev = vt_test_device();
    if (folder && (!has(f.needs) || !on_pocl(dev))) {
        vt_test_remove(folder);
        vt_skip("no %s here", f.name);
    }
    if (folder) {
        const vt_subject s = vt_dot_subject(f.type);

        vt_verdict_save(dev, &s, f.name);
    }
    if (f.class != VT_CLASS_GPU || !vt_test_tiny())
        check_size(&f, vt_test_tiny() ? 7 : 23, vt_test_tiny() ? 17 : 37, 45);
    if (!vt_test_tiny()) /* with the same program */
        check_rows(&f);
    if (!vt_test_tiny() && f.class == VT_CLASS_CPU)
        check_size(&f, 23, 37, 1301);
    if (folder)
        vt_test_remove(folder);
}

Test(gemm_forms, int8_fma)
{
    check((form){"native rows", "", VT_I8, KEPT, VT_CLASS_CPU});
}

Test(gemm_forms, int8_tile)
{
    setenv("VITCL_MMA", "off", 1); /* Intel's driver for CPUs has a unit */
    check((form){"native tile", "", VT_I8, KEPT, VT_CLASS_GPU});
}

Test(gemm_forms, int8_vpmaddwd)
{
    check((form){"vpmaddwd", "avx2", VT_I8, STEPS, VT_CLASS_CPU});
}

Test(gemm_forms, int8_vpmaddubsw)
{
    check((form){"vpmaddubsw", "avx2", VT_I8, PAIRS, VT_CLASS_CPU});
}

Test(gemm_forms, int8_vpdpbusd)
{
    check((form){"vpdpbusd", "avx512vnni", VT_I8, RANGE, VT_CLASS_CPU});
}

Test(gemm_forms, int8_sdot)
{
    check((form){"sdot", "asimddp", VT_I8, RANGE, VT_CLASS_CPU});
}

Test(gemm_forms, int8_smmla)
{
    check((form){"smmla", "i8mm", VT_I8, RANGE, VT_CLASS_CPU});
}

Test(gemm_forms, bf16_bfdot)
{
    check((form){"bfdot", "bf16", VT_BF16, BF16, VT_CLASS_CPU});
}

Test(gemm_forms, bf16_bfmmla)
{
    check((form){"bfmmla", "bf16", VT_BF16, BF16, VT_CLASS_CPU});
}

/* A form with its instruction written in C, by an edit of the kernel: the rest
 * of it runs on any processor with PoCL. tests/ops/assembly.sh compiles the
 * instruction itself. Returns false if this is another driver. */
static bool in_c(const char **folder, const char *edit)
{
    char command[2048];

    *folder = vt_test_folder();
    snprintf(command, sizeof command,
             "cp -r '%s/../../cl' '%s' && cd '%s/cl' && t='%s/../ops' && "
             "%s && ! cmp -s gemm_dot.cl '%s/../../cl/gemm_dot.cl'",
             VT_DATA, *folder, *folder, VT_DATA, edit, VT_DATA);
    cr_assert_eq(system(command), 0);
    snprintf(command, sizeof command, "%s/cl", *folder);
    setenv("VITCL_CL_DIR", command, 1);
    return on_pocl(vt_test_device());
}

/* A form with one instruction, which is the line that begins with `line`. */
static bool one_in_c(const char **folder, const char *line, const char *code)
{
    char edit[1024];

    snprintf(edit, sizeof edit,
             "sed -i 's/__attribute__((target(.*//; s/__asm__(%s.*/%s/' "
             "gemm_dot.cl && grep -q '(char .)&w' gemm_dot.cl",
             line, code);
    return in_c(folder, edit);
}

static void emulate(const form *f, int kind, const char *line, const char *code)
{
    const char *folder;

    if (one_in_c(&folder, line, code)) {
        vt_dot_use(vt_test_device(), f->type, kind);
        check_size(f, 23, 37, 45);
        check_rows(f);
        check_size(f, 23, 37, 1301);
    }
    vt_test_remove(folder);
}

static const char vex[] =
    "for (int i = 0; i < 4 * V; i++) ((int *)\\&s)[i \\/ 4] += "
    "((uchar *)\\&x)[i] * ((char *)\\&w)[i];";

Test(gemm_forms, int8_vpdpbusd_vex_emulated)
{
    emulate(&(form){"vpdpbusdvex", "", VT_I8, RANGE, VT_CLASS_CPU},
            VT_DOT_U8_VEX, "\"%{vex%}", vex);
}

/* Layer norm and two products that read it, y and z. kept: so is its result.
 * Runs twice. */
static void norm_and_products(float *yz, bool kept)
{
    enum { T = 5, C = 45, N = 37 };
    static float weights[N * C], x[2 * T * C];
    const int dim[] = {2, T, C};
    vt_linear_args a = {.b = VT_NONE, .scale = VT_NONE, .residual = VT_NONE};
    vt_val in, h, out[2];
    vt_fixture f;

    for (size_t i = 0; i < N * C; i++)
        weights[i] = (float)((int)(i * 977 % 255) - 127) / 64;
    for (size_t i = 0; i < 2 * T * C; i++)
        x[i] = (float)((int)(i * 7919 % 1009) - 400) / 97;
    vt_fixture_open_as(&f, (vt_plan_options){.device_class = VT_CLASS_CPU,
                                             .gemm = "native",
                                             .precision = VITCL_INT8});
    in = vt_input(f.plan, "x", VT_F32, 3, dim);
    h = vt_layernorm(f.plan, in, VT_NONE,
                     vt_fixture_param(&f, "beta", 1, (int[]){C}, weights),
                     1e-6f);
    a.w = vt_fixture_param(&f, "w", 2, (int[]){N, C}, weights);
    for (int i = 0; i < 2; i++, a.act = VT_ACT_GELU)
        vt_keep(f.plan, out[i] = vt_linear(f.plan, h, a));
    if (kept)
        vt_keep(f.plan, h);
    OK(vt_plan_finish(f.plan));
    cr_expect_eq(vt_value_of(f.plan, h)->dtype, kept ? VT_F32 : VT_I8);
    for (int i = 1; i < 3; i++) /* no words of their own */
        cr_expect_eq(vt_plan_step(f.plan, i)->out[VT_TEMP] == VT_NONE, !kept);
    OK(vt_plan_write(f.plan, in, x, sizeof x));
    for (int run = 0; run < 2; run++) {
        OK(vt_plan_run(f.plan, 0));
        for (int i = 0; i < 2; i++, yz += 2 * T * N)
            OK(vt_plan_read(f.plan, out[i], yz, 2 * T * N));
    }
    vt_fixture_close(&f);
}

/* What layer norm rounds for products has the bits that they would round. */
Test(gemm_forms, int8_of_layer_norm)
{
    enum { RUN = 2 * 2 * 5 * 37 };
    static float a[2 * RUN], b[2 * RUN];
    const char *folder;

    if (one_in_c(&folder, "\"%{vex%}", vex)) {
        vt_dot_use(vt_test_device(), VT_BF16, VT_DOT_NONE);
        vt_dot_use(vt_test_device(), VT_I8, VT_DOT_U8_VEX);
        norm_and_products(a, false);
        norm_and_products(b, true);
        cr_expect_eq(memcmp(a, b, sizeof a), 0);
        cr_expect_eq(memcmp(a, a + RUN, RUN * sizeof *a), 0);
    }
    vt_test_remove(folder);
}

/* Arm's: row i / VT_STEP, column i % VT_STEP of a product of two by two, or
 * lane i */
#define EACH_SUM                                                               \
    "for (int i = 0; i < 4; i++) for (int k = 0; k < VT_KG * VT_STEP; k++) "   \
    "s[i] += "
#define OF_X "[(VT_STEP == 2 ? i \\/ 2 : i) * VT_KG * VT_STEP + k]"
#define OF_W "[(VT_STEP == 2 ? i % 2 : i) * VT_KG * VT_STEP + k]"
static const char integers[] =
    EACH_SUM "((char *)\\&x)" OF_X " * ((char *)\\&w)" OF_W ";";
static const char floats[] =
    EACH_SUM "as_float(((ushort *)\\&x)" OF_X " << 16) * "
             "as_float(((ushort *)(char *)\\&w)" OF_W " << 16);";

Test(gemm_forms, int8_sdot_emulated)
{
    emulate(&(form){"sdot", "", VT_I8, RANGE, VT_CLASS_CPU}, VT_DOT_S8,
            "INSTRUCTION", integers);
}

Test(gemm_forms, int8_smmla_emulated)
{
    emulate(&(form){"smmla", "", VT_I8, RANGE, VT_CLASS_CPU}, VT_DOT_S8_PAIR,
            "INSTRUCTION", integers);
}

Test(gemm_forms, bf16_bfdot_emulated)
{
    emulate(&(form){"bfdot", "", VT_BF16, BF16, VT_CLASS_CPU}, VT_DOT_BF16_ARM,
            "INSTRUCTION", floats);
}

Test(gemm_forms, bf16_bfmmla_emulated)
{
    emulate(&(form){"bfmmla", "", VT_BF16, BF16, VT_CLASS_CPU},
            VT_DOT_BF16_PAIR, "INSTRUCTION", floats);
}

/* Heights of one tile and of two, blocks of both heights, and sums that are
 * stored between two parts of K. */
static void check_tiles(const form *f, int kind)
{
    const char *folder;

    if (in_c(&folder, VT_TEST_TILES)) {
        vt_dot_use(vt_test_device(), f->type, kind);
        check_size(f, 23, 37, 45);
        check_rows(f);
        check_size(f, 7, 17, 45);
        check_size(f, 67, 37, 1301);
        if (f->type == VT_I8) /* in bf16, such sums are not exact */
            check_size(f, 33, 65, 4200);
    }
    vt_test_remove(folder);
}

Test(gemm_forms, int8_tdpbusd_emulated)
{
    check_tiles(&(form){"tdpbusd", "", VT_I8, RANGE, VT_CLASS_CPU},
                VT_DOT_U8_TILES);
}

Test(gemm_forms, bf16_tdpbf16ps_emulated)
{
    check_tiles(&(form){"tdpbf16ps", "", VT_BF16, BF16, VT_CLASS_CPU},
                VT_DOT_BF16_TILES);
}

Test(gemm_forms, int8_tdpbusd)
{
    check((form){"tdpbusd", "amx-int8", VT_I8, RANGE, VT_CLASS_CPU});
}

Test(gemm_forms, bf16_tdpbf16ps)
{
    check((form){"tdpbf16ps", "amx-bf16", VT_BF16, BF16, VT_CLASS_CPU});
}

Test(gemm_forms, bf16_fma)
{
    check((form){"native rows", "", VT_BF16, KEPT, VT_CLASS_CPU});
}

Test(gemm_forms, bf16_tile)
{
    check((form){"tile", "", VT_BF16, KEPT, VT_CLASS_GPU});
}

Test(gemm_forms, bf16_vdpbf16ps)
{
    check((form){"vdpbf16ps", "avx512bf16", VT_BF16, BF16, VT_CLASS_CPU});
}

/* Plans ask before anything is multiplied; a trial takes seconds. */
Test(gemm_forms, asking_tries_nothing)
{
    const char *folder = vt_test_folder();
    vt_product x;
    vt_dev *dev;
    bool untried;

    setenv("XDG_CACHE_HOME", folder, 1);
    unsetenv("VITCL_CACHE");
    unsetenv("VITCL_DOT");
    dev = vt_test_device();
    untried = vt_dot_untried(dev, VT_I8);
    if (untried) {
        OK(vt_product_any(&x, dev, "native", VT_I8, VT_CLASS_CPU));
        cr_expect(x.own);
        cr_expect(vt_dot_untried(dev, VT_I8));
    }
    vt_test_remove(folder);
    if (!untried)
        vt_skip("no instruction to try here");
}
