/*
 * test_words.c - bf16 on the CPU class by AVX-512's dot products or AMX:
 * attention (cl/attention_words.cl) and its gradient, and a block, in training,
 * too, whose values are stored in bf16. On a processor without these
 * instructions, and once on others, they are written in C by an edit of the
 * kernels.
 *
 * All inputs are multiples of 1/64 that bf16 holds. What is rounded to bf16 on
 * the way has a relative error of 2^-9.
 */
#include "base/memory.h"
#include "ops/common.h"
#include "ref/ref.h"
#include "support/attention.h"
#include "support/device.h"
#include "support/near.h"
#include "support/oneplan.h"
#include "support/pictures.h"
#include "support/rng.h"
#include "support/skip.h"
#include "support/words.h"
#include "units/dots.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the instructions, or C in their place ---- */

static bool tiles; /* AMX's */

/* False: not with this driver and processor. */
static bool begin(const char **folder, int kind, bool real)
{
    vt_dev *dev;

    *folder = vt_test_folder();
    if (!real && kind == VT_DOT_BF16)
        vt_test_words_in_c(*folder);
    else if (!real)
        vt_test_tiles_in_c(*folder);
    dev = vt_test_device();
    if (vt_dev_class(dev) != VT_CLASS_CPU || vt_test_tiny() ||
        vt_dev_vector(dev) != 16 ||
        strcmp(vt_dev_info(dev)->platform, "Portable Computing Language") != 0)
        return false;
    tiles = kind == VT_DOT_BF16_TILES;
    vt_dot_use(dev, VT_BF16, kind);
    return !real || (vt_dot_here(kind) && vt_dot_permitted(kind));
}

/* ---- one case ---- */

typedef struct numbers {
    float *f[VT_CASE_INS];
    double *d[VT_CASE_INS];
    size_t n[VT_CASE_INS];
} numbers;

static numbers make(const vt_case *c)
{
    numbers x = {.n = {0}};

    for (int i = 0; i < VT_CASE_INS && (c->in[i].rank || c->in[i].none); i++) {
        vt_rng r = {strlen(c->name) * 977 + (size_t)i};

        x.n[i] = c->in[i].none ? 0 : 1;
        for (int k = 0; k < c->in[i].rank; k++)
            x.n[i] *= (size_t)c->in[i].dim[k];
        x.f[i] = x.n[i] ? malloc(x.n[i] * sizeof(float)) : NULL;
        x.d[i] = x.n[i] ? malloc(x.n[i] * sizeof(double)) : NULL;
        for (size_t k = 0; k < x.n[i]; k++) {
            x.d[i][k] = ((int)(vt_rng_bits(&r) % 255) - 127) / 64.0;
            if (c->in[i].scale != 0) /* a power of two */
                x.d[i][k] *= c->in[i].scale;
            x.f[i][k] = (float)x.d[i][k];
        }
    }
    return x;
}

static void unmake(numbers *x)
{
    for (int i = 0; i < VT_CASE_INS; i++) {
        free(x->f[i]);
        free(x->d[i]);
    }
}

/* Values of the plan that products alone read. */
enum { HALVES = 4, QKV = 1 };
static vt_val halves[HALVES];

/* Attention reads any width, products by tiles whole ones. */
static vt_dtype stored(int i, const vt_value *v)
{
    return tiles && i != QKV && v->dim[v->rank - 1] % 32 ? VT_F32 : VT_BF16;
}

/* The product before the second layer norm writes it, where work-groups of
 * whole rows have some. */
static void check_norm(const vt_plan *p, const vt_case *c)
{
    const int at = vt_value_of(p, halves[2])->first + 1, *d = c->in[0].dim;
    const char *note = vt_plan_step(p, at)->note,
               *next = vt_plan_step(p, at + 1)->note;
    const int least = 32 * (int)vt_dev_info(vt_test_device())->compute_units;
    const bool writes = strstr(note, "layer norm") != NULL;

    cr_expect_eq(writes, tiles && d[2] % 32 == 0 && d[0] * d[1] >= least,
                 "%s: %s", c->name, note);
    cr_expect_eq(strcmp(next, "in the step before") == 0, writes, "%s", next);
}

