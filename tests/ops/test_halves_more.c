/*
 * test_halves_more.c - ops of DINOv3, gated units and hybrids whose values are
 * stored in 16 bits.
 */
#include "ref/ref.h"
#include "support/halves.h"

#include <criterion/criterion.h>

#define PLANES(B, C, H, W)                                                     \
    {                                                                          \
        .rank = 4, .dim = { B, C, H, W }                                       \
    }

static int elements(const vt_case *c)
{
    const int *d = c->in[0].dim;

    return d[0] * d[1] * d[2] * (c->in[0].rank == 4 ? d[3] : 1);
}

/* ---- tokens ---- */

static vt_val qknorm(vt_plan *p, const vt_val *in, const vt_case *c)
{
    return vt_qknorm(p, in[0], c->arg[0], in[1], in[2], in[3], in[4], 1e-5f);
}

static void ref_of_qknorm(double *out, const double *const *in,
                          const vt_case *c)
{
    const int *d = c->in[0].dim;

    ref_qknorm(out, in[0], in + 1, d[0] * d[1], c->arg[0], d[2] / 3 / c->arg[0],
               1e-5, 3, 0);
}

Test(halves_more, qknorm)
{
    static const vt_case cases[] = {
        {.name = "qknorm 2x3, 2 heads of 5",
         .in = {X(2, 3, 30), P(1, 5), P(1, 5), P(1, 5), P(1, 5)},
         .arg = {2}},
        {.name = "qknorm 2x4, 1 head of 17, no betas",
         .in = {X(2, 4, 51), P(1, 17), NONE, P(1, 17), NONE},
         .arg = {1}},
        {0}};

    vt_check_halves(cases, qknorm, ref_of_qknorm);
}

static vt_val rope(vt_plan *p, const vt_val *in, const vt_case *c)
{
    return vt_rope(p, in[0], c->arg[0], in[1], c->arg[1], c->arg[2]);
}

static void ref_of_rope(double *out, const double *const *in, const vt_case *c)
{
    const int *d = c->in[0].dim;

    ref_rope(out, in[0], in[1], d[0], d[1], c->arg[0], d[2] / 3 / c->arg[0],
             c->arg[1], c->arg[2], 0);
}

Test(halves_more, rope)
{
    static const vt_case cases[] = {
        {.name = "rope 2x5, 3 heads of 6, class token skipped",
         .in = {X(2, 5, 54), {.rank = 3, .dim = {4, 2, 6}, .param = true}},
         .arg = {3, 1}},
        {.name = "rope 3x3, 1 head of 10",
         .in = {X(3, 3, 30), {.rank = 3, .dim = {3, 2, 10}, .param = true}},
         .arg = {1, 0}},
        {.name = "rope 3x3, halves of 10",
         .in = {X(3, 3, 30), {.rank = 3, .dim = {3, 2, 10}, .param = true}},
         .arg = {1, 0, 1}},
        {0}};

    vt_check_halves(cases, rope, ref_of_rope);
}

static vt_val relkeys(vt_plan *p, const vt_val *in, const vt_case *c)
{
    return vt_relkeys(p, in[0], in[1], c->arg[0], c->arg[1]);
}

static void ref_of_relkeys(double *out, const double *const *in,
                           const vt_case *c)
{
    const int *x = c->in[0].dim, H = c->arg[0];

    ref_relkeys(out, in[0], in[1], x[0], H, x[2] / 3 / H, x[1], c->arg[1]);
}

/* Attention's bias stays in f32: its softmax would amplify a rounding. */
Test(halves_more, relkeys)
{
    static const vt_case cases[] = {
        {.name = "relkeys 2x6, 2 heads of 5, class token",
         .in = {X(2, 6, 30), P(12, 10)},
         .arg = {2, 1},
         .f = {[VT_HALVES_F32] = 1}},
        {0}};

    vt_check_halves(cases, relkeys, ref_of_relkeys);
}

static vt_val swiglu(vt_plan *p, const vt_val *in, const vt_case *c)
{
    (void)c;
    return vt_swiglu(p, in[0]);
}

static void ref_of_swiglu(double *out, const double *const *in,
                          const vt_case *c)
{
    const int *d = c->in[0].dim;

    ref_swiglu(out, in[0], d[0] * d[1], d[2] / 2);
}

