/*
 * test_relkeys.c - the paper's relative positions: alone, and inside attention,
 * where query and key both have a second path to the loss.
 */
#include "ref/ref.h"
#include "support/oneplan.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

/* in qkv, keys; arg: heads, prefix tokens */
static vt_val build(vt_plan *p, const vt_val *in, const vt_case *c)
{
    return vt_relkeys(p, in[0], in[1], c->arg[0], c->arg[1]);
}

static void ref(double *out, const double *const *in, const vt_case *c)
{
    const int *x = c->in[0].dim, H = c->arg[0];

    ref_relkeys(out, in[0], in[1], x[0], H, x[2] / 3 / H, x[1], c->arg[1]);
}

static vt_val build_attention(vt_plan *p, const vt_val *in, const vt_case *c)
{
    return vt_attention(
        p, in[0],
        (vt_attention_args){.heads = c->arg[0], .bias = build(p, in, c)});
}

static void ref_attention_of(double *out, const double *const *in,
                             const vt_case *c)
{
    const int *x = c->in[0].dim, H = c->arg[0], T = x[1], C = x[2] / 3;
    double *bias = malloc(sizeof *bias * (unsigned)(x[0] * H * T * T));

    ref(bias, in, c);
    ref_heads(out, in[0], in[0] + C, in[0] + 2 * C, bias, x[0], H, C / H, T, T,
              3 * C, 3 * C, 1 / sqrt(C / H), 1);
    free(bias);
}

#define CASE(B, T, C, H, R, L)                                                 \
    {                                                                          \
        .in = {{.rank = 3, .dim = {B, T, 3 * C}},                              \
               {.rank = 2, .dim = {L, C}, .param = true}},                     \
        .arg = {H, R},                                                         \
        .name = #B "x" #T ", " #H " heads of " #C "/" #H ", prefix " #R        \
    }

Test(relkeys, all)
{
    static const vt_case cases[] = {CASE(1, 1, 1, 1, 0, 1),
                                    CASE(2, 5, 6, 2, 0, 9),
                                    CASE(1, 7, 27, 3, 2, 12),
                                    {0}};
    static const vt_case inside = CASE(2, 5, 6, 2, 1, 10);
    vt_fixture f;

    vt_check_ops(cases, build, ref);
    vt_check_op(&inside, build_attention, ref_attention_of);
    vt_fixture_open(&f, VT_CLASS_CPU, false);
    vt_val x = vt_input(f.plan, "x", VT_F32, 3, (int[]){1, 5, 12});
    vt_val k = vt_input(f.plan, "k", VT_F32, 2, (int[]){9, 4});
    cr_expect_eq(vt_relkeys(f.plan, x, k, 2, 1), VT_NONE);
    cr_expect_eq(vt_plan_status(f.plan), VITCL_EINVAL);
    vt_fixture_close(&f);
}
