/*
 * trial.c - check and time one candidate of a tuner.
 *
 * Correctness: all inputs are whole numbers so small that every sum is exact in
 * f32 in any order; bf16 and f16 hold them, too. So each row of C, weighted by
 * random whole numbers w, must equal A (B^T w), which double computes without
 * rounding. One wrong element is detected at the cost of three vectors instead
 * of a product (Freivalds 1977). int8 rounds its inputs, so its tolerance is
 * some standard deviations of that rounding.
 *
 * Time: the candidate alternates with the built-in native multiplication in
 * f32, because a machine's speed drifts; their ratio is what counts.
 */
#include "api/trial.h"

#include "api/handles.h"
#include "base/clock.h"
#include "base/memory.h"

#include <vitcl_tune.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LEAST = 6, MOST = 100 };
#define TOP 127
#define WEIGHT 500
/* Limit of rounds; they end earlier once both sides' best times have almost
 * been repeated. */
#define MOST_MS 2000.0
#define ALMOST 1.03

vt_gemm_desc vt_trial_desc(const vt_dev *dev, vt_dtype type,
                           const vt_trial_product *x)
{
    return (vt_gemm_desc){.batch = 1,
                          .M = x->M,
                          .N = x->N,
                          .K = x->K,
                          .lda = x->K,
                          .ldb = x->K,
                          .ldc = x->N,
                          .type = type,
                          .out = VT_F32,
                          .b_packed = true,
                          .device_class = vt_dev_class(dev)};
}

void vt_trial_format(char *out, size_t size, const char *gemm,
                     const vt_trial_product *x, int n)
{
    size_t used = (size_t)snprintf(out, size, "%s", gemm);

    for (int i = 0; i < n && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, " %dx%dx%dx%d",
                                 x[i].M, x[i].N, x[i].K, x[i].count);
}

/* ---- numbers ---- */

/* A pseudo-random whole number from -most to most (Wellons' lowbias32). */
static int whole(uint32_t i, int most)
{
    uint32_t x = i + 1;

    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    x ^= x >> 16;
    return (int)(x % (uint32_t)(2 * most + 1)) - most;
}

typedef struct numbers {
    float *a, *b, *c;
    double *weight, *y;
} numbers;

static vitcl_status numbers_new(numbers *n, const vt_trial_product *x)
{
    const size_t M = (size_t)x->M, N = (size_t)x->N, K = (size_t)x->K;
    vitcl_status st;

    VT_TRY(VT_NEW(&n->a, M * K));
    VT_TRY(VT_NEW(&n->b, N * K));
    VT_TRY(VT_NEW(&n->c, M * N));
    VT_TRY(VT_NEW(&n->weight, N));
    VT_TRY(VT_NEW(&n->y, K));
    for (size_t i = 0; i < M * K; i++)
        n->a[i] = (float)whole((uint32_t)i, TOP);
    for (size_t i = 0; i < N * K; i++)
        n->b[i] = (float)whole((uint32_t)i ^ 0x5a5a5a5au, TOP);
    for (size_t i = 0; i < N; i++) {
        n->weight[i] = whole((uint32_t)i ^ 0xc3c3c3c3u, WEIGHT);
        for (size_t k = 0; k < K; k++)
            n->y[k] += n->weight[i] * (double)n->b[i * K + k];
    }
done:
    return st;
}

static void numbers_free(numbers *n)
{
    free(n->a);
    free(n->b);
    free(n->c);
    free(n->weight);
    free(n->y);
}

static vitcl_status check(const numbers *n, const vt_trial_product *x,
                          vt_dtype type)
{
    /* root mean square of a row's sum; int8 rounds each input by half a percent
     * or less */
    const double spread = sqrt((double)x->N * x->K) * WEIGHT * TOP * TOP / 5;
    const double off = type == VT_F32  ? 0.5
                       : type == VT_I8 ? 0.06 * spread
                                       : 1e-3 * spread;

    for (int m = 0; m < x->M; m++) {
        double want = 0, got = 0;

        for (int k = 0; k < x->K; k++)
            want +=
                (double)n->a[(size_t)m * (size_t)x->K + (size_t)k] * n->y[k];
        for (int i = 0; i < x->N; i++)
            got += (double)n->c[(size_t)m * (size_t)x->N + (size_t)i] *
                   n->weight[i];
        if (!(fabs(got - want) <= off))
            return vt_fail(VITCL_EDEVICE,
                           "row %d of a product %dx%dx%d is wrong", m, x->M,
                           x->N, x->K);
    }
    return VITCL_OK;
}

