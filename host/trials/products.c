/*
 * products.c - check and time one candidate of the tuner.
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

#include "base/memory.h"
#include "ocl/precision.h"
#include "product/device.h"
#include "product/product.h"
#include "trials/trials.h"
#include "tune/candidate.h"
#include "tune/params.h"
#include "units/dots.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define TOP 127
#define WEIGHT 500
/* Limit of rounds; they end earlier once both sides' best times have almost
 * been repeated. */
static const vt_rounds rounds = {
    .least = 6, .most = 100, .ms = 2000.0, .almost = 1.03};

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

static vitcl_status numbers_new(numbers *n, const vt_candidate_product *x)
{
    const size_t M = (size_t)x->M, N = (size_t)x->N, K = (size_t)x->K;

    VT_RET(VT_NEW(&n->a, M * K));
    VT_RET(VT_NEW(&n->b, N * K));
    VT_RET(VT_NEW(&n->c, M * N));
    VT_RET(VT_NEW(&n->weight, N));
    VT_RET(VT_NEW(&n->y, K));
    for (size_t i = 0; i < M * K; i++)
        n->a[i] = (float)whole((uint32_t)i, TOP);
    for (size_t i = 0; i < N * K; i++)
        n->b[i] = (float)whole((uint32_t)i ^ 0x5a5a5a5au, TOP);
    for (size_t i = 0; i < N; i++) {
        n->weight[i] = whole((uint32_t)i ^ 0xc3c3c3c3u, WEIGHT);
        for (size_t k = 0; k < K; k++)
            n->y[k] += n->weight[i] * (double)n->b[i * K + k];
    }
    return VITCL_OK;
}

static void numbers_free(numbers *n)
{
    free(n->a);
    free(n->b);
    free(n->c);
    free(n->weight);
    free(n->y);
}

static vitcl_status check(const numbers *n, const vt_candidate_product *x,
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

/* Each has a device of its own, for its parameters. */
typedef struct side {
    vt_dev *dev;
    const char *provider;
    vt_dtype type;
    vt_class class; /* AUTO: the device's */
    vt_timed t;
} side;

static vitcl_status bind(side *s, const numbers *n,
                         const vt_candidate_product *x)
{
    vt_gemm_desc d = vt_timed_desc(s->dev, s->type, x->M, x->N, x->K);

    if (s->class != VT_CLASS_AUTO)
        d.device_class = s->class;
    VT_RET(vt_product_timed(&s->t, s->dev, s->provider, &d, n->a, n->b));
    if (strcmp(vt_gemm_name(s->t.g), s->provider) != 0)
        return vt_fail(VITCL_EUNSUPPORTED, "%s does not multiply in %s",
                       s->provider, vt_dtype_name(s->type));
    return VITCL_OK;
}

/* Adds both sides' times for a product, in ms. */
static vitcl_status measure(double *sum, side *candidate, side *reference,
                            const vt_candidate_product *x)
{
    numbers n = {0};
    vitcl_status st;

    VT_TRY(numbers_new(&n, x));
    VT_TRY(bind(candidate, &n, x));
    VT_TRY(bind(reference, &n, x));
    VT_TRY(vt_timed_run(&candidate->t));
    VT_TRY(vt_timed_read(n.c, &candidate->t));
    VT_TRY(check(&n, x, candidate->type));
    VT_TRY(vt_timed_run(&reference->t)); /* untimed warm-up */
    VT_TRY(
        vt_measure((vt_timed *[]){&candidate->t, &reference->t}, 2, &rounds));
    sum[0] += x->count * candidate->t.best;
    sum[1] += x->count * reference->t.best;
done:
    vt_timed_free(&candidate->t);
    vt_timed_free(&reference->t);
    numbers_free(&n);
    return st;
}

/* ---- a candidate's text ---- */

typedef struct job {
    char entry[VT_ENTRY], provider[16];
    bool rows; /* the form */
    vt_class class;
    vt_dtype type;
    vt_candidate_product x[VT_CANDIDATE_PRODUCTS];
    int n;
} job;

/* The text comes from a command line: sizes must be checked. */
static bool sane(const vt_candidate_product *x)
{
    return x->M > 0 && x->N > 0 && x->K > 0 && x->count > 0 &&
           x->count <= 1000 && x->M <= 1 << 24 && x->N <= 1 << 20 &&
           x->K <= 1 << 16 && (double)x->M * x->K <= VT_CANDIDATE_ELEMENTS &&
           (double)x->N * x->K <= VT_CANDIDATE_ELEMENTS &&
           (double)x->M * x->N <= VT_CANDIDATE_ELEMENTS;
}

/* The class of device that a form is for; AUTO: all. */
static vt_class class_of(const char *form)
{
    for (size_t i = 0; vt_forms[i]; i++)
        if (strcmp(vt_forms[i]->name, form) == 0)
            return vt_forms[i]->class;
    return VT_CLASS_AUTO;
}

static vitcl_status parse(job *j, const char *text)
{
    const char *colon = strchr(text, ':'), *at;
    vitcl_precision number = VITCL_F32;
    char form[16] = "", precision[8] = "";
    int used = 0;

    if (colon && colon - text < VT_ENTRY &&
        sscanf(colon + 1, "%15s%n", j->provider, &used) == 1 &&
        sscanf(text, "%15s %7s", form, precision) == 2) {
        snprintf(j->entry, sizeof j->entry, "%.*s", (int)(colon - text), text);
        vt_precision_parse(&number, precision);
        j->type = vt_precision_type(number);
        j->class = class_of(form);
        j->rows = strcmp(form, "rows") == 0;
        for (at = colon + 1 + used; j->n < VT_CANDIDATE_PRODUCTS; at += used) {
            vt_candidate_product *x = &j->x[j->n];
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

vitcl_status vt_trial_candidate(double *ratio, const char *select,
                                const char *candidate)
{
    side sides[2] = {{.dev = NULL}};
    double sum[2] = {0, 0};
    job j = {.n = 0};
    vitcl_status st = VITCL_OK;

    VT_TRY(parse(&j, candidate));
    for (int i = 0; i < 2; i++) {
        VT_TRY(vt_product_open(&sides[i].dev, select));
        VT_TRY(vt_params_use(sides[i].dev, NULL));
        sides[i].provider = i ? "native" : j.provider;
        sides[i].type = i ? VT_F32 : j.type;
    }
    VT_TRY(vt_params_use(sides[0].dev, j.entry));
    sides[0].class = j.class;       /* also where it is not used by default */
    if (j.rows && j.type != VT_F32) /* nor by a trial's choice */
        vt_dot_use(sides[0].dev, j.type, VT_DOT_NONE);
    for (int i = 0; i < j.n; i++)
        VT_TRY(measure(sum, &sides[0], &sides[1], &j.x[i]));
    *ratio = sum[0] / VT_MAX(sum[1], 1e-9);
done:
    for (int i = 0; i < 2; i++)
        vt_dev_free(sides[i].dev);
    return st;
}
