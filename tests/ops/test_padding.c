/*
 * test_padding.c - two linear layers with a value of 4096-byte rows between
 * them: on CPUs it is padded, with no visible effect.
 */
#include "ops/ops.h"
#include "ref/gemm.h"
#include "support/device.h"
#include "support/oneplan.h"
#include "support/skip.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#define MOST 128
#define C 16
#define MID 1024
#define OK(x) cr_assert_eq((x), VITCL_OK, "%s", vt_message())

static float x[MOST * C], w1[MID * C], w2[C * MID], mid[MOST * MID],
    out[MOST * C];
static int rows = 5;

static void fill(float *to, size_t n)
{
    static uint32_t state = 3;

    for (size_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        to[i] = (float)(state >> 8) / 8388608.0f - 1.0f;
    }
}

static vt_plan *run(vt_class class, const char *gemm, int *ld)
{
    static const char *const none[] = {NULL};
    const vt_plan_options o = {.dev = vt_test_device(),
                               .device_class = class,
                               .gemm = gemm,
                               .keep = none};
    vt_linear_args a = {.b = VT_NONE, .scale = VT_NONE, .residual = VT_NONE};
    vt_plan *p = NULL;
    vt_val vx, v1, v2, h, y;

    OK(vt_plan_new(&p, &o));
    vx = vt_input(p, "x", VT_F32, 3, (int[]){1, rows, C});
    v1 = vt_input(p, "w1", VT_F32, 2, (int[]){MID, C});
    v2 = vt_input(p, "w2", VT_F32, 2, (int[]){C, MID});
    a.w = v1, a.act = VT_ACT_GELU;
    h = vt_linear(p, vx, a);
    a.w = v2, a.act = VT_ACT_NONE, a.residual = vx;
    y = vt_linear(p, h, a);
    vt_keep(p, h), vt_keep(p, y);
    OK(vt_plan_finish(p));
    *ld = vt_value_of(p, h)->ld;
    OK(vt_plan_write(p, vx, x, (size_t)(rows * C) * 4));
    OK(vt_plan_write(p, v1, w1, sizeof w1));
    OK(vt_plan_write(p, v2, w2, sizeof w2));
    OK(vt_plan_run(p, 0));
    OK(vt_plan_read(p, h, mid, (uint64_t)(rows * MID)));
    OK(vt_plan_read(p, y, out, (uint64_t)(rows * C)));
    return p;
}

static void check(void)
{
    static float h[MOST * MID];

    for (int m = 0; m < rows; m++)
        for (int n = 0; n < MID; n++) {
            const double v =
                ref_act(ref_dot(x, w1, m, n, C, C, 1, C, 1), VT_ACT_GELU);
            h[m * MID + n] = (float)v;
            cr_assert_float_eq((double)mid[m * MID + n], v, 5e-6);
        }
    for (int m = 0; m < rows; m++)
        for (int n = 0; n < C; n++)
            /* 1024 terms of about 0.5: the error grows with the root of 1024 */
            cr_assert_float_eq((double)out[m * C + n],
                               ref_dot(h, w2, m, n, MID, MID, 1, MID, 1) +
                                   (double)x[m * C + n],
                               1e-4);
}

Test(padding, all)
{
    int ld;
    vt_plan *p;

    fill(x, MOST * C), fill(w1, MID * C), fill(w2, C * MID);
    p = run(VT_CLASS_CPU, NULL, &ld);
    cr_expect_gt(ld, MID);
    check();
    vt_plan_free(p);
    if (vt_test_tiny()) /* the others are ordinary multiplications */
        return;
    p = run(VT_CLASS_GPU, NULL, &ld);
    cr_expect_eq(ld, MID);
    check();
    vt_plan_free(p);
}