/* Twice, with equal bits. */
static float *run(size_t *n, const vt_case *c, const numbers *x,
                  vt_case_build build)
{
    vt_val in[VT_CASE_INS], y;
    vt_fixture f;
    float *a, *b;

    vt_fixture_open_as(&f, (vt_plan_options){.device_class = VT_CLASS_CPU,
                                             .gemm = "native",
                                             .precision = VITCL_BF16});
    for (int i = 0; i < VT_CASE_INS; i++) {
        const vt_spec *s = &c->in[i];
        char name[16];

        snprintf(name, sizeof name, "in%d", i);
        in[i] = !x->n[i] ? VT_NONE
                : s->param
                    ? vt_fixture_param(&f, name, s->rank, s->dim, x->f[i])
                    : vt_input(f.plan, name, VT_F32, s->rank, s->dim);
    }
    for (int i = 0; i < HALVES; i++)
        halves[i] = VT_NONE;
    y = build(f.plan, in, c);
    cr_assert_neq(y, VT_NONE, "%s: %s", c->name, vt_message());
    vt_keep(f.plan, y);
    vt_check(vt_plan_finish(f.plan));
    cr_expect_eq(vt_value_of(f.plan, y)->dtype, VT_F32);
    for (int i = 0; i < HALVES && halves[i] != VT_NONE; i++)
        cr_expect_eq(vt_value_of(f.plan, halves[i])->dtype,
                     stored(i, vt_value_of(f.plan, halves[i])), "%s: value %d",
                     c->name, i);
    if (halves[2] != VT_NONE)
        check_norm(f.plan, c);
    for (int i = 0; i < VT_CASE_INS; i++)
        if (in[i] != VT_NONE && !c->in[i].param)
            vt_check(vt_plan_write(f.plan, in[i], x->f[i], x->n[i] * 4));
    *n = (size_t)vt_elements(f.plan, y);
    a = malloc(*n * sizeof *a), b = malloc(*n * sizeof *b);
    vt_check(vt_plan_run(f.plan, 0));
    vt_check(vt_plan_read(f.plan, y, a, *n));
    vt_check(vt_plan_run(f.plan, 0));
    vt_check(vt_plan_read(f.plan, y, b, *n));
    cr_expect_eq(memcmp(a, b, *n * sizeof *a), 0, "%s: other bits in a 2nd run",
                 c->name);
    free(b);
    vt_fixture_close(&f);
    return a;
}

/* The first picture alone: the same bits. */
static void alone(const vt_case *c, const float *want, vt_case_build build)
{
    vt_case one = *c;
    numbers x;
    float *got;
    size_t n;

    for (int i = 0; i < VT_CASE_INS; i++)
        if (!one.in[i].param && one.in[i].rank == 3)
            one.in[i].dim[0] = 1;
    x = make(&one);
    got = run(&n, &one, &x, build);
    cr_expect_eq(memcmp(got, want, n * sizeof *got), 0,
                 "%s: other bits in a batch", c->name);
    free(got);
    unmake(&x);
}

static void check(const vt_case *c, size_t n, vt_case_build build,
                  vt_case_ref ref)
{
    for (; n > 0; n--, c++) {
        numbers x = make(c);
        size_t count;
        float *got = run(&count, c, &x, build);
        double *want = calloc(count, sizeof *want);

        ref(want, (const double *const *)x.d, c);
        cr_expect(vt_near(c->name, got, want, count, 0,
                          c->atol * vt_largest(want, count)));
        alone(c, got, build);
        free(got);
        free(want);
        unmake(&x);
    }
}

#define X(B, T, C)                                                             \
    {                                                                          \
        .rank = 3, .dim = { B, T, C }                                          \
    }
#define P(R, C)                                                                \
    {                                                                          \
        .rank = 2, .dim = {R, C}, .param = true, .scale = 0.125                \
    }
#define BIAS(H, R, C)                                                          \
    {                                                                          \
        .rank = 3, .dim = {H, R, C}, .param = true                             \
    }
#define NONE                                                                   \
    {                                                                          \
        .none = true                                                           \
    }

/* ---- attention: of queries and of keys with values, or of qkv ---- */

