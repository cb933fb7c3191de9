/*
 * test_embed.c - prefix tokens and positions.
 */
#include "ref/ref.h"
#include "support/oneplan.h"

#include <criterion/criterion.h>

static vt_val build(vt_plan *p, const vt_val *in, const vt_case *c)
{
    return vt_embed(p, in[0], in + 2, c->arg[1], in[1], c->arg[0]);
}

static void ref(double *out, const double *const *in, const vt_case *c)
{
    const int *d = c->in[0].dim;
    int rows[3] = {c->in[2].dim[1], c->in[3].dim[1], c->in[4].dim[1]};

    ref_embed(out, in[0], in + 2, rows, c->arg[1], in[1], c->arg[0], d[0], d[1],
              d[2]);
}

#define P(n, C)                                                                \
    {                                                                          \
        .rank = 3, .dim = {1, n, C}, .param = true                             \
    }

Test(embed, all)
{
    static const vt_case cases[] = {
        {.name = "one patch alone",
         .in = {{.rank = 3, .dim = {1, 1, 1}}, {.none = true}}},
        {.name = "class token, positions",
         .in = {{.rank = 3, .dim = {2, 5, 7}}, P(6, 7), P(1, 7)},
         .arg = {1, 1}},
        {.name = "positions of patches alone",
         .in = {{.rank = 3, .dim = {3, 4, 9}}, P(4, 9), P(1, 9)},
         .arg = {0, 1}},
        {.name = "class token, registers without positions",
         .in = {{.rank = 3, .dim = {2, 6, 11}}, P(7, 11), P(1, 11), P(4, 11)},
         .arg = {1, 2}},
        {.name = "three parts, no positions",
         .in = {{.rank = 3, .dim = {2, 3, 5}},
                {.none = true},
                P(1, 5),
                P(1, 5),
                P(2, 5)},
         .arg = {0, 3}},
        {.name = "2x196x192",
         .in = {{.rank = 3, .dim = {2, 196, 192}}, P(197, 192), P(1, 192)},
         .arg = {1, 1}},
        {0}};

    vt_check_ops(cases, build, ref);
}
