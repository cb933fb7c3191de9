/*
 * test_add.c - sums of tensors, and of repeated rows and channels.
 */
#include "ref/ref.h"
#include "support/oneplan.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static vt_val build(vt_plan *p, const vt_val *in, const vt_case *c)
{
    (void)c;
    return vt_add(p, in[0], in[1]);
}

static void ref(double *out, const double *const *in, const vt_case *c)
{
    const int *d = c->in[0].dim;

    ref_add(out, in[0], in[1], d[0] * d[1]);
}

static vt_val build_rows(vt_plan *p, const vt_val *in, const vt_case *c)
{
    (void)c;
    return vt_add_rows(p, in[0], in[1]);
}

static void ref_rows(double *out, const double *const *in, const vt_case *c)
{
    const int *d = c->in[0].dim;
    int r = c->in[1].dim[0] * (c->in[1].rank > 1 ? c->in[1].dim[1] : 1);

    ref_add_rows(out, in[0], in[1], d[0] * d[1] * d[2] / r, r);
}

static vt_val build_grid(vt_plan *p, const vt_val *in, const vt_case *c)
{
    (void)c;
    return vt_add_grid(p, in[0], in[1], in[2]);
}

static void ref_grid(double *out, const double *const *in, const vt_case *c)
{
    const int *d = c->in[0].dim, gw = c->in[1].dim[0], gh = c->in[2].dim[0];

    ref_add_grid(out, in[0], in[1], in[2], d[0], d[1] - gh * gw, gh, gw, d[2]);
}

static vt_val build_channels(vt_plan *p, const vt_val *in, const vt_case *c)
{
    return vt_add_channels(p, in[0], in[1], in[2], c->arg[0]);
}

static void ref_channels(double *out, const double *const *in, const vt_case *c)
{
    const int *d = c->in[0].dim;

    ref_add_channels(out, in[0], in[1], in[2], d[0], d[1], d[2] * d[3],
                     c->arg[0]);
}

/* host/ops/add.c says why there is no gradient */
#define CHANNELS(B, C, H, W, residual, relu)                                   \
    {                                                                          \
        .name = #C " channels of " #H "x" #W ", " #residual ", " #relu,        \
        .in = {{.rank = 4, .dim = {B, C, H, W}},                               \
               {.rank = 1, .dim = {C}, .param = true},                         \
               {.rank = 4, .dim = {B, C, H, W}, .none = !(residual)}},         \
        .arg = {relu}, .no_grad = true                                         \
    }

#define GRID(B, R, gh, gw, C)                                                  \
    {                                                                          \
        .name = "grid " #gh "x" #gw " of " #C " behind " #R, .in = {           \
            {.rank = 3, .dim = {B, R + gh * gw, C}},                           \
            {.rank = 2, .dim = {gw, C / 2}, .param = true},                    \
            {.rank = 2, .dim = {gh, C / 2}, .param = true},                    \
        }                                                                      \
    }

#define TWO(a, b)                                                              \
    {                                                                          \
        {.rank = 2, .dim = {a, b}},                                            \
        {                                                                      \
            .rank = 2, .dim = { a, b }                                         \
        }                                                                      \
    }

Test(add, all)
{
    static const vt_case cases[] = {{.name = "1x1", .in = TWO(1, 1)},
                                    {.name = "3x11", .in = TWO(3, 11)},
                                    {.name = "197x193", .in = TWO(197, 193)},
                                    {0}};
    static const vt_case rows[] = {
        {.name = "1x1x1 + 1",
         .in = {{.rank = 3, .dim = {1, 1, 1}},
                {.rank = 1, .dim = {1}, .param = true}}},
        {.name = "2x5x7 + 7",
         .in = {{.rank = 3, .dim = {2, 5, 7}},
                {.rank = 1, .dim = {7}, .param = true}}},
        {.name = "3x5x9 + 5x9",
         .in = {{.rank = 3, .dim = {3, 5, 9}},
                {.rank = 2, .dim = {5, 9}, .param = true}}},
        {.name = "1x9x65 + 65",
         .in = {{.rank = 3, .dim = {1, 9, 65}},
                {.rank = 1, .dim = {65}, .param = true}}},
        {.name = "2x33x768 + 768",
         .in = {{.rank = 3, .dim = {2, 33, 768}},
                {.rank = 1, .dim = {768}, .param = true}}},
        {0}};

    static const vt_case grids[] = {
        GRID(1, 0, 1, 1, 2), GRID(2, 1, 3, 2, 10), GRID(3, 2, 2, 5, 34), {0}};
    static const vt_case channels[] = {
        CHANNELS(1, 1, 1, 1, 0, 0),    CHANNELS(1, 1, 1, 1, 1, 1),
        CHANNELS(2, 3, 5, 7, 0, 1),    CHANNELS(2, 3, 5, 7, 1, 0),
        CHANNELS(3, 2, 4, 11, 1, 1),   CHANNELS(1, 2, 41, 53, 1, 1),
        CHANNELS(2, 64, 28, 28, 0, 1), {0}};

    vt_check_ops(cases, build, ref);
    vt_check_ops(rows, build_rows, ref_rows);
    vt_check_ops(grids, build_grid, ref_grid);
    vt_check_ops(channels, build_channels, ref_channels);
}

/* One tensor twice: its gradient is the sum of both shares. */
static vt_val build_twice(vt_plan *p, const vt_val *in, const vt_case *c)
{
    vt_val y = vt_add(p, in[0], in[0]);

    (void)c;
    return vt_add(p, vt_multiply(p, y, in[0]), in[0]);
}

static void ref_twice(double *out, const double *const *in, const vt_case *c)
{
    for (int i = 0; i < c->in[0].dim[0]; i++)
        out[i] = 2 * in[0][i] * in[0][i] + in[0][i];
}

Test(add, consumers)
{
    static const vt_case c = {.name = "37", .in = {{.rank = 1, .dim = {37}}}};

    vt_check_op(&c, build_twice, ref_twice);
}
