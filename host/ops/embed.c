/*
 * embed.c - prefix tokens, patch tokens and positions to one sequence.
 *
 * in x[B,N,C], pos or none, up to three prefix parts; i: positions that belong
 * to the prefix, number of parts.
 */
#include "ops/common.h"

#define PARTS 3

static int prefix_rows(const vt_plan *p, const vt_step *s)
{
    int r = 0, c = vt_dim(p, s->in[0], -1);

    for (int i = 0; i < s->i[1]; i++)
        r += vt_op_count(p, s->in[2 + i]) / c;
    return r;
}

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_val x = s->in[0];
    int c = vt_dim(p, x, -1), n = vt_dim(p, x, 1), r;

    VT_TRY(vt_op_need(x != VT_NONE && vt_value_of(p, x)->rank == 3,
                      "patch tokens must be [B,N,C]"));
    for (int i = 0; i < s->i[1]; i++)
        VT_TRY(vt_op_need(s->in[2 + i] != VT_NONE &&
                              vt_op_count(p, s->in[2 + i]) % c == 0,
                          "prefix tokens must have the patches' width"));
    r = prefix_rows(p, s);
    VT_TRY(vt_op_need(s->i[0] >= 0 && s->i[0] <= r,
                      "more prefix positions than prefix tokens"));
    VT_TRY(vt_op_need(s->in[1] == VT_NONE || vt_op_count(p, s->in[1]) ==
                                                 (long long)(s->i[0] + n) * c,
                      "positions and tokens differ in number"));
    VT_TRY(vt_op_out(p, s, 0, 3, (int[]){vt_dim(p, x, 0), r + n, c}));
done:
    return st;
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    vt_val x = s->in[0], pos = s->in[1];
    int b = vt_dim(p, x, 0), n = vt_dim(p, x, 1), c = vt_dim(p, x, 2);
    int r = prefix_rows(p, s), at = 0;

    VT_TRY(vt_op_kernel(&k, p, s, "embed", "embed"));
    VT_TRY(vt_args(p, k, "vvviiii", s->out[0], x, pos, n, c, r, s->i[0]));
    vt_op_blocks(k, p, c, b * n);
    for (int i = 0; i < s->i[1]; i++) {
        int count = vt_op_count(p, s->in[2 + i]) / c;

        VT_TRY(vt_op_kernel(&k, p, s, "embed", "embed_prefix"));
        VT_TRY(vt_args(p, k, "vvviiiii", s->out[0], s->in[2 + i], pos, r + n, c,
                       at, count, s->i[0]));
        vt_op_blocks(k, p, c, b * count);
        at += count;
    }
done:
    return st;
}

/* in g (a state), dout; i: first token, count, row of g */
static vitcl_status grad_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    vt_val g = s->in[1];
    int c = vt_dim(p, g, 2);

    VT_TRY(vt_op_kernel(&k, p, s, "embed", "embed_grad"));
    VT_TRY(vt_args(p, k, "vviiiii", s->in[0], g, vt_dim(p, g, 0),
                   vt_dim(p, g, 1), c, s->i[0], s->i[2]));
    vt_op_blocks(k, p, c, s->i[1]);
done:
    return st;
}

static const vt_op embed_grad = {
    .name = "embed_grad", .shape = vt_op_no_out, .prepare = grad_prepare};

static void rows_grad(vt_plan *p, vt_val v, vt_val g, int first, int count,
                      int at)
{
    vt_val sum = vt_grad_param(p, v);

    if (sum != VT_NONE && count > 0)
        vt_op_append(p, &embed_grad, 2, (vt_val[]){sum, g}, 3,
                     (int[]){first, count, at});
}

static void grad(vt_plan *p, const vt_step *s)
{
    vt_val g = vt_grad(p, s->out[0]);
    int n = vt_dim(p, s->in[0], 1), c = vt_dim(p, s->in[0], 2);
    int r = prefix_rows(p, s), at = 0;

    rows_grad(p, s->in[1], g, 0, s->i[0], 0);
    rows_grad(p, s->in[1], g, r, n, s->i[0]);
    for (int i = 0; i < s->i[1]; i++) {
        int count = vt_op_count(p, s->in[2 + i]) / c;

        rows_grad(p, s->in[2 + i], g, at, count, 0);
        at += count;
    }
    if (vt_grad_wanted(p, s->in[0]))
        vt_op_give(p, s->in[0], vt_slice(p, g, r, n));
}

const vt_op vt_op_embed = {
    .name = "embed", .shape = shape, .prepare = prepare, .grad = grad};

vt_val vt_embed(vt_plan *p, vt_val x, const vt_val *prefix, int n, vt_val pos,
                int pos_prefix)
{
    vt_val in[2 + PARTS] = {x, pos};

    if (n < 0 || n > PARTS)
        return vt_plan_fail(
            p, vt_fail(VITCL_EUNSUPPORTED, "%d kinds of prefix tokens", n));
    for (int i = 0; i < n; i++)
        in[2 + i] = prefix[i];
    return vt_op_append(p, &vt_op_embed, 2 + n, in, 2, (int[]){pos_prefix, n});
}
