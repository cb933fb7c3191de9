/*
 * test_last.c - rows of attention and of products that their last work-groups
 * round for the next int8 product: the same bits as those of launches that
 * round them.
 */
#include "gemm/parts.h"
#include "support/commit.h"
#include "support/device.h"
#include "support/oneplan.h"
#include "support/skip.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows and queries fill no block; a block has the groups of two heads, and of
 * several tiles of columns. */
enum { B = 2, T = 37, H = 2, C = 64, WIDE = 192, ROWS = B * T };

static float numbers(int i)
{
    return (float)((i * 7919 + i / 64 * 31) % 509) / 256 - 1;
}

static vt_val layer(vt_fixture *f, vt_val x, int n, int k, vt_act act)
{
    static float w[4][WIDE * WIDE];
    static const char *const names[] = {"w0", "w1", "w2", "w3"};
    const int i = f->params;

    for (int j = 0; j < n * k; j++)
        w[i][j] = numbers(j * 3 + i) / 4;
    return vt_linear(f->plan, x,
                     (vt_linear_args){.w = vt_fixture_param(
                                          f, names[i], 2, (int[]){n, k}, w[i]),
                                      .b = VT_NONE,
                                      .scale = VT_NONE,
                                      .residual = VT_NONE,
                                      .act = act});
}

/* Twice, with the same bits. Returns the launches. */
static unsigned run(float *y, const char *words, const float *x)
{
    float *again = malloc(ROWS * C * sizeof *again);
    vt_fixture f;
    vt_val in, v;
    unsigned launches;
    int rounded = 0;

    setenv("VITCL_VARIANTS", words, 1);
    vt_fixture_open_as(&f, (vt_plan_options){.device_class = VT_CLASS_GPU,
                                             .precision = VITCL_INT8,
                                             .gemm = "native"});
    in = vt_input(f.plan, "x", VT_F32, 3, (int[]){B, T, C});
    v = layer(&f, in, 3 * C, C, VT_ACT_NONE);
    v = vt_attention(f.plan, v,
                     (vt_attention_args){.heads = H, .bias = VT_NONE});
    v = layer(&f, v, C, C, VT_ACT_NONE);
    v = layer(&f, v, WIDE, C, VT_ACT_GELU);
    v = layer(&f, v, C, WIDE, VT_ACT_NONE);
    vt_keep(f.plan, v);
    vt_check(vt_plan_finish(f.plan));
    for (int i = 0; i < vt_plan_steps(f.plan); i++) {
        const vt_step *s = vt_plan_step(f.plan, i);

        rounded += strstr(s->gemm ? vt_gemm_describe(s->gemm) : s->note,
                          "rounded by the last") != NULL;
    }
    cr_expect_eq(rounded, *words ? 3 : 0, "%d steps round", rounded);
    launches = vt_plan_launches(f.plan);
    vt_check(vt_plan_write(f.plan, in, x, ROWS * C * sizeof *x));
    for (int i = 0; i < 2; i++) {
        vt_check(vt_plan_run(f.plan, 0));
        vt_check(vt_plan_read(f.plan, v, i ? again : y, ROWS * C));
    }
    cr_expect_arr_eq(again, y, ROWS * C * sizeof *y, "other bits");
    vt_fixture_close(&f);
    free(again);
    return launches;
}

static void same(const char *unit)
{
    float x[ROWS * C], want[ROWS * C], got[ROWS * C];
    unsigned usual;

    vt_test_emulate(unit);
    for (int i = 0; i < ROWS * C; i++)
        x[i] = numbers(i);
    usual = run(want, "", x);
    cr_expect_eq(run(got, "last", x), usual - 3, "%s: launches", unit);
    cr_expect_arr_eq(got, want, sizeof got, "%s: other bits", unit);
    for (int i = 0; i < ROWS * C; i++)
        cr_assert(isfinite(got[i]));
    x[5 * C + 1] = NAN;
    (void)run(want, "", x);
    (void)run(got, "last", x);
    for (int i = 0; i < ROWS * C; i++)
        cr_expect_eq(isnan(got[i]) != 0, i < T * C, "%s: %d", unit, i);
    unsetenv("VITCL_MMA"), unsetenv("VITCL_VARIANTS");
}

/* Some units, others at each commit; VITCL_TEST_MMA=all: all. */
Test(last, rounds)
{
    static const char *const units[] = {"mma16",  "mma8",    "wmma11",
                                        "wmma12", "mfma942", "dpas8"};
    enum { UNITS = sizeof units / sizeof *units };
    const bool all = getenv("VITCL_TEST_MMA") != NULL;
    const int turn = (int)(vt_test_commit() % UNITS);

    setenv("VITCL_VARIANTS", "last", 1);
    if (!vt_last_fence(vt_test_device(), VT_VARIANT_LAST))
        vt_skip("this driver orders nothing between work-groups");
    for (int i = 0; i < UNITS; i++)
        if (all || i == turn)
            same(units[i]);
}
