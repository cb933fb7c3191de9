/*
 * test_attention.c - attention for both device classes against a reference in
 * double: odd numbers of tokens and head widths, bias, shared queries, large
 * logits, probabilities, also of axial attention. Results are reproducible and
 * independent of the rest of the batch; nothing is written out of bounds.
 */
#include "ops/ops.h"
#include "plan/plan_private.h"
#include "ref/attention.h"
#include "support/attention.h"
#include "support/device.h"
#include "support/near.h"
#include "support/oneplan.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct attention_case {
    int B, H, Tq, T, D; /* Tq 0: self-attention */
    int bias; /* 0: none, 1: one a head, 2: of all heads, which hides the tokens
               * behind a query */
    bool probs, shared;
    float size; /* of queries: 0 is 1 */
} attention_case;

static const attention_case cases[] = {
    {1, 3, 0, 1, 64, 0, true, false, 0},
    {2, 2, 0, 2, 1, 1, false, false, 0},
    {1, 2, 0, 31, 3, 0, false, false, 0},
    {1, 2, 0, 32, 16, 1, true, false, 0},
    {1, 1, 0, 37, 4, 0, false, false, 0}, /* more keys than a tile */
    {1, 1, 0, 33, 32, 0, false, false, 0},
    {2, 1, 0, 63, 72, 1, false, false, 0},
    {1, 2, 0, 64, 80, 0, false, false, 0},
    {1, 1, 0, 65, 128, 0, true, false, 0},
    {1, 1, 0, 33, 256, 1, false, false, 0},
    {2, 3, 0, 197, 64, 0, true, false, 0},
    {1, 2, 0, 257, 64, 1, false, false, 0},
    {1, 1, 0, 600, 16, 0, false, false, 0},
    {3, 2, 1, 197, 64, 0, true, true, 0},
    {2, 2, 5, 17, 24, 1, false, false, 0},
    {2, 1, 40, 300, 8, 0, false, true, 0},
    {1, 2, 0, 65, 64, 0, true, false, 1e4f},
    {1, 1, 0, 300, 32, 1, false, false, 1e4f},
    {2, 3, 0, 77, 64, 2, true, false, 0},
    {1, 2, 0, 33, 24, 2, false, false, 1e4f},
    {2, 2, 0, 5, 7, 2, true, false, 0},
    {1, 1, 0, 300, 8, 2, false, false, 0},
};

static uint32_t state = 7;

static float *numbers(size_t n, float size)
{
    float *x = malloc(n * sizeof *x);

    for (size_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = size * ((float)(state >> 8) / 8388608.0f - 1.0f);
    }
    return x;
}

/* One case's data and answer. */
typedef struct job {
    attention_case t;
    int c, ldq, ldk;
    float *q, *kv, *bias; /* q == kv for self-attention */
    float *out, *probs;
} job;

static job job_new(const attention_case *t)
{
    job j = {.t = *t, .c = t->H * t->D};
    const int tq = t->Tq ? t->Tq : t->T, sets = t->shared ? 1 : t->B;

    j.t.Tq = tq;
    j.ldk = (t->Tq ? 2 : 3) * j.c;
    j.ldq = t->Tq ? j.c : j.ldk;
    j.kv = numbers((size_t)(t->B * t->T * j.ldk), 1);
    j.q = t->Tq ? numbers((size_t)(sets * tq * j.ldq), 1) : j.kv;
    if (t->size > 0)
        for (int i = 0; i < sets * tq; i++)
            for (int k = 0; k < j.c; k++)
                j.q[i * j.ldq + k] *= t->size;
    j.bias = numbers((size_t)(t->H * tq * t->T), 2);
    for (int i = 0; t->bias == 2 && i < t->H * tq * t->T; i++)
        j.bias[i] = i % t->T > i / t->T % tq ? -1e9f : 0;
    j.out = calloc((size_t)(t->B * tq * j.c), sizeof(float));
    j.probs = calloc((size_t)(t->B * t->H * tq * t->T), sizeof(float));
    return j;
}

static void job_free(job *j)
{
    if (j->q != j->kv)
        free(j->q);
    free(j->kv);
    free(j->bias);
    free(j->out);
    free(j->probs);
}

