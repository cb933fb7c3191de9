/*
 * mask_patches.c - replace patches by others or by a mask embedding, for masked
 * patch prediction (arXiv 2010.11929, appendix B.1.2).
 */
#include "ops/common.h"

enum { IN_X, IN_SOURCE, IN_MASK, INS };
enum { OUT_Y };

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    const vt_value *x = vt_value_of(p, s->in[IN_X]),
                   *source = vt_value_of(p, s->in[IN_SOURCE]);

    VT_RET(vt_op_need(x && x->rank == 3, "patches must be [B,N,C]"));
    VT_RET(vt_op_need(source && source->dtype == VT_I32 && source->rank == 2 &&
                          source->dim[0] == x->dim[0] &&
                          source->dim[1] == x->dim[1],
                      "sources must be whole numbers [B,N]"));
    VT_RET(vt_op_need(s->in[IN_MASK] != VT_NONE &&
                          vt_op_count(p, s->in[IN_MASK]) == x->dim[2],
                      "the mask must have the patches' width"));
    return vt_op_like(p, s, OUT_Y, s->in[IN_X]);
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vt_val x = s->in[IN_X];
    int c = vt_dim(p, x, 2);

    return vt_op_launch_blocks(
        p, s, "mask_patches", "mask_patches", c, vt_op_rows(p, x), "vvvvii",
        s->out[OUT_Y], x, s->in[IN_SOURCE], s->in[IN_MASK], vt_dim(p, x, 1), c);
}

static vitcl_status x_prepare(vt_plan *p, vt_step *s)
{
    vt_val g = s->in[VT_DY];
    int c = vt_dim(p, g, 2);

    return vt_op_launch_blocks(p, s, "mask_patches", "mask_patches_grad_x", c,
                               vt_op_rows(p, g), "vvvii", s->out[VT_DX], g,
                               s->in[IN_SOURCE], vt_dim(p, g, 1), c);
}

static const vt_op grad_x = {.name = "mask_patches_grad_x",
                             .prepare = x_prepare,
                             .reads = 1u << IN_SOURCE};

static vitcl_status mask_prepare(vt_plan *p, vt_step *s)
{
    vt_val g = s->in[VT_DY];
    int c = vt_dim(p, g, 2);

    return vt_op_launch_blocks(p, s, "mask_patches", "mask_patches_grad_mask",
                               c, 1, "vvviii", s->in[IN_MASK], g,
                               s->in[IN_SOURCE], vt_op_rows(p, g),
                               vt_dim(p, g, 1), c);
}

static const vt_op grad_mask = {.name = "mask_patches_grad_mask",
                                .prepare = mask_prepare,
                                .reads = 1u << IN_SOURCE,
                                .adds = 1u << IN_MASK};

const vt_op vt_op_mask_patches = {.name = "mask_patches",
                                  .shape = shape,
                                  .prepare = prepare,
                                  .grad = vt_op_grad,
                                  .grads = {&grad_mask, &grad_x}};

vt_val vt_mask_patches(vt_plan *p, vt_val x, vt_val source, vt_val mask)
{
    return vt_op_append(
        p, &vt_op_mask_patches, INS,
        (vt_val[]){[IN_X] = x, [IN_SOURCE] = source, [IN_MASK] = mask}, 0,
        NULL);
}
