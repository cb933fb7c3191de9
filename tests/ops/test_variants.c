/*
 * test_variants.c - what VITCL_VARIANTS turns on for several operations: pixels
 * to patches in one kernel, and products with residuals that lie apart.
 */
#include "ref/ref.h"
#include "support/halves.h"
#include "support/linear.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* ---- pixels ---- */

enum { HEIGHT = 13, WIDTH = 22, PATCH_H = 4, PATCH_W = 5, BATCH = 3 };

/* The first `channels` channels behind `lead` rows; words of the variable.
 * floats: the run begins with the normalised pictures. */
static float *patches(uint64_t *n, const char *words, vitcl_precision precision,
                      int channels, int lead, bool floats)
{
    static const float mean[] = {0.485f, 0.456f, 0.406f},
                       std[] = {0.229f, 0.224f, 0.225f};
    uint8_t rgb[BATCH * HEIGHT * WIDTH * 3];
    float x[sizeof rgb], *out;
    vt_fixture f;
    vt_val in, pixels, y;

    setenv("VITCL_VARIANTS", words, 1);
    vt_fixture_open_as(&f, (vt_plan_options){.device_class = VT_CLASS_GPU,
                                             .precision = precision});
    in = vt_input(f.plan, "rgb", VT_U8, 4, (int[]){BATCH, HEIGHT, WIDTH, 3});
    pixels = vt_normalise(f.plan, in, 1.0f / 255, mean, std);
    y = vt_patch_behind(f.plan, pixels, channels, PATCH_H, PATCH_W, lead);
    y = vt_halves_copy(f.plan, y);
    vt_keep(f.plan, y);
    vt_check(vt_plan_finish(f.plan));
    cr_expect_eq(vt_plan_launches(f.plan), *words ? 2 : 3);
    for (size_t i = 0; i < sizeof rgb; i++)
        rgb[i] = (uint8_t)(i * 37 % 256);
    vt_check(vt_plan_write(f.plan, in, rgb, sizeof rgb));
    for (int c = 0; c < 3; c++)
        for (size_t i = 0; i < HEIGHT * WIDTH * BATCH; i++)
            x[(i / (HEIGHT * WIDTH) * 3 + (size_t)c) * HEIGHT * WIDTH +
              i % (HEIGHT * WIDTH)] =
                ((float)rgb[3 * i + (size_t)c] / 255 - mean[c]) / std[c];
    *n = vt_elements(f.plan, y);
    out = malloc(*n * sizeof *out);
    if (floats)
        vt_check(vt_plan_write(f.plan, pixels, x, sizeof x));
    vt_check(vt_plan_run(f.plan, floats));
    vt_check(vt_plan_read(f.plan, y, out, *n));
    vt_fixture_close(&f);
    return out;
}

static void same(vitcl_precision precision, int channels, int lead)
{
    const float bound = precision == VITCL_F32 ? 1e-5f : 0.02f;
    uint64_t n;
    float *want = patches(&n, "", precision, channels, lead, false);
    float *got = patches(&n, "pixels", precision, channels, lead, false);
    float *behind = patches(&n, "pixels", precision, channels, lead, true);
    const uint64_t zeros = n / BATCH / (uint64_t)(lead + 12) * (uint64_t)lead;

    cr_expect_arr_eq(got, want, n * sizeof *got, "%d channels", channels);
    for (uint64_t i = 0; i < n; i++) {
        cr_expect_float_eq(behind[i], want[i], bound, "%d", (int)i);
        if (i < zeros)
            cr_expect_eq(want[i], 0);
    }
    free(want), free(got), free(behind);
}

Test(variants, pixels)
{
    static const vitcl_precision all[] = {VITCL_F32, VITCL_F16, VITCL_BF16};

    for (int i = 0; i < 3; i++) {
        same(all[i], 0, 0);
        same(all[i], 1, 2);
    }
}

/* ---- residuals ---- */

static void ref_apart(double *out, const double *const *in, const vt_case *c)
{
    const int *x = c->in[0].dim, *r = c->in[4].dim, n = c->in[1].dim[0];

    for (int b = 0; b < x[0]; b++)
        ref_linear(out + b * x[1] * n, in[0] + b * x[1] * x[2], in[1], in[2],
                   in[3], in[4] + (c->in[4].rank == 2 ? 0 : b * r[1] * n), x[1],
                   n, x[2], c->arg[0]);
}

static void apart(const char *unit)
{
    const vt_case cases[] = {
        {.name = "the same for all, 3x5x40 by 24",
         .in = {X(3, 5, 40), P(24, 40), NONE, NONE, P(5, 24)}},
        {.name = "the first of 7, by 25",
         .in = {X(3, 1, 33), P(25, 33), P(1, 25), NONE, X(3, 7, 25)}},
        {.name = "the first 2 of 3, scale",
         .in = {X(2, 2, 64), P(16, 64), P(1, 16), P(1, 16), X(2, 3, 16)},
         .arg = {VT_ACT_RELU}},
        {.name = "terms in parts", /* gemm_sum */
         .in = {X(2, 3, 1024), P(40, 1024), NONE, NONE, P(3, 40)}},
        {0}};

    setenv("VITCL_VARIANTS", "embed", 1);
    setenv("VITCL_MMA", unit, 1);
    vt_check_halves(cases, vt_test_linear, ref_apart);
}

Test(variants, residuals_units)
{
    apart("emulate-mma16");
    apart("emulate-dpas8");
}

Test(variants, residuals_tiles)
{
    apart("off");
}

/* On processors, and without the word. */
Test(variants, residuals_refused)
{
    for (int cpu = 0; cpu < 2; cpu++) {
        vt_fixture f;

        setenv("VITCL_VARIANTS", cpu ? "embed" : "", 1);
        vt_fixture_open(&f, cpu ? VT_CLASS_CPU : VT_CLASS_GPU, false);
        const vt_linear_args a = {.w = vt_param(f.plan, "w", 2, (int[]){5, 4}),
                                  .b = VT_NONE,
                                  .scale = VT_NONE,
                                  .residual =
                                      vt_param(f.plan, "r", 2, (int[]){3, 5})};

        vt_linear(f.plan, vt_input(f.plan, "x", VT_F32, 3, (int[]){2, 3, 4}),
                  a);
        cr_expect_eq(vt_plan_status(f.plan), VITCL_EINVAL);
        cr_expect(strstr(vt_message(), "residual differs"), "%s", vt_message());
        vt_fixture_close(&f);
    }
}
