/*
 * mul.c - products: gates, layer scale, constant factors.
 */
#include "ops/common.h"

/* mul_scalar */
enum { SCALAR_X };
enum { SCALAR_OUT };
enum { F_FACTOR };
/* mul_rows_grad; DROWS: a state */
enum { DW_DROWS, DW_DY, DW_X, DW_INS };

/* ---- mul ---- */

static vitcl_status mul_prepare(vt_plan *p, vt_step *s)
{
    return vt_op_pair(p, s, "mul", "mul");
}

static void mul_grad(vt_plan *p, const vt_step *s)
{
    vt_val g = vt_grad(p, s->out[VT_PAIR_OUT]);

    if (vt_grad_wanted(p, s->in[VT_PAIR_A]))
        vt_op_give(p, s->in[VT_PAIR_A], vt_multiply(p, g, s->in[VT_PAIR_B]));
    if (vt_grad_wanted(p, s->in[VT_PAIR_B]))
        vt_op_give(p, s->in[VT_PAIR_B], vt_multiply(p, g, s->in[VT_PAIR_A]));
}

const vt_op vt_op_mul = {.name = "mul",
                         .shape = vt_op_pair_shape,
                         .prepare = mul_prepare,
                         .grad = mul_grad};

vt_val vt_multiply(vt_plan *p, vt_val a, vt_val b)
{
    return vt_op_append_pair(p, &vt_op_mul, a, b);
}

/* ---- mul_scalar ---- */

static vitcl_status scalar_shape(vt_plan *p, vt_step *s)
{
    return vt_op_like(p, s, SCALAR_OUT, s->in[SCALAR_X]);
}

static vitcl_status scalar_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    int n = vt_op_count(p, s->in[SCALAR_X]);

    VT_TRY(vt_op_kernel(&k, p, s, "mul", "mul_scalar"));
    VT_TRY(vt_args(p, k, "vvif", s->out[SCALAR_OUT], s->in[SCALAR_X], n,
                   (double)s->f[F_FACTOR]));
    vt_op_blocks(k, p, n, 1);
done:
    return st;
}

static void scalar_grad(vt_plan *p, const vt_step *s)
{
    vt_op_give(p, s->in[SCALAR_X],
               vt_scale(p, vt_grad(p, s->out[SCALAR_OUT]), s->f[F_FACTOR]));
}

const vt_op vt_op_mul_scalar = {.name = "mul_scalar",
                                .shape = scalar_shape,
                                .prepare = scalar_prepare,
                                .grad = scalar_grad,
                                .half_in = 1u << SCALAR_X,
                                .half_out = 1u << SCALAR_OUT};

vt_val vt_scale(vt_plan *p, vt_val x, float factor)
{
    vt_step *s = vt_step_new(p, &vt_op_mul_scalar);

    if (!s)
        return VT_NONE;
    s->in[SCALAR_X] = x;
    s->f[F_FACTOR] = factor;
    return vt_step_add(p, s);
}

/* ---- mul_rows ---- */

static vitcl_status rows_prepare(vt_plan *p, vt_step *s)
{
    return vt_op_rows_pair(p, s, "mul", "mul_rows");
}

static vitcl_status grad_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    int r = vt_op_count(p, s->in[DW_DROWS]);

    VT_TRY(vt_op_columns(&k, p, s, "mul", "mul_rows_grad", r));
    VT_TRY(vt_args(p, k, "vvvii", s->in[DW_DROWS], s->in[DW_DY], s->in[DW_X],
                   vt_op_count(p, s->in[DW_X]) / r, r));
done:
    return st;
}

static const vt_op mul_rows_grad = {
    .name = "mul_rows_grad", .shape = vt_op_no_out, .prepare = grad_prepare};

static void rows_grad(vt_plan *p, const vt_step *s)
{
    vt_val g = vt_grad(p, s->out[VT_PAIR_OUT]),
           dy = vt_grad_param(p, s->in[VT_PAIR_B]);

    if (vt_grad_wanted(p, s->in[VT_PAIR_A]))
        vt_op_give(p, s->in[VT_PAIR_A], vt_mul_rows(p, g, s->in[VT_PAIR_B]));
    if (dy != VT_NONE)
        vt_op_append(
            p, &mul_rows_grad, DW_INS,
            (vt_val[]){[DW_DROWS] = dy, [DW_DY] = g, [DW_X] = s->in[VT_PAIR_A]},
            0, NULL);
}

const vt_op vt_op_mul_rows = {.name = "mul_rows",
                              .shape = vt_op_rows_pair_shape,
                              .prepare = rows_prepare,
                              .grad = rows_grad};

vt_val vt_mul_rows(vt_plan *p, vt_val x, vt_val y)
{
    return vt_op_append_pair(p, &vt_op_mul_rows, x, y);
}