/* ---- one side of the comparison ---- */

typedef struct side {
    vt_dev *dev;
    vt_queue *q;
    const char *gemm;
    vt_dtype type;
    vt_class class;
    vt_gemm *g;
    vt_gemm_bufs b;
    vt_buf *rows;
    double best, second; /* ms */
} side;

static void side_clear(side *s)
{
    vt_buf *const all[] = {s->b.a, s->b.b, s->b.c, s->b.temp, s->rows};

    vt_gemm_free(s->g);
    for (size_t i = 0; i < VT_COUNT(all); i++)
        if (i != 1 || s->b.b != s->rows)
            vt_buf_free(all[i]);
    s->g = NULL, s->rows = NULL, s->b = (vt_gemm_bufs){0};
}

static vt_gemm_desc side_desc(const side *s, const vt_trial_product *x)
{
    vt_gemm_desc d = vt_trial_desc(s->dev, s->type, x);

    if (s->class != VT_CLASS_AUTO)
        d.device_class = s->class;
    return d;
}

static vitcl_status side_bind(side *s, const numbers *n,
                              const vt_trial_product *x)
{
    const vt_gemm_desc d = side_desc(s, x);
    const size_t a = (size_t)x->M * (size_t)x->K * sizeof(float),
                 b = (size_t)x->N * (size_t)x->K * sizeof(float),
                 c = (size_t)x->M * (size_t)x->N * sizeof(float),
                 temp = vt_gemm_temp_bytes(s->dev, s->gemm, &d);
    vitcl_status st;

    VT_TRY(vt_buf_new(&s->b.a, s->dev, a));
    VT_TRY(vt_buf_new(&s->b.c, s->dev, c));
    VT_TRY(vt_buf_new(&s->rows, s->dev, b));
    VT_TRY(vt_buf_write(s->q, s->b.a, 0, n->a, a));
    VT_TRY(vt_buf_write(s->q, s->rows, 0, n->b, b));
    VT_TRY(vt_buf_fill(s->q, s->b.c, 0x7fc00000u)); /* NaN */
    if (temp)
        VT_TRY(vt_buf_new(&s->b.temp, s->dev, temp));
    s->b.b = s->rows;
    if (vt_gemm_layout(s->dev, s->gemm, &d)[0]) {
        s->b.b = NULL;
        VT_TRY(vt_buf_new(&s->b.b, s->dev,
                          vt_gemm_packed_bytes(s->dev, s->gemm, &d)));
        VT_TRY(vt_gemm_pack(s->q, s->gemm, &d, s->b.b, s->rows));
    }
    VT_TRY(vt_gemm_new(&s->g, s->dev, s->gemm, &d, &s->b));
    if (strncmp(vt_gemm_describe(s->g), s->gemm, strlen(s->gemm)) != 0)
        VT_TRY(vt_fail(VITCL_EUNSUPPORTED, "%s does not multiply in %s",
                       s->gemm, vt_dtype_name(s->type)));
done:
    return st;
}

static vitcl_status side_run(side *s)
{
    const double from = vt_now_ms();
    double ms;
    vitcl_status st;

    VT_TRY(vt_gemm_launch(s->q, s->g));
    VT_TRY(vt_queue_finish(s->q));
    ms = vt_now_ms() - from;
    s->second = VT_MIN(s->second, VT_MAX(ms, s->best));
    s->best = VT_MIN(s->best, ms);
done:
    return st;
}

static bool sure(const side *s)
{
    return s->second < s->best * ALMOST;
}

