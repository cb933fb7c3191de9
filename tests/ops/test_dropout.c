/*
 * test_dropout.c - what falls falls again backward, at the rate asked for,
 * and depends on step, op and random state alone.
 */
#include "support/oneplan.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define B 8
#define N 1003

typedef struct result {
    float y[2][B * N], dx[B * N];
} result;

/* y[0] and y[1]: two ops one behind the other's input; dx: of the first. */
static void run(result *r, vt_class class, bool path, int step, float rate)
{
    static float one[B * N];
    vt_fixture f;

    for (int i = 0; i < B * N; i++)
        one[i] = 1;
    vt_fixture_open(&f, class, true);
    vt_val w = vt_fixture_param(&f, "x", 2, (int[]){B, N}, one);
    vt_val x = vt_scale(f.plan, w, 1);
    vt_val t = vt_input(f.plan, "step", VT_I32, 1, (int[]){1});
    vt_val g = vt_input(f.plan, "g", VT_F32, 2, (int[]){B, N});
    vt_val y[2];
    for (int k = 0; k < 2; k++) {
        y[k] = path ? vt_drop_path(f.plan, x, t, rate)
                    : vt_dropout(f.plan, x, t, rate);
        vt_keep(f.plan, y[k]);
    }
    vt_plan_backward(f.plan, vt_seed_gradient(f.plan, y[0], g), vt_add);
    vt_check(vt_plan_finish(f.plan));
    vt_check(vt_plan_write(f.plan, t, &step, sizeof step));
    vt_check(vt_plan_write(f.plan, g, one, sizeof one));
    vt_check(vt_plan_run(f.plan, 0));
    for (int k = 0; k < 2; k++)
        vt_check(vt_plan_read(f.plan, y[k], r->y[k], B * N));
    vt_check(vt_plan_read(f.plan, vt_grad(f.plan, w), r->dx, B * N));
    vt_fixture_close(&f);
}

Test(dropout, elements)
{
    static result a, b;
    int kept = 0, both = 0;

    run(&a, VT_CLASS_CPU, false, 3, 0.3f);
    for (int i = 0; i < B * N; i++) {
        cr_assert(a.y[0][i] == 0 || fabsf(a.y[0][i] - 1 / 0.7f) < 1e-6f);
        kept += a.y[0][i] != 0;
        both += a.y[0][i] != 0 && a.y[1][i] != 0;
    }
    /* 8024 draws: 5 standard deviations are 205 */
    cr_expect(abs(kept - 5617) < 205, "%d kept", kept);
    cr_expect(abs(both - 3932) < 225, "%d kept by both", both);
    cr_expect(memcmp(a.y[0], a.dx, sizeof a.dx) == 0);
    run(&b, VT_CLASS_GPU, false, 3, 0.3f);
    cr_expect(memcmp(&a, &b, sizeof a) == 0, "the classes differ");
    run(&b, VT_CLASS_CPU, false, 4, 0.3f);
    cr_expect(memcmp(a.y[0], b.y[0], sizeof a.dx) != 0, "steps are equal");
    run(&b, VT_CLASS_CPU, false, 3, 0.75f);
    kept = 0;
    for (int i = 0; i < B * N; i++)
        kept += b.y[0][i] != 0;
    cr_expect(abs(kept - 2006) < 195, "%d kept", kept);
    run(&b, VT_CLASS_CPU, false, 3, 0);
    for (int i = 0; i < B * N; i++)
        cr_assert(b.dx[i] == 1);
}

Test(dropout, paths)
{
    static result r;
    int kept = 0;

    for (int step = 0; step < 20; step++) {
        run(&r, VT_CLASS_GPU, true, step, 0.5f);
        for (int i = 0; i < B * N; i++)
            cr_assert(r.y[0][i] == r.y[0][i / N * N] && r.dx[i] == r.y[0][i]);
        for (int b = 0; b < B; b++)
            kept += r.y[0][b * N] != 0;
    }
    cr_expect(abs(kept - 80) < 32, "%d of 160 kept", kept);
}
