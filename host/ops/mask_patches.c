/*
 * mask_patches.c - replace patches by others or by a mask embedding, for masked
 * patch prediction (arXiv 2010.11929, appendix B.1.2).
 */
#include "ops/common.h"

enum { IN_X, IN_SOURCE, IN_MASK, INS };
enum { OUT_Y };
/* grad_x */
enum { DX_DY, DX_SOURCE, DX_INS };
enum { OUT_DX };
/* grad_mask */
enum { DMASK_SUM, DMASK_DY, DMASK_SOURCE, DMASK_INS }; /* sum: a state */

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    const vt_value *x = vt_value_of(p, s->in[IN_X]),
                   *source = vt_value_of(p, s->in[IN_SOURCE]);

    VT_TRY(vt_op_need(x && x->rank == 3, "patches must be [B,N,C]"));
    VT_TRY(vt_op_need(source && source->dtype == VT_I32 && source->rank == 2 &&
                          source->dim[0] == x->dim[0] &&
                          source->dim[1] == x->dim[1],
                      "sources must be whole numbers [B,N]"));
    VT_TRY(vt_op_need(s->in[IN_MASK] != VT_NONE &&
                          vt_op_count(p, s->in[IN_MASK]) == x->dim[2],
                      "the mask must have the patches' width"));
    VT_TRY(vt_op_like(p, s, OUT_Y, s->in[IN_X]));
done:
    return st;
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    vt_val x = s->in[IN_X];
    int c = vt_dim(p, x, 2);

    VT_TRY(vt_op_kernel(&k, p, s, "mask_patches", "mask_patches"));
    VT_TRY(vt_args(p, k, "vvvvii", s->out[OUT_Y], x, s->in[IN_SOURCE],
                   s->in[IN_MASK], vt_dim(p, x, 1), c));
    vt_op_blocks(k, p, c, vt_op_rows(p, x));
done:
    return st;
}

static vitcl_status x_shape(vt_plan *p, vt_step *s)
{
    return vt_op_like(p, s, OUT_DX, s->in[DX_DY]);
}

static vitcl_status x_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    vt_val g = s->in[DX_DY];
    int c = vt_dim(p, g, 2);

    VT_TRY(vt_op_kernel(&k, p, s, "mask_patches", "mask_patches_grad_x"));
    VT_TRY(vt_args(p, k, "vvvii", s->out[OUT_DX], g, s->in[DX_SOURCE],
                   vt_dim(p, g, 1), c));
    vt_op_blocks(k, p, c, vt_op_rows(p, g));
done:
    return st;
}

static const vt_op grad_x = {
    .name = "mask_patches_grad_x", .shape = x_shape, .prepare = x_prepare};

static vitcl_status mask_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    vt_val g = s->in[DMASK_DY];
    int c = vt_dim(p, g, 2);

    VT_TRY(vt_op_kernel(&k, p, s, "mask_patches", "mask_patches_grad_mask"));
    VT_TRY(vt_args(p, k, "vvviii", s->in[DMASK_SUM], g, s->in[DMASK_SOURCE],
                   vt_op_rows(p, g), vt_dim(p, g, 1), c));
    vt_op_blocks(k, p, c, 1);
done:
    return st;
}

static const vt_op grad_mask = {.name = "mask_patches_grad_mask",
                                .shape = vt_op_no_out,
                                .prepare = mask_prepare};

static void grad(vt_plan *p, const vt_step *s)
{
    vt_val g = vt_grad(p, s->out[OUT_Y]),
           mask = vt_grad_param(p, s->in[IN_MASK]);

    if (mask != VT_NONE)
        vt_op_append(p, &grad_mask, DMASK_INS,
                     (vt_val[]){[DMASK_SUM] = mask,
                                [DMASK_DY] = g,
                                [DMASK_SOURCE] = s->in[IN_SOURCE]},
                     0, NULL);
    if (vt_grad_wanted(p, s->in[IN_X]))
        vt_op_give(p, s->in[IN_X],
                   vt_op_append(
                       p, &grad_x, DX_INS,
                       (vt_val[]){[DX_DY] = g, [DX_SOURCE] = s->in[IN_SOURCE]},
                       0, NULL));
}

const vt_op vt_op_mask_patches = {
    .name = "mask_patches", .shape = shape, .prepare = prepare, .grad = grad};

vt_val vt_mask_patches(vt_plan *p, vt_val x, vt_val source, vt_val mask)
{
    return vt_op_append(
        p, &vt_op_mask_patches, INS,
        (vt_val[]){[IN_X] = x, [IN_SOURCE] = source, [IN_MASK] = mask}, 0,
        NULL);
}