/* Rows that fill CLBlast's blocks need no more memory, padded ones do. */
Test(padding, clblast)
{
    const char *name;
    vt_plan *p;
    int ld;

    if (vt_test_tiny()) /* a simulator is for our own kernels */
        return;
    if (vt_product_provider(&name, vt_test_device(), "clblast") != VITCL_OK)
        vt_skip("no CLBlast here");
    rows = MOST;
    fill(x, MOST * C), fill(w1, MID * C), fill(w2, C * MID);
    p = run(VT_CLASS_CPU, "clblast", &ld);
    check();
    vt_plan_free(p);
}

/* A layer with a residual reads it at the places where it writes its own rows,
 * so its result is never padded. */
Test(padding, residual)
{
    enum { ROWS = 5 };
    static float r[ROWS * MID];
    const vt_plan_options o = {.dev = vt_test_device(),
                               .device_class = VT_CLASS_CPU};
    vt_linear_args a = {.b = VT_NONE, .scale = VT_NONE};
    vt_plan *p = NULL;

    fill(x, ROWS * C), fill(w1, MID * C), fill(w2, C * MID);
    fill(r, ROWS * MID);
    OK(vt_plan_new(&p, &o));
    const vt_val vx = vt_input(p, "x", VT_F32, 2, (int[]){ROWS, C});
    const vt_val vr = vt_input(p, "r", VT_F32, 2, (int[]){ROWS, MID});
    const vt_val v1 = vt_input(p, "w1", VT_F32, 2, (int[]){MID, C});
    const vt_val v2 = vt_input(p, "w2", VT_F32, 2, (int[]){C, MID});
    a.w = v1, a.residual = vr;
    const vt_val h = vt_linear(p, vx, a);
    a.w = v2, a.residual = VT_NONE;
    const vt_val y = vt_linear(p, h, a);
    vt_keep(p, h), vt_keep(p, y);
    OK(vt_plan_finish(p));
    OK(vt_plan_write(p, vx, x, ROWS * C * 4));
    OK(vt_plan_write(p, vr, r, sizeof r));
    OK(vt_plan_write(p, v1, w1, sizeof w1));
    OK(vt_plan_write(p, v2, w2, sizeof w2));
    OK(vt_plan_run(p, 0));
    OK(vt_plan_read(p, h, mid, ROWS * MID));
    OK(vt_plan_read(p, y, out, ROWS * C));
    for (int m = 0; m < ROWS; m++)
        for (int n = 0; n < MID; n++)
            cr_assert_float_eq((double)mid[m * MID + n],
                               ref_dot(x, w1, m, n, C, C, 1, C, 1) +
                                   (double)r[m * MID + n],
                               5e-6, "row %d", m);
    for (int m = 0; m < ROWS; m++)
        for (int n = 0; n < C; n++)
            cr_assert_float_eq((double)out[m * C + n],
                               ref_dot(mid, w2, m, n, MID, MID, 1, MID, 1),
                               1e-4, "row %d", m);
    vt_plan_free(p);
}

/* An op that does not know of padding must not be given a padded value. */
Test(padding, refuses)
{
    const vt_plan_options o = {.dev = vt_test_device(),
                               .device_class = VT_CLASS_CPU};
    vt_plan *p = NULL;

    OK(vt_plan_new(&p, &o));
    const vt_val vx = vt_input(p, "x", VT_F32, 2, (int[]){rows, C});
    const vt_val v1 = vt_input(p, "w1", VT_F32, 2, (int[]){MID, C});
    const vt_val v2 = vt_input(p, "w2", VT_F32, 2, (int[]){C, MID});
    vt_linear_args a = {
        .w = v1, .b = VT_NONE, .scale = VT_NONE, .residual = VT_NONE};
    const vt_val h = vt_linear(p, vx, a);
    a.w = v2;
    cr_assert_neq(vt_linear(p, h, a), VT_NONE);
    cr_expect_eq(vt_activation(p, h, VT_ACT_RELU), VT_NONE);
    cr_expect_eq(vt_plan_status(p), VITCL_EUNSUPPORTED);
    vt_plan_free(p);
}