static const vt_case of_attention[] = {
    {"33 keys, a width of 3", {X(2, 33, 18), NONE, NONE}, {2}, .atol = 4e-3},
    {"others' keys", {X(2, 5, 80), X(2, 17, 160), NONE}, {2}, .atol = 4e-3},
    {"197 keys", {X(2, 197, 384), NONE, NONE}, {2}, .atol = 4e-3},
    {"63 keys, a bias",
     {X(2, 63, 216), NONE, BIAS(1, 63, 63)},
     {1},
     .atol = 4e-3},
    {"one token", {X(1, 1, 192), NONE, NONE}, {1}, .atol = 1e-5},
    {"two blocks of keys", {X(1, 300, 48), NONE, NONE}, {1}, .atol = 4e-3}};

/* ---- the gradient of qkv ---- */

typedef struct heads {
    int B, T, H, D;
    bool words; /* is it computed by dot products? A small one not by tiles. */
} heads;

/* The gradient of a bias: rows of softmax's sum to 0. */
static void check_bias(vt_plan *p, int rows, int T)
{
    const size_t n = (size_t)(rows * T);
    float *d = malloc(n * sizeof *d), most = 0;

    vt_check(vt_plan_read(p, vt_plan_find(p, "grad.bias"), d, n));
    for (int i = 0; i < rows; i++) {
        float sum = 0;

        for (int j = 0; j < T; j++)
            sum += d[i * T + j], most = fmaxf(most, fabsf(d[i * T + j]));
        cr_expect_float_eq(sum, 0, 1e-4f, "row %d: %g", i, (double)sum);
    }
    cr_expect_gt(most, 1e-2f);
    free(d);
}

/* Of the first B pictures; a second run adds the same again. zeros: a bias. */
static void gradient(float *out, const heads *z, int B, const float *x,
                     const float *g, const float *zeros)
{
    const int C = z->H * z->D;
    const size_t n = (size_t)(B * z->T * 3 * C);
    float *twice = malloc(n * sizeof *twice);
    const vt_step *last = NULL;
    vt_fixture f;
    vt_val y, in;

    vt_fixture_open_as(&f, (vt_plan_options){.device_class = VT_CLASS_CPU,
                                             .gemm = "native",
                                             .precision = VITCL_BF16,
                                             .backward = true,
                                             .train = true});
    y = vt_attention(
        f.plan, vt_fixture_param(&f, "qkv", 3, (int[]){B, z->T, 3 * C}, x),
        (vt_attention_args){
            .heads = z->H,
            .bias = zeros ? vt_fixture_param(&f, "bias", 3,
                                             (int[]){z->H, z->T, z->T}, zeros)
                          : VT_NONE});
    in = vt_input(f.plan, "gradient", VT_F32, 3, (int[]){B, z->T, C});
    vt_plan_backward(f.plan, vt_seed_gradient(f.plan, y, in), vt_add);
    vt_check(vt_plan_finish(f.plan));
    for (int i = 0; i < vt_plan_steps(f.plan); i++)
        if (strcmp(vt_plan_step(f.plan, i)->op->name, "attention_grad") == 0)
            last = vt_plan_step(f.plan, i);
    cr_assert(last);
    cr_expect_eq(strstr(last->note, "bf16") != NULL,
                 z->words && (!tiles || z->T * z->D >= 1500), "%s", last->note);
    vt_check(vt_plan_write(f.plan, in, g, (size_t)(B * z->T * C) * sizeof *g));
    vt_check(vt_plan_run(f.plan, 0));
    vt_check(vt_plan_read(f.plan, vt_plan_find(f.plan, "grad.qkv"), out, n));
    if (zeros)
        check_bias(f.plan, z->H * z->T, z->T);
    vt_check(vt_plan_run(f.plan, 0));
    vt_check(vt_plan_read(f.plan, vt_plan_find(f.plan, "grad.qkv"), twice, n));
    for (size_t i = 0; i < n; i++)
        cr_assert_eq((double)twice[i], 2 * (double)out[i]);
    free(twice);
    vt_fixture_close(&f);
}