/* Adds both sides' times for a product, in ms. */
static vitcl_status measure(double *sum, side *candidate, side *reference,
                            const vt_trial_product *x)
{
    numbers n = {0};
    double end;
    vitcl_status st;

    VT_TRY(numbers_new(&n, x));
    VT_TRY(side_bind(candidate, &n, x));
    VT_TRY(side_bind(reference, &n, x));
    VT_TRY(side_run(candidate));
    VT_TRY(vt_buf_read(candidate->q, candidate->b.c, 0, n.c,
                       (size_t)x->M * (size_t)x->N * sizeof(float)));
    VT_TRY(check(&n, x, candidate->type));
    VT_TRY(side_run(reference)); /* untimed warm-up */
    candidate->best = candidate->second = 1e30;
    reference->best = reference->second = 1e30;
    end = vt_now_ms() + MOST_MS;
    for (int i = 0; i < LEAST || (i < MOST && vt_now_ms() < end &&
                                  !(sure(candidate) && sure(reference)));
         i++) {
        VT_TRY(side_run(candidate));
        VT_TRY(side_run(reference));
    }
    sum[0] += x->count * candidate->best;
    sum[1] += x->count * reference->best;
done:
    side_clear(candidate);
    side_clear(reference);
    numbers_free(&n);
    return st;
}

/* ---- a candidate's text ---- */

typedef struct job {
    char entry[VT_ENTRY], gemm[16];
    vt_dtype type;
    vt_trial_product x[VT_TRIAL_PRODUCTS];
    int n;
} job;

/* The text comes from a command line: sizes must be checked. */
static bool sane(const vt_trial_product *x)
{
    return x->M > 0 && x->N > 0 && x->K > 0 && x->count > 0 &&
           x->count <= 1000 && x->M <= 1 << 24 && x->N <= 1 << 20 &&
           x->K <= 1 << 16 && (double)x->M * x->K <= 1 << 28 &&
           (double)x->N * x->K <= 1 << 28 && (double)x->M * x->N <= 1 << 28;
}

static vitcl_status parse(job *j, const char *text)
{
    const char *colon = strchr(text, ':'), *at;
    vitcl_precision number = VITCL_F32;
    char precision[8] = "";
    int used = 0;

    if (colon && colon - text < VT_ENTRY &&
        sscanf(colon + 1, "%15s%n", j->gemm, &used) == 1 &&
        sscanf(text, "%*15s %7s", precision) == 1) {
        snprintf(j->entry, sizeof j->entry, "%.*s", (int)(colon - text), text);
        vt_precision_parse(&number, precision);
        j->type = vt_precision_type(number);
        for (at = colon + 1 + used; j->n < VT_TRIAL_PRODUCTS; at += used) {
            vt_trial_product *x = &j->x[j->n];
            if (sscanf(at, " %9dx%9dx%9dx%9d%n", &x->M, &x->N, &x->K, &x->count,
                       &used) != 4 ||
                !sane(x))
                break;
            j->n++;
        }
        if (j->n > 0 && !*at)
            return VITCL_OK;
    }
    return vt_fail(VITCL_EINVAL, "\"%.60s\" is not a valid candidate", text);
}

vitcl_status vt_candidate_measure(double *ratio, const char *select,
                                  const char *candidate)
{
    side sides[2] = {{.dev = NULL}};
    double sum[2] = {0, 0};
    job j = {.n = 0};
    vitcl_status st = VITCL_OK;

    VT_TRY(parse(&j, candidate));
    for (int i = 0; i < 2; i++) {
        VT_TRY(vt_gemm_dev_open(&sides[i].dev, select));
        VT_TRY(vt_params_use(sides[i].dev, NULL));
        VT_TRY(vt_queue_new(&sides[i].q, sides[i].dev, false));
        sides[i].gemm = i ? "native" : j.gemm;
        sides[i].type = i ? VT_F32 : j.type;
    }
    VT_TRY(vt_params_use(sides[0].dev, j.entry));
    if (strncmp(j.entry, "tile ", 5) ==
        0) /* also on devices that do not use it by default */
        sides[0].class = VT_CLASS_GPU;
    for (int i = 0; i < j.n; i++)
        VT_TRY(measure(sum, &sides[0], &sides[1], &j.x[i]));
    *ratio = sum[0] / VT_MAX(sum[1], 1e-9);
done:
    for (int i = 0; i < 2; i++) {
        vt_queue_free(sides[i].q);
        vt_dev_free(sides[i].dev);
    }
    return st;
}
