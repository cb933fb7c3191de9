/*
 * test_optimizer.c - updates of every optimiser over several steps, the global
 * norm, clipping, the average of weights; of parameters in slabs, too.
 */
#include "ref/ref.h"
#include "support/near.h"
#include "support/oneplan.h"
#include "support/rng.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define PARAMS 3
#define A 1501
#define ALL (A + 1 + 7)
#define STEPS 4
#define SHARE 0.3f /* of the learning rate */

static const int place[PARAMS] = {0, A, A + 1};
static const char *const names[PARAMS] = {"w", "one", "b"};

typedef struct model {
    float w[ALL], g[ALL];
    double wd[ALL], gd[ALL], m[ALL], v[ALL], ema[ALL];
} model;

/* How parameters lie: each in a buffer of its own, all in one slab, the first
 * alone and the others together because one slab would be too large. */
typedef enum { ALONE, SLAB, SLABS, LAYOUTS } layout;
static const int launches[LAYOUTS] = {PARAMS, 1, 2}; /* of each kernel */

/* What the device computed. */
typedef struct result {
    float norm[STEPS], w[ALL], m[ALL], v[ALL], ema[ALL];
} result;

static void start(model *m)
{
    vt_rng r = {5};

    memset(m, 0, sizeof *m);
    vt_rng_fill(&r, m->w, ALL, 1, 0);
    for (int i = 0; i < ALL; i++)
        m->ema[i] = m->wd[i] = (double)m->w[i];
}

static double norm_of(const double *g)
{
    double s = 0;

    for (int i = 0; i < ALL; i++)
        s += g[i] * g[i];
    return sqrt(s);
}

/* Reads "<prefix>.<name>" of each parameter. */
static void read_all(float *out, vt_plan *p, const char *prefix)
{
    for (int k = 0; k < PARAMS; k++) {
        char name[32];
        vt_val v;

        snprintf(name, sizeof name, "%s%s%s", prefix, *prefix ? "." : "",
                 names[k]);
        v = vt_plan_find(p, name);
        cr_assert_neq(v, VT_NONE, "%s", name);
        vt_check(vt_plan_read(p, v, out + place[k], vt_elements(p, v)));
    }
}

static int steps_of(const vt_plan *p, const char *op)
{
    int n = 0;

    for (int i = 0; i < vt_plan_steps(p); i++)
        n += strcmp(vt_plan_step(p, i)->op->name, op) == 0;
    return n;
}