static void check_gradients(const heads *z, size_t cases)
{
    static const float zeros[2 * 33 * 33];

    for (; cases > 0; cases--, z++) {
        const size_t m = (size_t)(z->B * z->T * z->H * z->D), n = 3 * m;
        float *x = malloc(n * sizeof *x), *g = malloc(m * sizeof *g);
        float *got = malloc(n * sizeof *got), *one = malloc(n * sizeof *one);
        double *want = calloc(n, sizeof *want);
        vt_rng r = {5};

        for (size_t i = 0; i < n; i++)
            x[i] = (float)((int)(vt_rng_bits(&r) % 255) - 127) / 64;
        for (size_t i = 0; i < m; i++)
            g[i] = (float)((int)(vt_rng_bits(&r) % 255) - 127) / 64;
        gradient(got, z, z->B, x, g, NULL);
        vt_test_qkv_grad(want, x, g, (size_t)z->B, (size_t)z->T, (size_t)z->H,
                         (size_t)z->D);
        cr_expect(vt_near("dqkv", got, want, n, 0, 4e-3 * vt_largest(want, n)),
                  "%d heads of %d, %d tokens", z->H, z->D, z->T);
        gradient(one, z, 1, x, g, NULL);
        cr_expect_arr_eq(one, got, n / (size_t)z->B * sizeof *one,
                         "other bits in a batch");
        if (z->T == 33) {
            gradient(one, z, z->B, x, g, zeros);
            cr_expect_arr_eq(one, got, n * sizeof *one,
                             "other bits with a bias of 0");
        }
        free(x), free(g), free(got), free(one), free(want);
    }
}

static const heads of_gradients[] = {
    {2, 33, 2, 48, true},  {1, 1, 1, 16, true},  {2, 197, 3, 64, true},
    {1, 50, 1, 80, true},  {1, 9, 2, 24, true},  {2, 130, 2, 12, true},
    {1, 65, 1, 34, true},  {1, 33, 2, 2, true},  {1, 19, 2, 15, false},
    {1, 160, 1, 16, true}, {1, 33, 1, 128, true}};

/* ---- a block: x + fc(gelu(fc(ln(x + proj(attention(qkv(ln(x)))))))) ---- */

typedef struct shape {
    int B, T, C, W; /* W: columns between the two last layers */
} shape;

static shape of(const vt_case *c)
{
    const int *d = c->in[0].dim;

    return (shape){d[0], d[1], d[2], c->in[4].dim[0]};
}

static vt_val block(vt_plan *p, const vt_val *in, const vt_case *c)
{
    const vt_attention_args a = {.heads = c->arg[0], .bias = VT_NONE};
    vt_linear_args l = {.b = VT_NONE, .scale = VT_NONE, .residual = VT_NONE};
    vt_val x = in[0], h;

    h = halves[0] = vt_layernorm(p, x, in[1], VT_NONE, 1e-6f);
    l.w = in[2];
    h = halves[QKV] = vt_linear(p, h, l);
    h = halves[2] = vt_attention(p, h, a);
    l.w = in[3], l.residual = x;
    x = vt_linear(p, h, l);
    h = c->arg[1] ? vt_rmsnorm(p, x, in[1], 1e-6f, 0)
                  : vt_layernorm(p, x, in[1], VT_NONE, 1e-6f);
    l.w = in[4], l.residual = VT_NONE, l.act = VT_ACT_GELU;
    h = halves[3] = vt_linear(p, h, l);
    l.w = in[5], l.residual = x, l.act = VT_ACT_NONE;
    return vt_linear(p, h, l);
}

static void ref_of_block(double *out, const double *const *in, const vt_case *c)
{
    const shape s = of(c);
    const int m = s.B * s.T, H = c->arg[0];
    const size_t n = (size_t)m * (size_t)s.C;
    double *h = malloc(n * 8), *qkv = malloc(3 * n * 8), *x = malloc(n * 8);
    double *wide = malloc((size_t)m * (size_t)s.W * 8);

    ref_layernorm(h, in[0], in[1], NULL, s.B, s.T, s.C, s.T, 1e-6, 0);
    ref_linear(qkv, h, in[2], NULL, NULL, NULL, m, 3 * s.C, s.C, 0);
    ref_heads(h, qkv, qkv + s.C, qkv + 2 * s.C, NULL, s.B, H, s.C / H, s.T, s.T,
              3 * s.C, 3 * s.C, 1 / sqrt((double)s.C / H), 0);
    ref_linear(x, h, in[3], NULL, NULL, in[0], m, s.C, s.C, 0);
    ref_layernorm(h, x, in[1], NULL, s.B, s.T, s.C, s.T, 1e-6, c->arg[1]);
    ref_linear(wide, h, in[4], NULL, NULL, NULL, m, s.W, s.C, VT_ACT_GELU);
    ref_linear(out, wide, in[5], NULL, NULL, x, m, s.C, s.W, 0);
    free(h);
    free(qkv);
    free(x);
    free(wide);
}

