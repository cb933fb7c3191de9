/*
 * patch.c - pictures to rows of patches.
 */
#include "ops/common.h"
#include "units/variants.h"

#include <stdio.h>

enum { IN_X, INS };
enum { OUT_ROWS };
/* lead: rows of zeros before each picture's */
enum { I_CHANNELS, I_HEIGHT, I_WIDTH, I_LEAD, INTS };

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
    return vt_op_out(
        p, s, OUT_ROWS, 3,
        (int[]){vt_dim(p, x, 0),
                s->i[I_LEAD] + vt_dim(p, x, 2) / h * (vt_dim(p, x, 3) / w),
                channels(p, s, x) * h * w});
}

bool vt_op_patches(const vt_plan *p, vt_val x)
{
    const vt_value *v = vt_value_of(p, x), *rgb;
    const vt_step *s = v ? vt_plan_step(p, v->first) : NULL,
                  *next = s ? vt_plan_step(p, v->first + 1) : NULL;

    if (!next || next->op != &vt_op_patch || next->in[IN_X] != x ||
        v->last != v->first + 1 || v->keep || v->watched)
        return false;
    rgb = vt_value_of(p, s->in[0]); /* only normalising reads bytes */
    return rgb && rgb->dtype == VT_U8 && !vt_op_cpu(p) &&
           !vt_plan_settings(p)->backward &&
           vt_variant_wanted(VT_VARIANT_PIXELS);
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vt_kernel *k;
    vt_val x = s->in[IN_X];
    bool cpu = vt_op_cpu(p);

    VT_RET(vt_op_kernel(&k, p, s, "patch", cpu ? "patch__rows" : "patch"));
    VT_RET(vt_args(p, k, cpu ? "vviiiiii" : "vviiiiiii", s->out[OUT_ROWS], x,
                   vt_dim(p, x, 1), channels(p, s, x), vt_dim(p, x, 2),
                   vt_dim(p, x, 3), s->i[I_HEIGHT], s->i[I_WIDTH],
                   s->i[I_LEAD]));
    if (cpu)
        vt_op_items(k, p, vt_op_rows(p, s->out[OUT_ROWS]), 1);
    else
        vt_op_blocks(k, p, vt_dim(p, s->out[OUT_ROWS], 2),
                     vt_op_rows(p, s->out[OUT_ROWS]));
    s->passed = vt_op_patches(p, x);
    if (s->passed)
        snprintf(s->note, sizeof s->note, "in the step before");
    return VITCL_OK;
}

/* The arena has room for the patches in this step: with x they have it in the
 * next one. */
vitcl_status vt_op_patches_of(vt_plan *p, vt_step *s, vt_val rgb,
                              const float f[7])
{
    const vt_val x = s->out[0];
    const vt_step *next = vt_plan_step(p, vt_value_of(p, x)->first + 1);
    const vt_val rows = next->out[OUT_ROWS];
    vt_op_define yt;
    vt_kernel *k;

    VT_RET(vt_op_kernel_with(&k, p, s, "patch", "patch_rgb",
                             vt_op_stored(yt, p, "YT", rows)));
    VT_RET(vt_args(p, k, "vviiiiiifffffff", rows, rgb, channels(p, next, x),
                   vt_dim(p, x, 2), vt_dim(p, x, 3), next->i[I_HEIGHT],
                   next->i[I_WIDTH], next->i[I_LEAD], (double)f[0],
                   (double)f[1], (double)f[2], (double)f[3], (double)f[4],
                   (double)f[5], (double)f[6]));
    vt_op_blocks(k, p, vt_dim(p, rows, 2), vt_op_rows(p, rows));
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
    return vt_patch_behind(p, x, 0, patch_h, patch_w, 0);
}

vt_val vt_patch_behind(vt_plan *p, vt_val x, int count, int patch_h,
                       int patch_w, int lead)
{
    return vt_op_append(p, &vt_op_patch, INS, (vt_val[]){[IN_X] = x}, INTS,
                        (int[]){[I_CHANNELS] = count,
                                [I_HEIGHT] = patch_h,
                                [I_WIDTH] = patch_w,
                                [I_LEAD] = lead});
}
