/*
 * mul.c - products: gates, layer scale, constant factors.
 */
#include "ops/common.h"

/* ---- mul: in a, b ---- */

static vitcl_status mul_shape(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;

    VT_TRY(vt_op_need(s->in[0] != VT_NONE &&
                          vt_op_count(p, s->in[0]) == vt_op_count(p, s->in[1]),
                      "the two tensors differ in size"));
    VT_TRY(vt_op_like(p, s, 0, s->in[0]));
done:
    return st;
}

static vitcl_status mul_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    int n = vt_op_count(p, s->in[0]);

    VT_TRY(vt_op_kernel(&k, p, s, "mul", "mul"));
    VT_TRY(vt_args(p, k, "vvvi", s->out[0], s->in[0], s->in[1], n));
    vt_op_blocks(k, p, n, 1);
done:
    return st;
}

static void mul_grad(vt_plan *p, const vt_step *s)
{
    vt_val g = vt_grad(p, s->out[0]);

    if (vt_grad_wanted(p, s->in[0]))
        vt_op_give(p, s->in[0], vt_multiply(p, g, s->in[1]));
    if (vt_grad_wanted(p, s->in[1]))
        vt_op_give(p, s->in[1], vt_multiply(p, g, s->in[0]));
}

const vt_op vt_op_mul = {.name = "mul",
                         .shape = mul_shape,
                         .prepare = mul_prepare,
                         .grad = mul_grad};

vt_val vt_multiply(vt_plan *p, vt_val a, vt_val b)
{
    return vt_op_append(p, &vt_op_mul, 2, (vt_val[]){a, b}, 0, NULL);
}

/* ---- mul_scalar: in x; f factor ---- */

static vitcl_status scalar_shape(vt_plan *p, vt_step *s)
{
    return vt_op_like(p, s, 0, s->in[0]);
}

static vitcl_status scalar_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    int n = vt_op_count(p, s->in[0]);

    VT_TRY(vt_op_kernel(&k, p, s, "mul", "mul_scalar"));
    VT_TRY(vt_args(p, k, "vvif", s->out[0], s->in[0], n, (double)s->f[0]));
    vt_op_blocks(k, p, n, 1);
done:
    return st;
}

static void scalar_grad(vt_plan *p, const vt_step *s)
{
    vt_op_give(p, s->in[0], vt_scale(p, vt_grad(p, s->out[0]), s->f[0]));
}

const vt_op vt_op_mul_scalar = {.name = "mul_scalar",
                                .shape = scalar_shape,
                                .prepare = scalar_prepare,
                                .grad = scalar_grad};

vt_val vt_scale(vt_plan *p, vt_val x, float factor)
{
    vt_step *s = vt_step_new(p, &vt_op_mul_scalar);

    if (!s)
        return VT_NONE;
    s->in[0] = x;
    s->f[0] = factor;
    return vt_step_add(p, s);
}

/* ---- mul_rows: in x, y ---- */

static vitcl_status rows_shape(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    int x = vt_op_count(p, s->in[0]), y = vt_op_count(p, s->in[1]);

    VT_TRY(vt_op_need(x > 0 && y > 0 && x % y == 0 &&
                          vt_dim(p, s->in[0], -1) == vt_dim(p, s->in[1], -1),
                      "the rows do not fit the tensor they scale"));
    VT_TRY(vt_op_like(p, s, 0, s->in[0]));
done:
    return st;
}

static vitcl_status rows_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    int r = vt_op_count(p, s->in[1]);

    VT_TRY(vt_op_kernel(&k, p, s, "mul", "mul_rows"));
    VT_TRY(vt_args(p, k, "vvvi", s->out[0], s->in[0], s->in[1], r));
    vt_op_blocks(k, p, r, vt_op_count(p, s->in[0]) / r);
done:
    return st;
}

/* in dy (a state), dout, x */
static vitcl_status grad_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    int r = vt_op_count(p, s->in[0]);

    VT_TRY(vt_op_columns(&k, p, s, "mul", "mul_rows_grad", r));
    VT_TRY(vt_args(p, k, "vvvii", s->in[0], s->in[1], s->in[2],
                   vt_op_count(p, s->in[2]) / r, r));
done:
    return st;
}

static const vt_op mul_rows_grad = {
    .name = "mul_rows_grad", .shape = vt_op_no_out, .prepare = grad_prepare};

static void rows_grad(vt_plan *p, const vt_step *s)
{
    vt_val g = vt_grad(p, s->out[0]), dy = vt_grad_param(p, s->in[1]);

    if (vt_grad_wanted(p, s->in[0]))
        vt_op_give(p, s->in[0], vt_mul_rows(p, g, s->in[1]));
    if (dy != VT_NONE)
        vt_op_append(p, &mul_rows_grad, 3, (vt_val[]){dy, g, s->in[0]}, 0,
                     NULL);
}

const vt_op vt_op_mul_rows = {.name = "mul_rows",
                              .shape = rows_shape,
                              .prepare = rows_prepare,
                              .grad = rows_grad};

vt_val vt_mul_rows(vt_plan *p, vt_val x, vt_val y)
{
    return vt_op_append(p, &vt_op_mul_rows, 2, (vt_val[]){x, y}, 0, NULL);
}
