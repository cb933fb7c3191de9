/*
 * mul.c - products: gates, layer scale, constant factors.
 */
#include "ops/common.h"

/* mul_scalar */
enum { SCALAR_X };
enum { SCALAR_OUT };
enum { F_FACTOR };

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
    int n = vt_op_count(p, s->in[SCALAR_X]);

    return vt_op_launch_blocks(p, s, "mul", "mul_scalar", n, 1, "vvif",
                               s->out[SCALAR_OUT], s->in[SCALAR_X], n,
                               (double)s->f[F_FACTOR]);
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
    vt_kernel *k;
    int r = vt_op_count(p, s->in[VT_PAIR_B]);

    VT_RET(vt_op_columns(&k, p, s, "mul", "mul_rows_grad", r));
    return vt_args(p, k, "vvvii", s->in[VT_PAIR_B], s->in[VT_DY],
                   s->in[VT_PAIR_A], vt_op_count(p, s->in[VT_PAIR_A]) / r, r);
}

static const vt_op mul_rows_grad = {.name = "mul_rows_grad",
                                    .prepare = grad_prepare,
                                    .reads = 1u << VT_PAIR_A,
                                    .adds = 1u << VT_PAIR_B};

static void rows_grad(vt_plan *p, const vt_step *s)
{
    const vt_val x = s->in[VT_PAIR_A], y = s->in[VT_PAIR_B];

    if (vt_grad_wanted(p, x))
        vt_op_give(p, x, vt_mul_rows(p, vt_grad(p, s->out[VT_PAIR_OUT]), y));
    vt_op_grad(p, s);
}

const vt_op vt_op_mul_rows = {.name = "mul_rows",
                              .shape = vt_op_rows_pair_shape,
                              .prepare = rows_prepare,
                              .grad = rows_grad,
                              .grads = {&mul_rows_grad}};

vt_val vt_mul_rows(vt_plan *p, vt_val x, vt_val y)
{
    return vt_op_append_pair(p, &vt_op_mul_rows, x, y);
}