/* Steps of an optimiser; gradients of step t are scale * noise. */
static void run(result *out, vt_class class, const ref_optimiser *o, bool adam,
                double scale, layout how)
{
    static model m;
    vt_fixture f;
    vt_val w[PARAMS], g[PARAMS], hyper, norm = VT_NONE, clip;
    vt_rng r = {17};
    float hyperdata[VT_HYPER] = {(float)(o->lr / SHARE)}, zero[ALL] = {0},
          grad[ALL];
    /* the first is longer than the others with what lies between */
    const int n[PARAMS] = {vt_test_tiny() ? 161 : A, 1, 7};
    vt_plan *p;

    start(&m);
    memset(out, 0, sizeof *out);
    vt_fixture_open_as(
        &f, (vt_plan_options){
                .device_class = class,
                .gemm = "plain",
                .backward = true,
                .train = true,
                .segment = how == SLABS ? (size_t)n[0] * sizeof(float) : 0});
    p = f.plan;
    hyper = vt_input(p, "hyper", VT_F32, 1, (int[]){VT_HYPER});
    for (int k = 0; k < PARAMS; k++) {
        char name[32];

        w[k] = vt_fixture_param(&f, names[k], 1, &n[k], m.w + place[k]);
        snprintf(name, sizeof name, "grad.%s", names[k]);
        g[k] = vt_state(p, name, VT_F32, 1, &n[k]);
    }
    for (size_t k = 0, taken; how != ALONE && k < PARAMS; k += taken) {
        vt_val slab;

        taken = vt_slab(&slab, p, w + k, PARAMS - k);
        cr_expect_eq(vt_slab(&slab, p, g + k, taken), taken);
    }
    norm = vt_grad_norm(p, g, PARAMS);
    vt_keep(p, norm);
    clip = o->max_norm > 0 ? norm : VT_NONE;
    for (int k = 0; k < PARAMS; k++) {
        vt_val x = w[k], y = g[k];

        if (how != ALONE && vt_value_of(p, w[k])->offset > 0)
            continue;
        if (how != ALONE)
            x = vt_value_of(p, x)->slab, y = vt_value_of(p, y)->slab;
        if (adam)
            vt_adam(p, x, y, hyper, clip, (float)o->max_norm, (float)o->b1,
                    (float)o->b2, (float)o->eps, (float)o->decay, o->decoupled,
                    SHARE);
        else
            vt_sgd(p, x, y, hyper, clip, (float)o->max_norm, (float)o->momentum,
                   (float)o->decay, SHARE);
        vt_ema(p, x, 0.9f);
    }
    vt_check(vt_plan_finish(p));
    cr_expect_eq(steps_of(p, adam ? "adam" : "sgd"), launches[how]);
    cr_expect_eq(steps_of(p, "ema"), launches[how]);
    cr_expect_eq(steps_of(p, "grad_norm_part"), launches[how]);
    /* gradient, one or two moments, average; 64 parts of each norm */
    cr_expect_eq(
        vt_plan_memory_of(p).states,
        sizeof(float) *
            (size_t)((n[0] + n[1] + n[2]) * (adam ? 4 : 3) + 64 * PARAMS));
    for (int t = 1; t <= (vt_test_tiny() ? 1 : STEPS); t++) {
        double total;

        vt_rng_fill(&r, m.g, ALL, scale, 0);
        for (int i = 0; i < ALL; i++) {
            if (i >= n[0] && i < A)
                m.g[i] = 0; /* does not exist */
            m.gd[i] = (double)m.g[i];
        }
        hyperdata[1] = (float)(1 - pow(o->b1, t));
        hyperdata[2] = (float)(1 - pow(o->b2, t));
        vt_check(vt_plan_write(p, hyper, hyperdata, sizeof hyperdata));
        for (int k = 0; k < PARAMS; k++)
            vt_check(vt_plan_write(p, g[k], m.g + place[k],
                                   (size_t)n[k] * sizeof(float)));
        vt_check(vt_plan_run(p, 0));
        total = norm_of(m.gd);
        if (adam)
            ref_adam(m.wd, m.m, m.v, m.gd, ALL, total, t, o);
        else
            ref_sgd(m.wd, m.v, m.gd, ALL, total, o);
        for (int i = 0; i < ALL; i++)
            m.ema[i] = 0.9 * m.ema[i] + 0.1 * m.wd[i];
        vt_check(vt_plan_read(p, norm, &out->norm[t - 1], 1));
        cr_expect(vt_near("norm", &out->norm[t - 1], &total, 1, 1e-5, 0));
    }
    read_all(out->w, p, "");
    read_all(out->ema, p, "ema");
    read_all(out->v, p, adam ? "adam.v" : "sgd.v");
    if (adam)
        read_all(out->m, p, "adam.m");
    memset(grad, 0, sizeof grad);
    read_all(grad, p, "grad");
    cr_expect_arr_eq(grad, zero, sizeof zero, "gradients are not zero");
    for (int k = 0; k < PARAMS; k++) {
        const int at = place[k];

        cr_expect(vt_near("weights", out->w + at, m.wd + at, (size_t)n[k], 1e-5,
                          1e-5));
        cr_expect(vt_near("average", out->ema + at, m.ema + at, (size_t)n[k],
                          1e-5, 1e-5));
        cr_expect(vt_near("second moment", out->v + at, m.v + at, (size_t)n[k],
                          1e-5, 1e-5));
        if (adam)
            cr_expect(vt_near("first moment", out->m + at, m.m + at,
                              (size_t)n[k], 1e-5, 1e-5));
    }
    vt_fixture_close(&f);
}

/* However they lie, and again: the same bits. */
static void check(vt_class class, const ref_optimiser *o, bool adam,
                  double scale)
{
    static result alone, other;

    run(&alone, class, o, adam, scale, ALONE);
    for (layout how = SLAB; how < LAYOUTS; how++)
        for (int again = 0; again < (vt_test_tiny() ? 1 : 2); again++) {
            run(&other, class, o, adam, scale, how);
            cr_expect_arr_eq(&other, &alone, sizeof alone,
                             "layout %d has other bits", (int)how);
        }
}

Test(optimizer, all)
{
    const ref_optimiser adamw = {.lr = 0.01,
                                 .b1 = 0.9,
                                 .b2 = 0.999,
                                 .eps = 1e-8,
                                 .decay = 0.1,
                                 .decoupled = 1};
    ref_optimiser adam = adamw, clipped = adamw;
    ref_optimiser sgd = {
        .lr = 0.03, .momentum = 0.9, .decay = 0.01, .max_norm = 1};

    adam.decoupled = 0;
    clipped.max_norm = 1;
    for (vt_class c = VT_CLASS_CPU; c <= VT_CLASS_GPU; c++) {
        if (vt_test_tiny()) {
            check(c, &clipped, true, 3);
            check(c, &sgd, false, 1);
            continue;
        }
        check(c, &adamw, true, 1);
        check(c, &adam, true, 1);
        check(c, &clipped, true, 3);
        check(c, &clipped, true, 1e-3); /* below the limit: not clipped */
        check(c, &sgd, false, 1);
        sgd.max_norm = 0, sgd.momentum = 0;
        check(c, &sgd, false, 0.1);
        sgd.max_norm = 1, sgd.momentum = 0.9;
    }
}
