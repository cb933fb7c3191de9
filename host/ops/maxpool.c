/*
 * maxpool.c - the maximum of each window.
 */
#include "ops/common.h"

enum { IN_X, INS };
enum { OUT_Y, OUT_INDEX }; /* index: i32, for the gradient */
/* size of y; of the window; padding */
enum { I_HEIGHT, I_WIDTH, I_SIZE, I_STRIDE, I_TOP, I_LEFT, INTS };

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    vt_val x = s->in[IN_X];
    const int dim[4] = {vt_dim(p, x, 0), vt_dim(p, x, 1), s->i[I_HEIGHT],
                        s->i[I_WIDTH]};

    VT_RET(vt_op_out(p, s, OUT_Y, 4, dim));
    if (vt_plan_settings(p)->backward) {
        s->out[OUT_INDEX] = vt_result(p, VT_I32, 4, dim);
        return vt_plan_status(p);
    }
    return VITCL_OK;
}

/* as in maxpool__lines of cl/maxpool.cl */
#define LINE 32
#define SPAN 160

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vt_kernel *k;
    vt_val x = s->in[IN_X];

    const bool lines = vt_op_cpu(p) && s->i[I_SIZE] <= SPAN &&
                       s->i[I_STRIDE] <= SPAN / LINE - 1 &&
                       (LINE - 1) * s->i[I_STRIDE] + s->i[I_SIZE] <= SPAN;

    VT_RET(vt_op_kernel(&k, p, s, "maxpool",
                        lines ? "maxpool__lines" : "maxpool"));
    VT_RET(vt_args(p, k, "vvviiiiiiii", s->out[OUT_Y], s->out[OUT_INDEX], x,
                   vt_dim(p, x, 2), vt_dim(p, x, 3), s->i[I_HEIGHT],
                   s->i[I_WIDTH], s->i[I_SIZE], s->i[I_STRIDE], s->i[I_TOP],
                   s->i[I_LEFT]));
    if (lines)
        vt_op_items(k, p, (s->i[I_WIDTH] + LINE - 1) / LINE,
                    vt_op_rows(p, s->out[OUT_Y]));
    else
        vt_op_blocks(k, p, s->i[I_WIDTH], vt_op_rows(p, s->out[OUT_Y]));
    return VITCL_OK;
}

static vitcl_status grad_prepare(vt_plan *p, vt_step *s)
{
    vt_kernel *k;
    vt_val x = s->out[VT_DX];

    VT_RET(
        vt_op_kernel(&k, p, s, "maxpool",
                     vt_op_cpu(p) ? "maxpool_grad__planes" : "maxpool_grad"));
    VT_RET(vt_args(p, k, "vvviiiiiiii", x, s->in[VT_DY], s->in[VT_SAVED],
                   vt_dim(p, x, 2), vt_dim(p, x, 3), s->i[I_HEIGHT],
                   s->i[I_WIDTH], s->i[I_SIZE], s->i[I_STRIDE], s->i[I_TOP],
                   s->i[I_LEFT]));
    if (vt_op_cpu(p))
        vt_op_items(k, p, vt_dim(p, x, 0) * vt_dim(p, x, 1), 1);
    else
        vt_op_blocks(k, p, vt_dim(p, x, 3), vt_op_rows(p, x));
    return VITCL_OK;
}

static const vt_op maxpool_grad = {.name = "maxpool_grad",
                                   .prepare = grad_prepare,
                                   .reads = 1u << IN_X | 1u << VT_SAVED};

const vt_op vt_op_maxpool = {.name = "maxpool",
                             .shape = shape,
                             .prepare = prepare,
                             .grad = vt_op_grad,
                             .grads = {&maxpool_grad},
                             .half_in = 1u << IN_X,
                             .half_out = 1u << OUT_Y};

vt_val vt_maxpool(vt_plan *p, vt_val x, int size, int stride, int pad_top,
                  int pad_left, int pad_bottom, int pad_right)
{
    const vt_value *v = vt_value_of(p, x);
    int h, w;

    if (vt_plan_status(p) != VITCL_OK)
        return VT_NONE;
    /* Every window must contain a pixel. */
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
    return vt_op_append(p, &vt_op_maxpool, INS, (vt_val[]){[IN_X] = x}, INTS,
                        (int[]){[I_HEIGHT] = h / stride + 1,
                                [I_WIDTH] = w / stride + 1,
                                [I_SIZE] = size,
                                [I_STRIDE] = stride,
                                [I_TOP] = pad_top,
                                [I_LEFT] = pad_left});
}
