/*
 * test_activation.c - activations as separate steps.
 */
#include "ops/common.h"
#include "ref/ref.h"
#include "support/oneplan.h"

#include "support/paths.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static vt_val build(vt_plan *p, const vt_val *in, const vt_case *c)
{
    return vt_activation(p, in[0], (vt_act)c->arg[0]);
}

static void ref(double *out, const double *const *in, const vt_case *c)
{
    const int *d = c->in[0].dim;

    ref_activation(out, in[0], d[0] * d[1], c->arg[0]);
}

Test(activation, all)
{
    for (int act = VT_ACT_NONE; act < VT_ACTS; act++) {
        const vt_case cases[] = {
            {.name = "one", .in = {{.rank = 2, .dim = {1, 1}}}, .arg = {act}},
            {.name = "31", .in = {{.rank = 2, .dim = {1, 31}}}, .arg = {act}},
            {.name = "7x33, wide",
             .in = {{.rank = 2, .dim = {7, 33}, .scale = 6}},
             .arg = {act}},
            /* far from zero the answer is x, 0 or +-1, never NaN */
            {.name = "1e4",
             .in = {{.rank = 2, .dim = {7, 17}, .scale = 1e4}},
             .arg = {act},
             .no_grad = true},
            {.name = "197x1025",
             .in = {{.rank = 2, .dim = {197, 1025}, .scale = 3}},
             .arg = {act}},
            {0}};

        vt_check_ops(cases, build, ref);
    }
}

/* y and its derivative at n places. */
static void compute(float *y, float *slope, const float *x, int n, int act)
{
    vt_fixture f;
    vt_val in, out, derivative;

    vt_fixture_open(&f, VT_CLASS_CPU, true);
    in = vt_fixture_param(&f, "x", 1, (int[]){n}, x);
    out = vt_activation(f.plan, in, (vt_act)act);
    (void)vt_activated(f.plan, out, &derivative);
    vt_keep(f.plan, out);
    vt_keep(f.plan, derivative);
    vt_check(vt_plan_finish(f.plan));
    vt_check(vt_plan_run(f.plan, 0));
    vt_check(vt_plan_read(f.plan, out, y, (size_t)n));
    vt_check(vt_plan_read(f.plan, derivative, slope, (size_t)n));
    vt_fixture_close(&f);
}

/* Where a slope jumps, it is PyTorch's. */
Test(activation, as_pytorch)
{
    enum { MOST = 64 };
    float x[MOST], want[MOST], slopes[MOST], y[MOST], slope[MOST];
    char name[32], next[32] = "";
    FILE *f = fopen(VT_DATA "/acts.tsv", "r");
    int known = 0, n = 0;
    bool more;

    cr_assert(f);
    do {
        float a, b, c;

        more = fscanf(f, "%31s %f %f %f", next, &a, &b, &c) == 4;
        if (n > 0 && (!more || strcmp(name, next) != 0)) {
            int act = 0;

            while (act < VT_ACTS && strcmp(vt_act_name((vt_act)act), name) != 0)
                act++;
            cr_assert_lt(act, VT_ACTS, "%s", name);
            compute(y, slope, x, n, act);
            for (int i = 0; i < n; i++) {
                cr_expect_leq(fabsf(y[i] - want[i]),
                              1e-6f * (1 + fabsf(want[i])), "%s(%g) = %g", name,
                              (double)x[i], (double)y[i]);
                cr_expect_leq(fabsf(slope[i] - slopes[i]), 2e-6f,
                              "%s'(%g) = %g", name, (double)x[i],
                              (double)slope[i]);
            }
            known++, n = 0;
        }
        snprintf(name, sizeof name, "%s", next);
        cr_assert_lt(n, MOST);
        x[n] = a, want[n] = b, slopes[n] = c, n++;
    } while (more);
    fclose(f);
    cr_expect_eq(known, VT_ACTS);
}
