/*
 * test_optimizer.c - updates of every optimiser over several steps, the global
 * norm, clipping, the average of weights.
 */
#include "ref/ref.h"
#include "support/near.h"
#include "support/oneplan.h"
#include "support/rng.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define A 1501
#define C 7

typedef struct model {
    float w[A + C], g[A + C];
    double wd[A + C], gd[A + C], m[A + C], v[A + C], ema[A + C];
} model;

static void start(model *m)
{
    vt_rng r = {5};

    memset(m, 0, sizeof *m);
    vt_rng_fill(&r, m->w, A + C, 1, 0);
    for (int i = 0; i < A + C; i++)
        m->ema[i] = m->wd[i] = (double)m->w[i];
}

static double norm_of(const double *g)
{
    double s = 0;

    for (int i = 0; i < A + C; i++)
        s += g[i] * g[i];
    return sqrt(s);
}

/* Two parameters, four steps; gradients of step t are scale * noise. */
static void check(vt_class class, const ref_optimiser *o, bool adam,
                  double scale)
{
    static model m;
    vt_fixture f;
    vt_val w[2], g[2], hyper, norm = VT_NONE;
    vt_rng r = {17};
    float got[A + C], hyperdata[VT_HYPER] = {(float)o->lr};
    const int n[2] = {vt_test_tiny() ? 33 : A, C};

    start(&m);
    vt_fixture_open(&f, class, true);
    hyper = vt_input(f.plan, "hyper", VT_F32, 1, (int[]){VT_HYPER});
    for (int k = 0; k < 2; k++) {
        w[k] = vt_fixture_param(&f, k ? "b" : "w", 1, &n[k], m.w + k * A);
        g[k] = vt_state(f.plan, k ? "grad.b" : "grad.w", VT_F32, 1, &n[k]);
    }
    norm = vt_grad_norm(f.plan, g, 2);
    vt_keep(f.plan, norm);
    for (int k = 0; k < 2; k++) {
        vt_val clip = o->max_norm > 0 ? norm : VT_NONE;

        if (adam)
            vt_adam(f.plan, w[k], g[k], hyper, clip, (float)o->max_norm,
                    (float)o->b1, (float)o->b2, (float)o->eps, (float)o->decay,
                    o->decoupled);
        else
            vt_sgd(f.plan, w[k], g[k], hyper, clip, (float)o->max_norm,
                   (float)o->momentum, (float)o->decay);
        vt_ema(f.plan, w[k], 0.9f);
    }
    vt_check(vt_plan_finish(f.plan));
    for (int t = 1; t <= (vt_test_tiny() ? 1 : 4); t++) {
        double total;

        vt_rng_fill(&r, m.g, A + C, scale, 0);
        for (int i = 0; i < A + C; i++) {
            if (i >= n[0] && i < A)
                m.g[i] = 0; /* does not exist */
            m.gd[i] = (double)m.g[i];
        }
        hyperdata[1] = (float)(1 - pow(o->b1, t));
        hyperdata[2] = (float)(1 - pow(o->b2, t));
        vt_check(vt_plan_write(f.plan, hyper, hyperdata, sizeof hyperdata));
        for (int k = 0; k < 2; k++)
            vt_check(vt_plan_write(f.plan, g[k], m.g + k * A,
                                   (size_t)n[k] * sizeof(float)));
        vt_check(vt_plan_run(f.plan, 0));
        total = norm_of(m.gd);
        if (adam)
            ref_adam(m.wd, m.m, m.v, m.gd, A + C, total, t, o);
        else
            ref_sgd(m.wd, m.v, m.gd, A + C, total, o);
        for (int i = 0; i < A + C; i++)
            m.ema[i] = 0.9 * m.ema[i] + 0.1 * m.wd[i];
        vt_check(vt_plan_read(f.plan, norm, got, 1));
        cr_expect(vt_near("norm", got, &total, 1, 1e-5, 0));
    }
    for (int k = 0; k < 2; k++) {
        size_t count = (size_t)n[k];
        const double zero[A] = {0};

        vt_check(vt_plan_read(f.plan, w[k], got, count));
        cr_expect(vt_near("weights", got, m.wd + k * A, count, 1e-5, 1e-5));
        vt_check(vt_plan_read(f.plan, g[k], got, count));
        cr_expect(vt_near("gradient", got, zero, count, 0, 0));
        vt_check(vt_plan_read(
            f.plan, vt_plan_find(f.plan, k ? "ema.b" : "ema.w"), got, count));
        cr_expect(vt_near("average", got, m.ema + k * A, count, 1e-5, 1e-5));
    }
    vt_fixture_close(&f);
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
