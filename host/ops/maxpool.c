/*
 * maxpool.c - the largest of each window.
 *
 * in x[B,C,H,W]; out y, index (i32, for a backward); i: out height and width,
 * size, stride, padding on top and left.
 */
#include "ops/common.h"

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_val x = s->in[0];
    const int dim[4] = {vt_dim(p, x, 0), vt_dim(p, x, 1), s->i[0], s->i[1]};

    VT_TRY(vt_op_out(p, s, 0, 4, dim));
    if (vt_plan_settings(p)->backward) {
        s->out[1] = vt_result(p, VT_I32, 4, dim);
        st = vt_plan_status(p);
    }
done:
    return st;
}

/* of cl/maxpool.cl's maxpool__lines */
#define LINE 32
#define SPAN 160

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    vt_val x = s->in[0];

    const bool lines = vt_op_cpu(p) && s->i[2] <= SPAN &&
                       s->i[3] <= SPAN / LINE - 1 &&
                       (LINE - 1) * s->i[3] + s->i[2] <= SPAN;

    VT_TRY(vt_op_kernel(&k, p, s, "maxpool",
                        lines ? "maxpool__lines" : "maxpool"));
    VT_TRY(vt_args(p, k, "vvviiiiiiii", s->out[0], s->out[1], x,
                   vt_dim(p, x, 2), vt_dim(p, x, 3), s->i[0], s->i[1], s->i[2],
                   s->i[3], s->i[4], s->i[5]));
    if (lines)
        vt_op_items(k, p, (s->i[1] + LINE - 1) / LINE,
                    vt_op_rows(p, s->out[0]));
    else
        vt_op_blocks(k, p, s->i[1], vt_op_rows(p, s->out[0]));
done:
    return st;
}

/* in dout, index, x (for its shape); i as above */
static vitcl_status grad_shape(vt_plan *p, vt_step *s)
{
    return vt_op_like(p, s, 0, s->in[2]);
}

static vitcl_status grad_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    vt_val x = s->out[0];

    VT_TRY(
        vt_op_kernel(&k, p, s, "maxpool",
                     vt_op_cpu(p) ? "maxpool_grad__planes" : "maxpool_grad"));
    VT_TRY(vt_args(p, k, "vvviiiiiiii", x, s->in[0], s->in[1], vt_dim(p, x, 2),
                   vt_dim(p, x, 3), s->i[0], s->i[1], s->i[2], s->i[3], s->i[4],
                   s->i[5]));
    if (vt_op_cpu(p))
        vt_op_items(k, p, vt_dim(p, x, 0) * vt_dim(p, x, 1), 1);
    else
        vt_op_blocks(k, p, vt_dim(p, x, 3), vt_op_rows(p, x));
done:
    return st;
}

static const vt_op maxpool_grad = {
    .name = "maxpool_grad", .shape = grad_shape, .prepare = grad_prepare};

static void grad(vt_plan *p, const vt_step *s)
{
    vt_op_give(
        p, s->in[0],
        vt_op_append(p, &maxpool_grad, 3,
                     (vt_val[]){vt_grad(p, s->out[0]), s->out[1], s->in[0]}, 6,
                     s->i));
}

const vt_op vt_op_maxpool = {
    .name = "maxpool", .shape = shape, .prepare = prepare, .grad = grad};

vt_val vt_maxpool(vt_plan *p, vt_val x, int size, int stride, int pad_top,
                  int pad_left, int pad_bottom, int pad_right)
{
    const vt_value *v = vt_value_of(p, x);
    int h, w;

    if (vt_plan_status(p) != VITCL_OK)
        return VT_NONE;
    /* Every window must see a pixel. */
    if (!v || v->rank != 4 || size < 1 || stride < 1 || pad_top >= size ||
        pad_left >= size || pad_bottom >= size || pad_right >= size)
        return vt_plan_fail(p, vt_fail(VITCL_EINVAL,
                                       "pooling needs x[B,C,H,W] and padding "
                                       "less than the window"));
    h = v->dim[2] + pad_top + pad_bottom - size;
    w = v->dim[3] + pad_left + pad_right - size;
    if (h < 0 || w < 0)
        return vt_plan_fail(p,
                            vt_fail(VITCL_EINVAL, "the picture is too small"));
    return vt_op_append(p, &vt_op_maxpool, 1, &x, 6,
                        (int[]){h / stride + 1, w / stride + 1, size, stride,
                                pad_top, pad_left});
}
