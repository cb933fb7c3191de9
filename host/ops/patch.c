/*
 * patch.c - pictures to rows of patches.
 */
#include "ops/common.h"

enum { IN_X, INS };
enum { OUT_ROWS };
enum { I_CHANNELS, I_HEIGHT, I_WIDTH, INTS };

/* Of pictures x, those that are read. */
static int channels(const vt_plan *p, const vt_step *s, vt_val x)
{
    return s->i[I_CHANNELS] ? s->i[I_CHANNELS] : vt_dim(p, x, 1);
}

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    const vt_val x = s->in[IN_X];
    const int h = s->i[I_HEIGHT], w = s->i[I_WIDTH];

    VT_RET(vt_op_need(x != VT_NONE && vt_value_of(p, x)->rank == 4 && h >= 1 &&
                          w >= 1 && vt_dim(p, x, 2) >= h &&
                          s->i[I_CHANNELS] <= vt_dim(p, x, 1) &&
                          vt_dim(p, x, 3) >= w,
                      "the picture is smaller than one patch"));
    return vt_op_out(p, s, OUT_ROWS, 3,
                     (int[]){vt_dim(p, x, 0),
                             vt_dim(p, x, 2) / h * (vt_dim(p, x, 3) / w),
                             channels(p, s, x) * h * w});
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vt_kernel *k;
    vt_val x = s->in[IN_X];
    bool cpu = vt_op_cpu(p);

    VT_RET(vt_op_kernel(&k, p, s, "patch", cpu ? "patch__rows" : "patch"));
    VT_RET(vt_args(p, k, "vviiiiii", s->out[OUT_ROWS], x, vt_dim(p, x, 1),
                   channels(p, s, x), vt_dim(p, x, 2), vt_dim(p, x, 3),
                   s->i[I_HEIGHT], s->i[I_WIDTH]));
    if (cpu)
        vt_op_items(k, p, vt_op_rows(p, s->out[OUT_ROWS]), 1);
    else
        vt_op_blocks(k, p, vt_dim(p, s->out[OUT_ROWS], 2),
                     vt_op_rows(p, s->out[OUT_ROWS]));
    return VITCL_OK;
}

static vitcl_status grad_prepare(vt_plan *p, vt_step *s)
{
    vt_val x = s->out[VT_DX];

    return vt_op_launch_blocks(
        p, s, "patch", "patch_grad", vt_dim(p, x, 3), vt_op_rows(p, x),
        "vviiiiii", x, s->in[VT_DY], vt_dim(p, x, 1), channels(p, s, x),
        vt_dim(p, x, 2), vt_dim(p, x, 3), s->i[I_HEIGHT], s->i[I_WIDTH]);
}

static const vt_op patch_grad = {
    .name = "patch_grad", .prepare = grad_prepare, .reads = 1u << IN_X};

const vt_op vt_op_patch = {.name = "patch",
                           .shape = shape,
                           .prepare = prepare,
                           .grad = vt_op_grad,
                           .grads = {&patch_grad},
                           .half_in = 1u << IN_X,
                           .half_out = 1u << OUT_ROWS};

vt_val vt_patch(vt_plan *p, vt_val x, int patch_h, int patch_w)
{
    return vt_patch_first(p, x, 0, patch_h, patch_w);
}

vt_val vt_patch_first(vt_plan *p, vt_val x, int count, int patch_h, int patch_w)
{
    return vt_op_append(
        p, &vt_op_patch, INS, (vt_val[]){[IN_X] = x}, INTS,
        (int[]){
            [I_CHANNELS] = count, [I_HEIGHT] = patch_h, [I_WIDTH] = patch_w});
}