#define OK(x) cr_assert_eq((x), VITCL_OK, "%s", vt_message())

static void run(job *j, vt_class class)
{
    static const char *const keep[] = {"probs", NULL}, *const none[] = {NULL};
    const attention_case *t = &j->t;
    const vt_plan_options o = {.dev = vt_test_device(),
                               .device_class = class,
                               .keep = t->probs ? keep : none};
    const size_t nq = (size_t)((t->shared ? 1 : t->B) * t->Tq * j->ldq),
                 nk = (size_t)(t->B * t->T * j->ldk),
                 nb = (size_t)((t->bias == 1 ? t->H : 1) * t->Tq * t->T);
    const float guard[33] = {0};
    vt_plan *p = NULL;
    vt_val q = VT_NONE, kv, bias = VT_NONE, y, last;

    vt_test_class(class);
    OK(vt_plan_new(&p, &o));
    kv = vt_input(p, "kv", VT_F32, 3, (int[]){t->B, t->T, j->ldk});
    if (j->q != j->kv)
        q = vt_input(p, "q", VT_F32, 3,
                     (int[]){t->shared ? 1 : t->B, t->Tq, j->ldq});
    if (t->bias == 1)
        bias = vt_input(p, "bias", VT_F32, 3, (int[]){t->H, t->Tq, t->T});
    else if (t->bias)
        bias = vt_input(p, "bias", VT_F32, 2, (int[]){t->Tq, t->T});
    last = vt_input(p, "guard", VT_F32, 1, (int[]){33});
    const vt_attention_args a = {.heads = t->H, .bias = bias, .probs = "probs"};
    y = q == VT_NONE ? vt_attention(p, kv, a) : vt_attention_cross(p, q, kv, a);
    vt_keep(p, y);
    OK(vt_plan_finish(p));
    OK(vt_buf_fill(p->queue, p->arena[0], VT_STRAY));
    OK(vt_plan_write(p, kv, j->kv, nk * 4));
    if (q != VT_NONE)
        OK(vt_plan_write(p, q, j->q, nq * 4));
    if (t->bias)
        OK(vt_plan_write(p, bias, j->bias, nb * 4));
    OK(vt_plan_write(p, last, guard, sizeof guard));
    OK(vt_plan_run(p, 0));
    OK(vt_plan_read(p, y, j->out, vt_elements(p, y)));
    if (t->probs) {
        const vt_val v = vt_plan_find(p, "probs");
        cr_assert_neq(v, VT_NONE);
        OK(vt_plan_read(p, v, j->probs, vt_elements(p, v)));
    } else {
        cr_expect_eq(vt_plan_find(p, "probs"), VT_NONE);
    }
    vt_check_stray(p);
    vt_plan_free(p);
}

/* Logits have an error of about 1e-7 of the sum of their terms' magnitudes,
 * which exp() makes a relative error; the rest is rounding of T terms. */
static void compare(const job *j, const char *name)
{
    const attention_case *t = &j->t;
    const double scale = 1 / sqrt((double)t->D),
                 size = t->size > 0 ? (double)t->size : 1,
                 logit = 1.5e-7 * size * sqrt((double)t->D) * 2,
                 near = 2e-6 + 4 * logit;
    double *out = malloc((size_t)t->D * 8), *probs = malloc((size_t)t->T * 8);
    double worst = 0;

    for (int b = 0; b < t->B; b++)
        for (int h = 0; h < t->H; h++)
            for (int i = 0; i < t->Tq; i++) {
                const int row = t->shared ? i : b * t->Tq + i,
                          at = (b * t->H + h) * t->Tq + i;
                const float *k = j->kv + b * t->T * j->ldk + h * t->D +
                                 (j->q == j->kv ? j->c : 0);
                ref_attention(out, probs, j->q + row * j->ldq + h * t->D, k,
                              k + j->c,
                              t->bias ? j->bias + (h * t->Tq + i) * t->T : NULL,
                              t->T, t->D, j->ldk, scale);
                for (int d = 0; d < t->D; d++) {
                    const double off = fabs(
                        (double)j->out[(b * t->Tq + i) * j->c + h * t->D + d] -
                        out[d]);
                    worst = vt_worse(worst, off);
                }
                for (int x = 0; t->probs && x < t->T; x++) {
                    const double off =
                        fabs((double)j->probs[at * t->T + x] - probs[x]);
                    worst = vt_worse(worst, off);
                }
            }
    cr_expect(worst <= near,
              "%s: B %d H %d Tq %d T %d D %d: off by %.3g, allowed %.3g", name,
              t->B, t->H, t->Tq, t->T, t->D, worst, near);
    free(out);
    free(probs);
}