static const vt_case of_blocks[] = {
    {"3x50, a head of 34",
     {X(3, 50, 34), P(1, 34), P(102, 34), P(34, 34), P(36, 34), P(34, 36)},
     {1},
     .atol = 2e-2},
    {"2x17, 2 heads of 16",
     {X(2, 17, 32), P(1, 32), P(96, 32), P(32, 32), P(70, 32), P(32, 70)},
     {2},
     .atol = 2e-2},
    {"3x50, a head of 64",
     {X(3, 50, 64), P(1, 64), P(192, 64), P(64, 64), P(96, 64), P(64, 96)},
     {1},
     .atol = 2e-2},
    {"3x197, 2 heads of 48, rms",
     {X(3, 197, 96), P(1, 96), P(288, 96), P(96, 96), P(38, 96), P(96, 38)},
     {2, 1},
     .atol = 2e-2}};

/* The gradients of its weights, one behind the other. floats: the values that
 * products alone read, and their gradients, are read by another step, too, and
 * so stored in f32. */
static float *weights_of(size_t *n, const vt_case *c, const numbers *x,
                         bool floats)
{
    const int *d = c->in[0].dim, wide = d[1] * (d[2] / c->arg[0]);
    vt_val in[VT_CASE_INS], y, g, of[3];
    float *out, *at, *ones = malloc(x->n[0] * sizeof *ones);
    vt_fixture f;

    vt_fixture_open_as(&f, (vt_plan_options){.device_class = VT_CLASS_CPU,
                                             .gemm = "native",
                                             .precision = VITCL_BF16,
                                             .backward = true,
                                             .train = true});
    in[0] = vt_input(f.plan, "in0", VT_F32, 3, d);
    *n = 0;
    for (int i = 1; i < VT_CASE_INS; i++) {
        char name[16];

        snprintf(name, sizeof name, "in%d", i);
        in[i] = vt_fixture_param(&f, name, 2, c->in[i].dim, x->f[i]);
        *n += x->n[i];
    }
    y = block(f.plan, in, c);
    for (int i = 0; floats && i < HALVES; i++)
        vt_keep(f.plan, vt_scale(f.plan, halves[i], 1.0f));
    g = vt_input(f.plan, "gradient", VT_F32, 3, d);
    vt_plan_backward(f.plan, vt_seed_gradient(f.plan, y, g), vt_add);
    for (int i = 0; i < 3; i++) {
        vt_val unused, v = vt_activated(f.plan, halves[QKV + i], &unused);

        of[i] = vt_grad(f.plan, v);
        if (floats)
            vt_keep(f.plan, vt_scale(f.plan, of[i], 1.0f));
    }
    vt_check(vt_plan_finish(f.plan));
    for (int i = 0; i < 3; i++) { /* products by tiles read whole ones */
        const vt_value *v = vt_value_of(f.plan, of[i]);

        cr_expect_eq(v->dtype,
                     floats || (tiles && ((i < 2 && wide < 1500) ||
                                          (i != 1 && v->dim[2] % 32)))
                         ? VT_F32
                         : VT_BF16,
                     "%s: gradient %d", c->name, i);
    }
    for (int i = 0; i < HALVES; i++) {
        const vt_value *v = vt_value_of(f.plan, halves[i]);

        cr_expect_eq(v->dtype,
                     floats || (i == QKV && tiles && wide < 1500)
                         ? VT_F32
                         : stored(i, v),
                     "%s: value %d", c->name, i);
    }
    for (size_t i = 0; i < x->n[0]; i++)
        ones[i] = i % 7 ? 0.25f : -1;
    vt_check(vt_plan_write(f.plan, in[0], x->f[0], x->n[0] * sizeof(float)));
    vt_check(vt_plan_write(f.plan, g, ones, x->n[0] * sizeof(float)));
    vt_check(vt_plan_run(f.plan, 0));
    at = out = malloc(*n * sizeof *out);
    for (int i = 1; i < VT_CASE_INS; at += x->n[i++]) {
        char name[16];

        snprintf(name, sizeof name, "grad.in%d", i);
        vt_check(vt_plan_read(f.plan, vt_plan_find(f.plan, name), at, x->n[i]));
    }
    free(ones);
    vt_fixture_close(&f);
    return out;
}

