/*
 * to_tokens.c - transpose the planes of a feature map to tokens, and back.
 */
#include "ops/common.h"

enum { IN_X, INS };
enum { OUT_Y };
/* x is [B,R,S], last dimensions merged; out's dimensions begin at I_DIM */
enum { I_R, I_S, I_RANK, I_DIM, INTS = I_DIM + 4 };

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    int n = 1;

    for (int k = 0; k < s->i[I_RANK]; k++)
        n *= s->i[I_DIM + k];
    VT_RET(vt_op_need(s->in[IN_X] != VT_NONE &&
                          n == vt_op_count(p, s->in[IN_X]) &&
                          n == s->i[I_DIM] * s->i[I_R] * s->i[I_S],
                      "a transposed tensor keeps its size"));
    return vt_op_out(p, s, OUT_Y, s->i[I_RANK], s->i + I_DIM);
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vt_kernel *k;
    size_t r = (size_t)s->i[I_R], c = (size_t)s->i[I_S],
           b = (size_t)s->i[I_DIM];
    /* The tiled kernel needs 256 work-items. */
    bool rows =
        vt_op_cpu(p) || vt_dev_group_max(vt_plan_settings(p)->dev) < 256;

    VT_RET(vt_op_kernel(&k, p, s, "to_tokens",
                        rows ? "to_tokens__rows" : "to_tokens"));
    VT_RET(vt_args(p, k, "vvii", s->out[OUT_Y], s->in[IN_X], s->i[I_R],
                   s->i[I_S]));
    if (rows)
        vt_kernel_size(k, 3, (size_t[3]){(c + 15) / 16, (r + 63) / 64, b},
                       (size_t[3]){1, 1, 1});
    else
        vt_kernel_size(k, 3,
                       (size_t[3]){(c + 15) / 16 * ((r + 15) / 16) * 16, 16, b},
                       (size_t[3]){16, 16, 1});
    return VITCL_OK;
}

static void grad(vt_plan *p, const vt_step *s)
{
    const vt_value *x = vt_value_of(p, s->in[IN_X]);
    int dim[4], rank = x->rank;

    for (int k = 0; k < rank; k++)
        dim[k] = x->dim[k];
    if (vt_grad_wanted(p, s->in[IN_X]))
        vt_op_give(p, s->in[IN_X],
                   vt_transpose(p, vt_grad(p, s->out[OUT_Y]), s->i[I_S],
                                s->i[I_R], rank, dim));
}

const vt_op vt_op_to_tokens = {.name = "to_tokens",
                               .shape = shape,
                               .prepare = prepare,
                               .grad = grad,
                               .half_in = 1u << IN_X,
                               .half_out = 1u << OUT_Y};

vt_val vt_transpose(vt_plan *p, vt_val x, int R, int S, int rank,
                    const int *dim)
{
    int i[INTS] = {[I_R] = R, [I_S] = S, [I_RANK] = rank};

    for (int k = 0; k < rank; k++)
        i[I_DIM + k] = dim[k];
    return vt_op_append(p, &vt_op_to_tokens, INS, (vt_val[]){[IN_X] = x}, INTS,
                        i);
}

vt_val vt_to_tokens(vt_plan *p, vt_val x)
{
    int c = vt_dim(p, x, 1), s = vt_dim(p, x, 2) * vt_dim(p, x, 3);

    return vt_transpose(p, x, c, s, 3, (int[]){vt_dim(p, x, 0), s, c});
}
