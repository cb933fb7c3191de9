/*
 * patch.c - pictures to rows of patches.
 */
#include "ops/common.h"

/* ---- patch: in x[B,C,H,W]; i: patch height, width ---- */

static vitcl_status fits(const vt_plan *p, vt_val x, int h, int w)
{
    return vt_op_need(x != VT_NONE && vt_value_of(p, x)->rank == 4 && h >= 1 &&
                          w >= 1 && vt_dim(p, x, 2) >= h &&
                          vt_dim(p, x, 3) >= w,
                      "the picture is smaller than one patch");
}

static int patches(const vt_plan *p, vt_val x, int h, int w)
{
    return vt_dim(p, x, 2) / h * (vt_dim(p, x, 3) / w);
}

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    int h = s->i[0], w = s->i[1];

    VT_TRY(fits(p, s->in[0], h, w));
    VT_TRY(vt_op_out(p, s, 0, 3,
                     (int[]){vt_dim(p, s->in[0], 0), patches(p, s->in[0], h, w),
                             vt_dim(p, s->in[0], 1) * h * w}));
done:
    return st;
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    vt_val x = s->in[0];
    bool cpu = vt_op_cpu(p);

    VT_TRY(vt_op_kernel(&k, p, s, "patch", cpu ? "patch__rows" : "patch"));
    VT_TRY(vt_args(p, k, "vviiiii", s->out[0], x, vt_dim(p, x, 1),
                   vt_dim(p, x, 2), vt_dim(p, x, 3), s->i[0], s->i[1]));
    if (cpu)
        vt_op_items(k, p, vt_op_rows(p, s->out[0]), 1);
    else
        vt_op_blocks(k, p, vt_dim(p, s->out[0], 2), vt_op_rows(p, s->out[0]));
done:
    return st;
}

/* in dout, x (for its shape); i: patch height, width */
static vitcl_status grad_shape(vt_plan *p, vt_step *s)
{
    return vt_op_like(p, s, 0, s->in[1]);
}

static vitcl_status grad_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    vt_val x = s->out[0];

    VT_TRY(vt_op_kernel(&k, p, s, "patch", "patch_grad"));
    VT_TRY(vt_args(p, k, "vviiiii", x, s->in[0], vt_dim(p, x, 1),
                   vt_dim(p, x, 2), vt_dim(p, x, 3), s->i[0], s->i[1]));
    vt_op_blocks(k, p, vt_dim(p, x, 3), vt_op_rows(p, x));
done:
    return st;
}

static const vt_op patch_grad = {
    .name = "patch_grad", .shape = grad_shape, .prepare = grad_prepare};

static void grad(vt_plan *p, const vt_step *s)
{
    if (vt_grad_wanted(p, s->in[0]))
        vt_op_give(p, s->in[0],
                   vt_op_append(p, &patch_grad, 2,
                                (vt_val[]){vt_grad(p, s->out[0]), s->in[0]}, 2,
                                s->i));
}

const vt_op vt_op_patch = {
    .name = "patch", .shape = shape, .prepare = prepare, .grad = grad};

vt_val vt_patch(vt_plan *p, vt_val x, int patch_h, int patch_w)
{
    return vt_op_append(p, &vt_op_patch, 1, &x, 2, (int[]){patch_h, patch_w});
}
