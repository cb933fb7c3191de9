/*
 * conv.c - convolution: gather rows, multiply, transpose tokens to planes. On a
 * CPU, suitable shapes are computed in one step: conv_direct.c.
 *
 * This op only gathers; the other two steps are vt_linear() and vt_transpose(),
 * also for gradients.
 */
#include "ops/conv.h"

enum { IN_X, INS };
enum { OUT_ROWS };

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    vt_val x = s->in[IN_X];

    return vt_op_out(p, s, OUT_ROWS, 3,
                     (int[]){vt_dim(p, x, 0), s->i[HO] * s->i[WO],
                             vt_dim(p, x, 1) * s->i[KH] * s->i[KW]});
}

static vitcl_status args(vt_plan *p, vt_kernel *k, vt_val to, vt_val from,
                         vt_val x, const int *i)
{
    return vt_args(p, k, "vviiiiiiiiii", to, from, vt_dim(p, x, 1),
                   vt_dim(p, x, 2), vt_dim(p, x, 3), i[HO], i[WO], i[KH], i[KW],
                   i[STRIDE], i[TOP], i[LEFT]);
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vt_kernel *k;
    bool cpu = vt_op_cpu(p);

    VT_RET(vt_op_kernel(&k, p, s, "conv", cpu ? "conv__pixels" : "conv"));
    VT_RET(args(p, k, s->out[OUT_ROWS], s->in[IN_X], s->in[IN_X], s->i));
    if (cpu)
        vt_op_items(k, p, (s->i[WO] + 15) / 16,
                    vt_dim(p, s->in[IN_X], 0) * s->i[HO]);
    else
        vt_op_blocks(k, p, vt_dim(p, s->out[OUT_ROWS], 2),
                     vt_op_rows(p, s->out[OUT_ROWS]));
    return VITCL_OK;
}

static vitcl_status grad_prepare(vt_plan *p, vt_step *s)
{
    vt_kernel *k;
    vt_val dx = s->out[VT_DX];

    if (vt_op_cpu(p)) {
        VT_RET(vt_op_kernel(&k, p, s, "conv", "conv_grad__pixels"));
        vt_op_items(k, p, (vt_dim(p, dx, 3) + 15) / 16,
                    vt_dim(p, dx, 0) * vt_dim(p, dx, 2));
    } else {
        VT_RET(vt_op_kernel(&k, p, s, "conv", "conv_grad"));
        vt_op_blocks(k, p, vt_dim(p, dx, 3), vt_op_rows(p, dx));
    }
    return args(p, k, dx, s->in[VT_DY], dx, s->i);
}

static const vt_op conv_grad = {
    .name = "conv_grad", .prepare = grad_prepare, .reads = 1u << IN_X};

const vt_op vt_op_conv = {.name = "conv",
                          .shape = shape,
                          .prepare = prepare,
                          .grad = vt_op_grad,
                          .grads = {&conv_grad},
                          .half_in = 1u << IN_X,
                          .half_out = 1u << OUT_ROWS};

vt_val vt_conv(vt_plan *p, vt_val x, vt_val w, int stride, int pad_top,
               int pad_left, int pad_bottom, int pad_right)
{
    const vt_value *v = vt_value_of(p, x), *f = vt_value_of(p, w);
    int h, u, o, batch;
    vt_val rows, y;
    bool plain;

    if (vt_plan_status(p) != VITCL_OK)
        return VT_NONE;
    if (!v || !f || v->rank != 4 || f->rank != 4 || v->dim[1] != f->dim[1] ||
        stride < 1)
        return vt_plan_fail(
            p, vt_fail(VITCL_EINVAL,
                       "a convolution needs x[B,C,H,W] and w[O,C,kh,kw]"));
    h = v->dim[2] + pad_top + pad_bottom - f->dim[2];
    u = v->dim[3] + pad_left + pad_right - f->dim[3];
    if (h < 0 || u < 0)
        return vt_plan_fail(p, vt_fail(VITCL_EINVAL,
                                       "the picture is too small: %dx%d before "
                                       "a convolution of %dx%d",
                                       v->dim[2], v->dim[3], f->dim[2],
                                       f->dim[3]));
    h = h / stride + 1, u = u / stride + 1, o = f->dim[0], batch = v->dim[0];
    plain = f->dim[2] == 1 && f->dim[3] == 1 && stride == 1 &&
            pad_top + pad_left + pad_bottom + pad_right == 0;
    const int i[SHAPE_INTS] = {
        [HO] = h,          [WO] = u,        [KH] = f->dim[2], [KW] = f->dim[3],
        [STRIDE] = stride, [TOP] = pad_top, [LEFT] = pad_left};

    if (vt_conv_direct_for(p, i))
        return vt_conv_direct(p, x, w, i);
    if (plain) /* nothing to gather: a row is a pixel's channels */
        rows = vt_to_tokens(p, x);
    else
        rows = vt_op_append(p, &vt_op_conv, INS, (vt_val[]){[IN_X] = x},
                            SHAPE_INTS, i);
    y = vt_linear_exact(p, rows, w);
    return vt_transpose(p, y, h * u, o, 4, (int[]){batch, o, h, u});
}
