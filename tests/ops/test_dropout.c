/*
 * test_dropout.c - the backward pass drops the same elements as the forward
 * pass, at the given rate; they depend only on step, op and random state.
 */
#include "support/oneplan.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define B 8
#define MOST (B * 1003)

typedef struct result {
    int n, total; /* columns, elements */
    float y[2][MOST], dx[MOST];
} result;

/* The count must be within 5 standard deviations of draws * p. */
static void expect_rate(int count, int draws, double p, const char *what)
{
    cr_expect(fabs(count - draws * p) < 5 * sqrt(draws * p * (1 - p)),
              "%d of %d %s, not some %g", count, draws, what, draws * p);
}

/* y[0] and y[1]: results of two ops with the same input; dx: the gradient of
 * the first. */
static void run(result *r, vt_class class, bool path, int step, float rate)
{
    static float one[MOST];
    vt_fixture f;
    const int n = vt_test_tiny() ? 33 : MOST / B;
    const size_t total = B * (size_t)n;

    r->n = n, r->total = B * n;
    for (size_t i = 0; i < total; i++)
        one[i] = 1;
    vt_fixture_open(&f, class, true);
    vt_val w = vt_fixture_param(&f, "x", 2, (int[]){B, n}, one);
    vt_val x = vt_scale(f.plan, w, 1);
    vt_val t = vt_input(f.plan, "step", VT_I32, 1, (int[]){1});
    vt_val g = vt_input(f.plan, "g", VT_F32, 2, (int[]){B, n});
    vt_val y[2];
    for (int k = 0; k < 2; k++) {
        y[k] = path ? vt_drop_path(f.plan, x, t, 7, rate)
                    : vt_dropout(f.plan, x, t, 7, rate);
        vt_keep(f.plan, y[k]);
    }
    vt_plan_backward(f.plan, vt_seed_gradient(f.plan, y[0], g), vt_add);
    vt_check(vt_plan_finish(f.plan));
    vt_check(vt_plan_write(f.plan, t, &step, sizeof step));
    vt_check(vt_plan_write(f.plan, g, one, total * sizeof *one));
    vt_check(vt_plan_run(f.plan, 0));
    for (int k = 0; k < 2; k++)
        vt_check(vt_plan_read(f.plan, y[k], r->y[k], total));
    vt_check(vt_plan_read(f.plan, vt_grad(f.plan, w), r->dx, total));
    vt_fixture_close(&f);
}

Test(dropout, elements)
{
    static result a, b;
    int kept = 0, both = 0;

    run(&a, VT_CLASS_CPU, false, 3, 0.3f);
    const size_t bytes = (size_t)a.total * sizeof(float);
    for (int i = 0; i < a.total; i++) {
        cr_assert(a.y[0][i] == 0 || fabsf(a.y[0][i] - 1 / 0.7f) < 1e-6f);
        kept += a.y[0][i] != 0;
        both += a.y[0][i] != 0 && a.y[1][i] != 0;
    }
    expect_rate(kept, a.total, 0.7, "kept");
    expect_rate(both, a.total, 0.49, "kept by both");
    cr_expect(memcmp(a.y[0], a.dx, bytes) == 0);
    run(&b, VT_CLASS_GPU, false, 3, 0.3f);
    cr_expect(memcmp(&a, &b, sizeof a) == 0, "the classes differ");
    run(&b, VT_CLASS_CPU, false, 4, 0.3f);
    cr_expect(memcmp(a.y[0], b.y[0], bytes) != 0, "steps are equal");
    run(&b, VT_CLASS_CPU, false, 3, 0.75f);
    kept = 0;
    for (int i = 0; i < b.total; i++)
        kept += b.y[0][i] != 0;
    expect_rate(kept, b.total, 0.25, "kept");
    run(&b, VT_CLASS_CPU, false, 3, 0);
    for (int i = 0; i < b.total; i++)
        cr_assert(b.dx[i] == 1);
}

Test(dropout, paths)
{
    static result r;
    const int steps = vt_test_tiny() ? 2 : 20;
    int kept = 0;

    for (int step = 0; step < steps; step++) {
        run(&r, VT_CLASS_GPU, true, step, 0.5f);
        for (int i = 0; i < r.total; i++)
            cr_assert(r.y[0][i] == r.y[0][i / r.n * r.n] &&
                      r.dx[i] == r.y[0][i]);
        for (int b = 0; b < B; b++)
            kept += r.y[0][b * r.n] != 0;
    }
    expect_rate(kept, B * steps, 0.5, "kept");
}
