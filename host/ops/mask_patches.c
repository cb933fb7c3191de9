/*
 * mask_patches.c - patches replaced by others, or by a mask embedding: what
 * masked patch prediction hides (arXiv 2010.11929, appendix B.1.2).
 *
 * in x[B,N,C], source[B,N] i32, mask[..C].
 */
#include "ops/common.h"

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    const vt_value *x = vt_value_of(p, s->in[0]),
                   *source = vt_value_of(p, s->in[1]);

    VT_TRY(vt_op_need(x && x->rank == 3, "patches must be [B,N,C]"));
    VT_TRY(vt_op_need(source && source->dtype == VT_I32 && source->rank == 2 &&
                          source->dim[0] == x->dim[0] &&
                          source->dim[1] == x->dim[1],
                      "sources must be whole numbers [B,N]"));
    VT_TRY(
        vt_op_need(s->in[2] != VT_NONE && vt_op_count(p, s->in[2]) == x->dim[2],
                   "the mask must have the patches' width"));
    VT_TRY(vt_op_like(p, s, 0, s->in[0]));
done:
    return st;
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    vt_val x = s->in[0];
    int c = vt_dim(p, x, 2);

    VT_TRY(vt_op_kernel(&k, p, s, "mask_patches", "mask_patches"));
    VT_TRY(vt_args(p, k, "vvvvii", s->out[0], x, s->in[1], s->in[2],
                   vt_dim(p, x, 1), c));
    vt_op_blocks(k, p, c, vt_op_rows(p, x));
done:
    return st;
}

/* in dout, source */
static vitcl_status x_shape(vt_plan *p, vt_step *s)
{
    return vt_op_like(p, s, 0, s->in[0]);
}

static vitcl_status x_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    vt_val g = s->in[0];
    int c = vt_dim(p, g, 2);

    VT_TRY(vt_op_kernel(&k, p, s, "mask_patches", "mask_patches_grad_x"));
    VT_TRY(vt_args(p, k, "vvvii", s->out[0], g, s->in[1], vt_dim(p, g, 1), c));
    vt_op_blocks(k, p, c, vt_op_rows(p, g));
done:
    return st;
}

static const vt_op corrupt_grad_x = {
    .name = "mask_patches_grad_x", .shape = x_shape, .prepare = x_prepare};

/* in dmask (a state), dout, source */
static vitcl_status mask_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    vt_val g = s->in[1];
    int c = vt_dim(p, g, 2);

    VT_TRY(vt_op_kernel(&k, p, s, "mask_patches", "mask_patches_grad_mask"));
    VT_TRY(vt_args(p, k, "vvviii", s->in[0], g, s->in[2], vt_op_rows(p, g),
                   vt_dim(p, g, 1), c));
    vt_op_blocks(k, p, c, 1);
done:
    return st;
}

static const vt_op corrupt_grad_mask = {.name = "mask_patches_grad_mask",
                                        .shape = vt_op_no_out,
                                        .prepare = mask_prepare};

static void grad(vt_plan *p, const vt_step *s)
{
    vt_val g = vt_grad(p, s->out[0]), mask = vt_grad_param(p, s->in[2]);

    if (mask != VT_NONE)
        vt_op_append(p, &corrupt_grad_mask, 3, (vt_val[]){mask, g, s->in[1]}, 0,
                     NULL);
    if (vt_grad_wanted(p, s->in[0]))
        vt_op_give(p, s->in[0],
                   vt_op_append(p, &corrupt_grad_x, 2, (vt_val[]){g, s->in[1]},
                                0, NULL));
}

const vt_op vt_op_mask_patches = {
    .name = "mask_patches", .shape = shape, .prepare = prepare, .grad = grad};

vt_val vt_mask_patches(vt_plan *p, vt_val x, vt_val source, vt_val mask)
{
    return vt_op_append(p, &vt_op_mask_patches, 3, (vt_val[]){x, source, mask},
                        0, NULL);
}