static void all_cases(vt_class class, const char *name)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (vt_test_tiny() && cases[i].T * cases[i].T * cases[i].D > 1 << 15)
            continue;
        job j = job_new(&cases[i]);
        const size_t bytes = (size_t)(j.t.B * j.t.Tq * j.c) * sizeof(float);
        float *first = malloc(bytes);

        run(&j, class);
        compare(&j, name);
        memcpy(first, j.out, bytes);
        vt_test_divide(true);
        run(&j, class);
        vt_test_divide(false);
        cr_expect_eq(memcmp(first, j.out, bytes), 0, "%s: other bits", name);
        free(first);
        job_free(&j);
    }
}

Test(attention, cpu)
{
    all_cases(VT_CLASS_CPU, "rows");
}

Test(attention, gpu)
{
    all_cases(VT_CLASS_GPU, "tiled");
}

/* The second of two pictures alone, and without the probabilities. */
Test(attention, batch)
{
    for (int class = VT_CLASS_CPU; class <= VT_CLASS_GPU; class ++) {
        const int tokens = vt_test_tiny() ? 11 : 197;
        const attention_case two = {2, 2, 0, tokens, 64, 0, true, false, 0};
        attention_case one = two;
        one.B = 1, one.probs = false;
        job a = job_new(&two), b = job_new(&one);
        const int n = tokens * a.c;

        memcpy(b.kv, a.kv + 3 * n, (size_t)(3 * n) * sizeof(float));
        run(&a, (vt_class) class);
        run(&b, (vt_class) class);
        cr_expect_eq(memcmp(a.out + n, b.out, (size_t)n * sizeof(float)), 0,
                     "class %d", class);
        job_free(&a);
        job_free(&b);
    }
}

/* ---- axial: probabilities of the rows, or of the columns, of grids ---- */

typedef struct grid {
    int B, H, high, wide, D;
} grid;

typedef struct axial_answer {
    size_t outs, probs; /* numbers of out, and of prob */
    float *out, *prob;
} axial_answer;

static axial_answer run_axial(const grid *g, vt_attention_to to, vt_class class,
                              const float *qkv, bool kept)
{
    static const char *const keep[] = {"probs", NULL}, *const none[] = {NULL};
    const vt_plan_options o = {.dev = vt_test_device(),
                               .device_class = class,
                               .keep = kept ? keep : none};
    const vt_attention_args a = {.heads = g->H,
                                 .bias = VT_NONE,
                                 .probs = "probs",
                                 .to = to,
                                 .wide = g->wide};
    const int dim[] = {g->B, g->high * g->wide, 3 * g->H * g->D};
    const size_t bytes = (size_t)(dim[0] * dim[1] * dim[2]) * sizeof(float);
    axial_answer r = {.outs = bytes / sizeof(float) / 3};
    vt_plan *p = NULL;
    vt_val x, y, probs;

    vt_test_class(class);
    OK(vt_plan_new(&p, &o));
    x = vt_input(p, "qkv", VT_F32, 3, dim);
    y = vt_attention(p, x, a);
    vt_keep(p, y);
    OK(vt_plan_finish(p));
    OK(vt_buf_fill(p->queue, p->arena[0], VT_STRAY));
    OK(vt_plan_write(p, x, qkv, bytes));
    OK(vt_plan_run(p, 0));
    r.out = malloc(r.outs * sizeof(float));
    OK(vt_plan_read(p, y, r.out, r.outs));
    probs = vt_plan_find(p, "probs");
    cr_assert_eq(probs != VT_NONE, kept);
    if (kept) {
        r.probs = vt_elements(p, probs);
        r.prob = malloc(r.probs * sizeof(float));
        OK(vt_plan_read(p, probs, r.prob, r.probs));
    }
    vt_check_stray(p);
    vt_plan_free(p);
    return r;
}