Test(halves_more, swiglu)
{
    static const vt_case cases[] = {
        {.name = "swiglu 2x3x10", .in = {X(2, 3, 10)}},
        {.name = "swiglu 2x5x66", .in = {X(2, 5, 66)}},
        {0}};

    vt_check_halves(cases, swiglu, ref_of_swiglu);
}

/* ---- sums, and products with a number ---- */

enum { ADD, ADD_ROWS, SCALE };

static vt_val pair(vt_plan *p, const vt_val *in, const vt_case *c)
{
    switch (c->arg[0]) {
    case ADD:
        return vt_add(p, in[0], in[1]);
    case ADD_ROWS:
        return vt_add_rows(p, in[0], in[1]);
    default:
        return vt_scale(p, in[0], -1.5f);
    }
}

static void ref_of_pair(double *out, const double *const *in, const vt_case *c)
{
    const int *d = c->in[0].dim, n = elements(c);

    switch (c->arg[0]) {
    case ADD:
        ref_add(out, in[0], in[1], n);
        break;
    case ADD_ROWS:
        ref_add_rows(out, in[0], in[1], d[0], d[1] * d[2]);
        break;
    default:
        for (int i = 0; i < n; i++)
            out[i] = in[0][i] * -1.5;
    }
}

Test(halves_more, sums)
{
    static const vt_case cases[] = {
        {.name = "add", .in = {X(2, 3, 7), X(2, 3, 7)}, .arg = {ADD}},
        {.name = "add rows", .in = {X(2, 3, 7), P(3, 7)}, .arg = {ADD_ROWS}},
        {.name = "scale", .in = {X(2, 5, 13)}, .arg = {SCALE}},
        {0}};

    vt_check_halves(cases, pair, ref_of_pair);
}

static vt_val grid(vt_plan *p, const vt_val *in, const vt_case *c)
{
    (void)c;
    return vt_add_grid(p, in[0], in[1], in[2]);
}

static void ref_of_grid(double *out, const double *const *in, const vt_case *c)
{
    const int *d = c->in[0].dim, gw = c->in[1].dim[0], gh = c->in[2].dim[0];

    ref_add_grid(out, in[0], in[1], in[2], d[0], d[1] - gw * gh, gh, gw, d[2]);
}

Test(halves_more, add_grid)
{
    static const vt_case cases[] = {{.name = "grid of 3 by 2, a class token",
                                     .in = {X(2, 7, 10), P(3, 5), P(2, 5)}},
                                    {0}};

    vt_check_halves(cases, grid, ref_of_grid);
}

/* ---- planes ---- */

static vt_val channels(vt_plan *p, const vt_val *in, const vt_case *c)
{
    return vt_add_channels(p, in[0], in[1], in[2], c->arg[0]);
}

static void ref_of_channels(double *out, const double *const *in,
                            const vt_case *c)
{
    const int *d = c->in[0].dim;

    ref_add_channels(out, in[0], in[1], in[2], d[0], d[1], d[2] * d[3],
                     c->arg[0]);
}

Test(halves_more, add_channels)
{
    static const vt_case cases[] = {
        {.name = "channels, residual, ReLU",
         .in = {PLANES(2, 3, 5, 7), P(1, 3), PLANES(2, 3, 5, 7)},
         .arg = {1}},
        {.name = "channels", .in = {PLANES(2, 2, 3, 3), P(1, 2), NONE}},
        {0}};

    vt_check_halves(cases, channels, ref_of_channels);
}

static vt_val conv(vt_plan *p, const vt_val *in, const vt_case *c)
{
    const int *a = c->arg;

    return vt_conv(p, in[0], in[1], a[0], a[1], a[2], a[3], a[4]);
}

static void ref_of_conv(double *out, const double *const *in, const vt_case *c)
{
    const int *x = c->in[0].dim, *w = c->in[1].dim;

    ref_conv(out, in[0], in[1], NULL, x[0], x[1], x[2], x[3], w[0], w[2], w[3],
             c->arg[0], c->arg + 1);
}

