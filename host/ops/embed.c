/*
 * embed.c - prefix tokens, patches and position embeddings to one sequence.
 */
#include "ops/common.h"

enum { IN_X, IN_POS, IN_PREFIX }; /* the prefix's parts from IN_PREFIX on */
enum { OUT_TOKENS };
/* number of positions that belong to the prefix; number of prefix parts */
enum { I_POS_PREFIX, I_PARTS, INTS };
/* embed_grad: add I_COUNT tokens from I_FIRST on to DROWS, a state, at I_ROW */
enum { DW_DROWS, DW_DTOKENS, DW_INS };
enum { I_FIRST, I_COUNT, I_ROW, DW_INTS };

#define PARTS 3

static int prefix_rows(const vt_plan *p, const vt_step *s)
{
    int r = 0, c = vt_dim(p, s->in[IN_X], -1);

    for (int i = 0; i < s->i[I_PARTS]; i++)
        r += vt_op_count(p, s->in[IN_PREFIX + i]) / c;
    return r;
}

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    vt_val x = s->in[IN_X];
    int c = vt_dim(p, x, -1), n = vt_dim(p, x, 1), r;

    VT_RET(vt_op_need(x != VT_NONE && vt_value_of(p, x)->rank == 3,
                      "patch tokens must be [B,N,C]"));
    for (int i = 0; i < s->i[I_PARTS]; i++)
        VT_RET(vt_op_need(s->in[IN_PREFIX + i] != VT_NONE &&
                              vt_op_count(p, s->in[IN_PREFIX + i]) % c == 0,
                          "prefix tokens must have the patches' width"));
    r = prefix_rows(p, s);
    VT_RET(vt_op_need(s->i[I_POS_PREFIX] >= 0 && s->i[I_POS_PREFIX] <= r,
                      "more prefix positions than prefix tokens"));
    VT_RET(vt_op_need(s->in[IN_POS] == VT_NONE ||
                          vt_op_count(p, s->in[IN_POS]) ==
                              (long long)(s->i[I_POS_PREFIX] + n) * c,
                      "positions and tokens differ in number"));
    return vt_op_out(p, s, OUT_TOKENS, 3, (int[]){vt_dim(p, x, 0), r + n, c});
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vt_kernel *k;
    vt_val x = s->in[IN_X], pos = s->in[IN_POS];
    int b = vt_dim(p, x, 0), n = vt_dim(p, x, 1), c = vt_dim(p, x, 2);
    int r = prefix_rows(p, s);
    const vt_val first = s->i[I_PARTS] ? s->in[IN_PREFIX] : VT_NONE;
    int at = first == VT_NONE ? 0 : vt_op_count(p, first) / c;

    VT_RET(vt_op_kernel(&k, p, s, "embed", "embed"));
    VT_RET(vt_args(p, k, "vvvviiiii", s->out[OUT_TOKENS], x, pos, first, n, c,
                   r, s->i[I_POS_PREFIX], at));
    vt_op_blocks(k, p, c, b * (at + n));
    for (int i = 1; i < s->i[I_PARTS]; i++) {
        int count = vt_op_count(p, s->in[IN_PREFIX + i]) / c;

        VT_RET(vt_op_kernel(&k, p, s, "embed", "embed_prefix"));
        VT_RET(vt_args(p, k, "vvviiiii", s->out[OUT_TOKENS],
                       s->in[IN_PREFIX + i], pos, r + n, c, at, count,
                       s->i[I_POS_PREFIX]));
        vt_op_blocks(k, p, c, b * count);
        at += count;
    }
    return VITCL_OK;
}

static vitcl_status grad_prepare(vt_plan *p, vt_step *s)
{
    vt_val g = s->in[DW_DTOKENS];
    int c = vt_dim(p, g, 2);

    return vt_op_launch_blocks(p, s, "embed", "embed_grad", c, s->i[I_COUNT],
                               "vviiiii", s->in[DW_DROWS], g, vt_dim(p, g, 0),
                               vt_dim(p, g, 1), c, s->i[I_FIRST], s->i[I_ROW]);
}

static const vt_op embed_grad = {.name = "embed_grad", .prepare = grad_prepare};

static void rows_grad(vt_plan *p, vt_val v, vt_val g, int first, int count,
                      int at)
{
    vt_val sum = vt_grad_param(p, v);

    if (sum != VT_NONE && count > 0)
        vt_op_append(
            p, &embed_grad, DW_INS,
            (vt_val[]){[DW_DROWS] = sum, [DW_DTOKENS] = g}, DW_INTS,
            (int[]){[I_FIRST] = first, [I_COUNT] = count, [I_ROW] = at});
}

static void grad(vt_plan *p, const vt_step *s)
{
    vt_val g = vt_grad(p, s->out[OUT_TOKENS]);
    int n = vt_dim(p, s->in[IN_X], 1), c = vt_dim(p, s->in[IN_X], 2);
    int r = prefix_rows(p, s), at = 0;

    rows_grad(p, s->in[IN_POS], g, 0, s->i[I_POS_PREFIX], 0);
    rows_grad(p, s->in[IN_POS], g, r, n, s->i[I_POS_PREFIX]);
    for (int i = 0; i < s->i[I_PARTS]; i++) {
        int count = vt_op_count(p, s->in[IN_PREFIX + i]) / c;

        rows_grad(p, s->in[IN_PREFIX + i], g, at, count, 0);
        at += count;
    }
    if (vt_grad_wanted(p, s->in[IN_X]))
        vt_op_give(p, s->in[IN_X], vt_slice(p, g, r, n));
}

const vt_op vt_op_embed = {.name = "embed",
                           .shape = shape,
                           .prepare = prepare,
                           .grad = grad,
                           .half_in = 1u << IN_X,
                           .half_out = 1u << OUT_TOKENS};

vt_val vt_embed(vt_plan *p, vt_val x, const vt_val *prefix, int n, vt_val pos,
                int pos_prefix)
{
    vt_val in[IN_PREFIX + PARTS] = {[IN_X] = x, [IN_POS] = pos};

    if (n < 0 || n > PARTS)
        return vt_plan_fail(
            p, vt_fail(VITCL_EUNSUPPORTED, "%d kinds of prefix tokens", n));
    for (int i = 0; i < n; i++)
        in[IN_PREFIX + i] = prefix[i];
    return vt_op_append(p, &vt_op_embed, IN_PREFIX + n, in, INTS,
                        (int[]){[I_POS_PREFIX] = pos_prefix, [I_PARTS] = n});
}