/* Line n of picture b: tokens that lie `step` apart. */
static double axial_error(const grid *g, bool columns, const float *qkv,
                          const axial_answer *r)
{
    const int lines = columns ? g->wide : g->high,
              L = columns ? g->high : g->wide, c = g->H * g->D,
              step = columns ? g->wide : 1;
    double *out = malloc((size_t)g->D * 8), *probs = malloc((size_t)L * 8);
    double worst = 0, off;

    for (int id = 0; id < g->B * lines * g->H * L; id++) {
        const int i = id % L, h = id / L % g->H, n = id / L / g->H % lines,
                  b = id / L / g->H / lines;
        const int first =
            b * lines * L + (columns ? n : n * g->wide); /* a token */
        const int token = first + i * step;
        const float *k = qkv + first * 3 * c + c + h * g->D;

        ref_attention(out, probs, qkv + token * 3 * c + h * g->D, k, k + c,
                      NULL, L, g->D, step * 3 * c, 1 / sqrt((double)g->D));
        for (int d = 0; d < g->D; d++) {
            off = fabs((double)r->out[token * c + h * g->D + d] - out[d]);
            worst = vt_worse(worst, off);
        }
        for (int j = 0; j < L; j++) {
            off = fabs((double)r->prob[id * L + j] - probs[j]);
            worst = vt_worse(worst, off);
        }
    }
    free(out);
    free(probs);
    return worst;
}

static void check_axial(const grid *g, vt_attention_to to, vt_class class)
{
    const bool columns = to == VT_TO_COLUMNS;
    const int L = columns ? g->high : g->wide, tokens = g->high * g->wide;
    const double near = 2e-6 + 4 * 1.5e-7 * sqrt((double)g->D) * 2;
    float *qkv = numbers((size_t)(g->B * tokens * 3 * g->H * g->D), 1);
    axial_answer r[2];
    double off;

    for (int i = 0; i < 2; i++)
        r[i] = run_axial(g, to, class, qkv, true);
    cr_assert_eq(r[0].probs, (size_t)(g->B * tokens * g->H * L));
    off = axial_error(g, columns, qkv, &r[0]);
    cr_expect(off <= near, "class %d, %s of %dx%d: off by %.3g, allowed %.3g",
              (int)class, columns ? "columns" : "rows", g->high, g->wide, off,
              near);
    cr_expect_eq(memcmp(r[0].prob, r[1].prob, r[0].probs * sizeof(float)), 0,
                 "probabilities of other bits");
    cr_expect_eq(memcmp(r[0].out, r[1].out, r[0].outs * sizeof(float)), 0,
                 "output of other bits");
    free(r[1].out), free(r[1].prob);
    r[1] = run_axial(g, to, class, qkv, false);
    cr_expect_eq(memcmp(r[0].out, r[1].out, r[0].outs * sizeof(float)), 0,
                 "keeping the probabilities changes the output");
    for (int i = 0; i < 2; i++)
        free(r[i].out), free(r[i].prob);
    free(qkv);
}

Test(attention, axial_probabilities)
{
    static const grid grids[] = {
        {1, 1, 1, 1, 1},   {2, 3, 5, 3, 5},    {3, 2, 1, 7, 9},
        {2, 1, 37, 2, 33}, {1, 2, 13, 19, 16},
    };

    for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) {
        const grid *g = &grids[i];

        if (vt_test_tiny() && g->high * g->wide * g->D > 1 << 7)
            continue;
        for (int class = VT_CLASS_CPU; class <= VT_CLASS_GPU; class ++) {
            check_axial(g, VT_TO_ROWS, (vt_class) class);
            check_axial(g, VT_TO_COLUMNS, (vt_class) class);
        }
    }
}

Test(attention, refuses)
{
    static const struct {
        int width, heads;
    } wrong[] = {{3 * 64, 5}, {3 * 64, 0}, {64, 2}, {3 * 512, 1}};

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const vt_plan_options o = {.dev = vt_test_device()};
        vt_plan *p = NULL;

        OK(vt_plan_new(&p, &o));
        vt_val x = vt_input(p, "x", VT_F32, 3, (int[]){1, 4, wrong[i].width});
        cr_expect_eq(vt_attention(p, x,
                                  (vt_attention_args){.heads = wrong[i].heads,
                                                      .bias = VT_NONE}),
                     VT_NONE);
        cr_expect_eq(vt_plan_status(p), VITCL_EINVAL);
        vt_plan_free(p);
    }
}