#define WEIGHT(O, C, h, w)                                                     \
    {                                                                          \
        .rank = 4, .dim = {O, C, h, w}, .param = true                          \
    }

Test(halves_more, conv)
{
    static const vt_case cases[] = {
        {.name = "conv 3x3, stride 2, padded",
         .in = {PLANES(2, 3, 7, 5), WEIGHT(5, 3, 3, 3)},
         .arg = {2, 0, 1, 1, 1}},
        {.name = "conv 1x1",
         .in = {PLANES(2, 5, 4, 3), WEIGHT(6, 5, 1, 1)},
         .arg = {1}},
        {0}};

    vt_check_halves(cases, conv, ref_of_conv);
}

static vt_val groupnorm(vt_plan *p, const vt_val *in, const vt_case *c)
{
    return vt_groupnorm(p, in[0], in[1], in[2], c->arg[0], 1e-5f, in[3],
                        c->arg[1]);
}

static void ref_of_groupnorm(double *out, const double *const *in,
                             const vt_case *c)
{
    const int *d = c->in[0].dim;

    ref_groupnorm(out, in[0], in[1], in[2], in[3], d[0], d[1], d[2] * d[3],
                  c->arg[0], 1e-5, c->arg[1]);
}

Test(halves_more, groupnorm)
{
    static const vt_case cases[] = {
        {.name = "groupnorm, residual, ReLU",
         .in = {PLANES(2, 6, 5, 7), P(1, 6), P(1, 6), PLANES(2, 6, 5, 7)},
         .arg = {2, 1}},
        {.name = "groupnorm, 1 channel a group",
         .in = {PLANES(3, 2, 3, 3), P(1, 2), P(1, 2), NONE},
         .arg = {2, 0}},
        {0}};

    vt_check_halves(cases, groupnorm, ref_of_groupnorm);
}

enum { MAXIMUM, MEAN, PAD };

static vt_val window(vt_plan *p, const vt_val *in, const vt_case *c)
{
    const int *a = c->arg;

    if (a[0] == MAXIMUM)
        return vt_maxpool(p, in[0], a[1], a[2], a[3], a[4], a[5], a[6]);
    if (a[0] == MEAN)
        return vt_avgpool(p, in[0], a[1]);
    return vt_pad(p, in[0], a[3], a[4], a[5], a[6]);
}

static void ref_of_window(double *out, const double *const *in,
                          const vt_case *c)
{
    const int *d = c->in[0].dim, *a = c->arg;

    if (a[0] == MAXIMUM)
        ref_maxpool(out, in[0], d[0] * d[1], d[2], d[3], a[1], a[2], a + 3);
    else if (a[0] == MEAN)
        ref_avgpool(out, in[0], d[0] * d[1], d[2], d[3], a[1]);
    else
        ref_pad(out, in[0], d[0] * d[1], d[2], d[3], a + 3);
}

Test(halves_more, windows)
{
    static const vt_case cases[] = {{.name = "maximum of 3x3, stride 2",
                                     .in = {PLANES(2, 3, 7, 5)},
                                     .arg = {MAXIMUM, 3, 2, 1, 1, 1, 1}},
                                    {.name = "mean of 2x2, odd sides",
                                     .in = {PLANES(2, 3, 5, 7)},
                                     .arg = {MEAN, 2}},
                                    {.name = "pad and crop",
                                     .in = {PLANES(2, 3, 5, 7)},
                                     .arg = {PAD, 0, 0, 1, -2, 0, 3}},
                                    {0}};

    vt_check_halves(cases, window, ref_of_window);
}

static vt_val to_tokens(vt_plan *p, const vt_val *in, const vt_case *c)
{
    (void)c;
    return vt_to_tokens(p, in[0]);
}

static void ref_of_to_tokens(double *out, const double *const *in,
                             const vt_case *c)
{
    const int *d = c->in[0].dim;

    ref_to_tokens(out, in[0], d[0], d[1], d[2] * d[3]);
}

Test(halves_more, to_tokens)
{
    static const vt_case cases[] = {
        {.name = "to tokens 2x17 of 5x7", .in = {PLANES(2, 17, 5, 7)}}, {0}};

    vt_check_halves(cases, to_tokens, ref_of_to_tokens);
}