/* Rounded where they are written, not where they are read: the same bits. */
static void check_training(const vt_case *c, size_t n)
{
    for (; n > 0; n--, c++) {
        numbers x = make(c);
        size_t count;
        float *got = weights_of(&count, c, &x, false);
        float *want = weights_of(&count, c, &x, true);

        cr_expect_eq(memcmp(got, want, count * sizeof *got), 0,
                     "%s: other gradients", c->name);
        free(got), free(want);
        unmake(&x);
    }
}

/* ---- softmax ---- */

/* Of two keys with scores 0 and x, and values 1 and 0, the output is 1 / (1 +
 * e^x), where e^x is not rounded to bf16. */
static void exponents(void)
{
    const vt_case c = {"e^x", {X(160, 2, 6), NONE, NONE}, {1}, .atol = 0x1p-13};
    numbers x = make(&c);
    float *got;
    size_t n;

    for (int b = 0; b < 160; b++) {
        const float of[] = {1, 0, 0, 0, 1, 0, 1, 0, (float)-b / 32, 0, 0, 0};

        memcpy(x.f[0] + (size_t)b * 12, of, sizeof of);
    }
    got = run(&n, &c, &x, vt_test_attention);
    for (int b = 0; b < 160; b++) {
        const double want = exp(-b / 32.0 / sqrt(2));

        cr_expect_float_eq(1 / (double)got[(size_t)b * 4] - 1, want,
                           want * c.atol, "%g: %g", -b / 32.0, want);
    }
    free(got);
    unmake(&x);
}

/* A masked key has no weight at all; a query that is NaN makes its row NaN. */
static void masks(void)
{
    const vt_case c = {
        "masks", {X(1, 20, 6), NONE, BIAS(1, 20, 20)}, {1}, .atol = 0};
    numbers x = make(&c);
    float *got;
    size_t n;

    for (int i = 0; i < 20; i++) {
        for (int j = i + 1; j < 20; j++)
            x.f[2][i * 20 + j] = -INFINITY;
        x.f[0][i * 6 + 4] = i ? 0x1p100f : 3;
    }
    x.f[0][7 * 6] = NAN;
    got = run(&n, &c, &x, vt_test_attention);
    cr_expect_eq(got[0], 3.0f, "%g", (double)got[0]);
    for (int i = 0; i < 20; i++)
        cr_expect_eq(!isfinite(got[i * 2]), i == 7, "row %d: %g", i,
                     (double)got[i * 2]);
    free(got);
    unmake(&x);
}

/* Fewer cases for C, which takes seconds to compile. */
static void check_kind(int kind, bool real)
{
    const char *folder;
    const bool here = begin(&folder, kind, real);

    if (here) {
        if (real) {
            exponents();
            masks();
        }
        check(of_attention, real ? VT_COUNT(of_attention) : 2,
              vt_test_attention, vt_test_attention_ref);
        check_gradients(of_gradients, real ? VT_COUNT(of_gradients) : 1);
        check(of_blocks, real ? VT_COUNT(of_blocks) : 1, block, ref_of_block);
        check_training(of_blocks, real ? VT_COUNT(of_blocks) : 1);
    }
    vt_test_remove(folder);
    if (!here)
        vt_skip("not with this driver and processor");
}

Test(attention, words)
{
    check_kind(VT_DOT_BF16, true);
}

Test(attention, words_in_c)
{
    check_kind(VT_DOT_BF16, false);
}

Test(attention, tiles)
{
    check_kind(VT_DOT_BF16_TILES, true);
}

Test(attention, tiles_in_c)
{
    check_kind(VT_DOT_BF16_TILES, false);
}