/* Rows that are not whole, a bias, and no rows at all. */
Test(attention, refuses_axial)
{
    static const struct {
        int wide;
        bool bias, taken;
    } all[] = {{3, false, true},  {6, false, true},   {4, false, false},
               {0, false, false}, {-1, false, false}, {3, true, false}};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const vt_plan_options o = {.dev = vt_test_device()};
        vt_attention_args a = {.heads = 2,
                               .bias = VT_NONE,
                               .to = VT_TO_COLUMNS,
                               .wide = all[i].wide};
        vt_plan *p = NULL;

        OK(vt_plan_new(&p, &o));
        if (all[i].bias)
            a.bias = vt_input(p, "bias", VT_F32, 3, (int[]){2, 6, 6});
        cr_expect_eq(
            vt_attention(p, vt_input(p, "x", VT_F32, 3, (int[]){1, 6, 12}),
                         a) != VT_NONE,
            all[i].taken, "case %zu", i);
        vt_plan_free(p);
    }
}

/* Queries and keys that do not match: another width, another batch (one set of
 * queries for all pictures is allowed), a bias of another size. */
Test(attention, refuses_to_cross)
{
    static const struct {
        int q[3], kv[3], bias[3];
        bool taken;
    } all[] = {
        {{1, 4, 8}, {3, 5, 16}, {0}, true},
        {{3, 4, 8}, {3, 5, 16}, {2, 4, 5}, true},
        {{2, 4, 8}, {3, 5, 16}, {0}, false},
        {{3, 4, 8}, {1, 5, 16}, {0}, false},
        {{3, 4, 16}, {3, 5, 16}, {0}, false},
        {{3, 4, 8}, {3, 5, 15}, {0}, false},
        {{3, 4, 8}, {3, 5, 16}, {2, 4, 4}, false},
        {{3, 4, 8}, {3, 5, 16}, {1, 4, 5}, false},
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const vt_plan_options o = {.dev = vt_test_device()};
        vt_attention_args a = {.heads = 2, .bias = VT_NONE};
        vt_plan *p = NULL;

        OK(vt_plan_new(&p, &o));
        vt_val q = vt_input(p, "q", VT_F32, 3, all[i].q);
        vt_val kv = vt_input(p, "kv", VT_F32, 3, all[i].kv);
        if (all[i].bias[0])
            a.bias = vt_input(p, "bias", VT_F32, 3, all[i].bias);
        cr_expect_eq(vt_attention_cross(p, q, kv, a) != VT_NONE, all[i].taken,
                     "case %zu", i);
        cr_expect_eq(vt_plan_status(p), all[i].taken ? VITCL_OK : VITCL_EINVAL);
        vt_plan_free(p);
    }
}

/* Of the first queries alone, as a model's last block has it. */
Test(attention, rows)
{
    static const vt_case rows[] = {{.name = "the first of 3x65",
                                    .in = {{.rank = 3, .dim = {3, 65, 96}},
                                           {.none = true},
                                           {.none = true}},
                                    .arg = {2, 0, 0, 1},
                                    .no_grad = true},
                                   {.name = "the first 5 of 2x37",
                                    .in = {{.rank = 3, .dim = {2, 37, 36}},
                                           {.none = true},
                                           {.none = true}},
                                    .arg = {1, 0, 0, 5},
                                    .no_grad = true},
                                   {0}};
    vt_attention_args a = {.heads = 2, .bias = VT_NONE, .rows = 6};
    const vt_plan_options o = {.dev = vt_test_device()};
    vt_plan *p = NULL;

    vt_check_ops(rows, vt_test_attention, vt_test_attention_ref);
    OK(vt_plan_new(&p, &o));
    cr_expect_eq(
        vt_attention(p, vt_input(p, "x", VT_F32, 3, (int[]){1, 5, 24}), a),
        VT_NONE);
    vt_plan_free(p);
}
