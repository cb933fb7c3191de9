/*
 * to_tokens.c - planes of a feature map to tokens, and back.
 *
 * in x[B,R,S] (last dimensions merged); i: R, S, rank of out, its dimensions.
 */
#include "ops/common.h"

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    int n = 1;

    for (int k = 0; k < s->i[2]; k++)
        n *= s->i[3 + k];
    VT_TRY(vt_op_need(s->in[0] != VT_NONE && n == vt_op_count(p, s->in[0]) &&
                          n == s->i[3] * s->i[0] * s->i[1],
                      "a transposed tensor keeps its size"));
    VT_TRY(vt_op_out(p, s, 0, s->i[2], s->i + 3));
done:
    return st;
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    size_t r = (size_t)s->i[0], c = (size_t)s->i[1], b = (size_t)s->i[3];
    /* The tile needs 256 work-items. */
    bool rows =
        vt_op_cpu(p) || vt_dev_group_max(vt_plan_settings(p)->dev) < 256;

    VT_TRY(vt_op_kernel(&k, p, s, "to_tokens",
                        rows ? "to_tokens__rows" : "to_tokens"));
    VT_TRY(vt_args(p, k, "vvii", s->out[0], s->in[0], s->i[0], s->i[1]));
    if (rows)
        vt_kernel_size(k, 3, (size_t[3]){(c + 15) / 16, (r + 63) / 64, b},
                       (size_t[3]){1, 1, 1});
    else
        vt_kernel_size(k, 3,
                       (size_t[3]){(c + 15) / 16 * 16, (r + 15) / 16 * 16, b},
                       (size_t[3]){16, 16, 1});
done:
    return st;
}

static void grad(vt_plan *p, const vt_step *s)
{
    const vt_value *x = vt_value_of(p, s->in[0]);
    int dim[4], rank = x->rank;

    for (int k = 0; k < rank; k++)
        dim[k] = x->dim[k];
    if (vt_grad_wanted(p, s->in[0]))
        vt_op_give(p, s->in[0],
                   vt_transpose(p, vt_grad(p, s->out[0]), s->i[1], s->i[0],
                                rank, dim));
}

const vt_op vt_op_to_tokens = {
    .name = "to_tokens", .shape = shape, .prepare = prepare, .grad = grad};

vt_val vt_transpose(vt_plan *p, vt_val x, int R, int S, int rank,
                    const int *dim)
{
    int i[7] = {R, S, rank};

    for (int k = 0; k < rank; k++)
        i[3 + k] = dim[k];
    return vt_op_append(p, &vt_op_to_tokens, 1, &x, 7, i);
}

vt_val vt_to_tokens(vt_plan *p, vt_val x)
{
    int c = vt_dim(p, x, 1), s = vt_dim(p, x, 2) * vt_dim(p, x, 3);

    return vt_transpose(p, x, c, s, 3, (int[]){vt_dim(p, x, 0), s, c});
}
