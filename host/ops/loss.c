/*
 * loss.c - softmax cross-entropy, with which a backward pass begins.
 */
#include "ops/common.h"

enum { IN_LOGITS, IN_TARGET };
enum { OUT_LOSS, OUT_ROWS }; /* rows[B,3] for B rows of logits */
enum { F_FACTOR };

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    VT_RET(vt_op_need(s->in[IN_LOGITS] != VT_NONE &&
                          vt_op_same(p, s->in[IN_LOGITS], s->in[IN_TARGET]),
                      "logits and targets must both be [..,K]"));
    VT_RET(vt_op_out(p, s, OUT_LOSS, 1, (int[]){1}));
    return vt_op_out(p, s, OUT_ROWS, 2,
                     (int[]){vt_op_rows(p, s->in[IN_LOGITS]), 3});
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vt_kernel *k;
    int b = vt_op_rows(p, s->in[IN_LOGITS]);

    VT_RET(vt_op_kernel(&k, p, s, "loss", "loss_rows"));
    VT_RET(vt_args(p, k, "vvvi", s->out[OUT_ROWS], s->in[IN_LOGITS],
                   s->in[IN_TARGET], vt_dim(p, s->in[IN_LOGITS], -1)));
    vt_op_groups(k, p, b);
    VT_RET(vt_op_kernel(&k, p, s, "loss", "loss"));
    VT_RET(vt_args(p, k, "vvif", s->out[OUT_LOSS], s->out[OUT_ROWS], b,
                   (double)s->f[F_FACTOR]));
    vt_op_items(k, p, 1, 1);
    return VITCL_OK;
}

static vitcl_status grad_prepare(vt_plan *p, vt_step *s)
{
    vt_kernel *k;

    VT_RET(vt_op_kernel(&k, p, s, "loss", "loss_grad"));
    VT_RET(vt_args(p, k, "vvvvif", s->out[VT_DX], s->in[IN_LOGITS],
                   s->in[IN_TARGET], s->in[VT_SAVED],
                   vt_dim(p, s->in[IN_LOGITS], -1), (double)s->f[F_FACTOR]));
    vt_op_groups(k, p, vt_op_rows(p, s->in[IN_LOGITS]));
    return VITCL_OK;
}

/* d loss / d loss = 1, so VT_DY is not used. */
static const vt_op loss_grad = {.name = "loss_grad",
                                .prepare = grad_prepare,
                                .reads = 1u << IN_LOGITS | 1u << IN_TARGET |
                                         1u << VT_SAVED};

const vt_op vt_op_loss = {.name = "loss",
                          .shape = shape,
                          .prepare = prepare,
                          .grad = vt_op_grad,
                          .grads = {&loss_grad}};

vt_val vt_cross_entropy(vt_plan *p, vt_val logits, vt_val target, float weight)
{
    vt_step *s = vt_step_new(p, &vt_op_loss);

    if (!s)
        return VT_NONE;
    s->in[IN_LOGITS] = logits, s->in[IN_TARGET] = target;
    s->f[F_FACTOR] =
        logits == VT_NONE ? 0 : weight / (float)vt_op_rows(p, logits);
    return vt_step_add(p, s);
}
