/*
 * relkeys.c - logits against learnt keys of relative positions.
 */
#include "ops/common.h"

#include <math.h>

enum { IN_QKV, IN_KEYS, INS };
enum { OUT_BIAS };
enum { I_HEADS, I_PREFIX };
enum { F_SCALE };
/* grad_q; QKV only for its shape */
enum { DQ_DBIAS, DQ_KEYS, DQ_QKV, DQ_INS };
enum { OUT_DQKV };
/* grad_w */
enum { DW_DKEYS, DW_DBIAS, DW_QKV, DW_INS };

static vitcl_status shape(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    const vt_value *x = vt_value_of(p, s->in[IN_QKV]),
                   *k = vt_value_of(p, s->in[IN_KEYS]);
    const int heads = s->i[I_HEADS], prefix = s->i[I_PREFIX];
    int patches, rows;

    VT_TRY(vt_op_need(x && k && x->rank == 3 && k->rank == 2 && heads >= 1 &&
                          x->dim[2] == 3 * k->dim[1] && k->dim[1] % heads == 0,
                      "relative keys need qkv [B,T,3C] and keys [L,C]"));
    patches = x->dim[1] - prefix;
    rows = 2 * patches - 1 + (prefix ? 3 : 0);
    VT_TRY(vt_op_need(prefix >= 0 && patches > 0 && k->dim[0] == rows,
                      "there is not one key for each relative place"));
    VT_TRY(vt_op_out(p, s, OUT_BIAS, 4,
                     (int[]){x->dim[0], heads, x->dim[1], x->dim[1]}));
done:
    return st;
}

static vitcl_status prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    vt_val x = s->in[IN_QKV];
    const int t = vt_dim(p, x, 1), h = s->i[I_HEADS];

    VT_TRY(vt_op_kernel(&k, p, s, "relkeys", "relkeys"));
    VT_TRY(vt_args(p, k, "vvviiiif", s->out[OUT_BIAS], x, s->in[IN_KEYS], h,
                   vt_dim(p, x, 2) / 3 / h, t, s->i[I_PREFIX],
                   (double)s->f[F_SCALE]));
    vt_op_items(k, p, t, vt_dim(p, x, 0) * h);
done:
    return st;
}

static double macs(const vt_plan *p, const vt_step *s)
{
    const double t = vt_dim(p, s->in[IN_QKV], 1);

    return t * t * vt_dim(p, s->in[IN_QKV], 0) * vt_dim(p, s->in[IN_KEYS], 1);
}

static vitcl_status q_shape(vt_plan *p, vt_step *s)
{
    return vt_op_like(p, s, OUT_DQKV, s->in[DQ_QKV]);
}

static vitcl_status q_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    vt_val x = s->in[DQ_QKV];
    const int t = vt_dim(p, x, 1), h = s->i[I_HEADS];

    VT_TRY(vt_op_kernel(&k, p, s, "relkeys", "relkeys_grad_q"));
    VT_TRY(vt_args(p, k, "vvviiiif", s->out[OUT_DQKV], s->in[DQ_DBIAS],
                   s->in[DQ_KEYS], h, vt_dim(p, x, 2) / 3 / h, t,
                   s->i[I_PREFIX], (double)s->f[F_SCALE]));
    vt_op_items(k, p, t, vt_dim(p, x, 0) * h);
done:
    return st;
}

static const vt_op grad_q = {
    .name = "relkeys_grad_q", .shape = q_shape, .prepare = q_prepare};

static vitcl_status w_prepare(vt_plan *p, vt_step *s)
{
    vitcl_status st = VITCL_OK;
    vt_kernel *k;
    vt_val x = s->in[DW_QKV];
    const int h = s->i[I_HEADS];

    VT_TRY(vt_op_kernel(&k, p, s, "relkeys", "relkeys_grad_w"));
    VT_TRY(vt_args(p, k, "vvviiiiif", s->in[DW_DKEYS], s->in[DW_DBIAS], x,
                   vt_dim(p, x, 0), h, vt_dim(p, x, 2) / 3 / h, vt_dim(p, x, 1),
                   s->i[I_PREFIX], (double)s->f[F_SCALE]));
    vt_op_items(k, p, vt_dim(p, s->in[DW_DKEYS], 0), h);
done:
    return st;
}

static const vt_op grad_w = {
    .name = "relkeys_grad_w", .shape = vt_op_no_out, .prepare = w_prepare};

static vt_val append(vt_plan *p, const vt_op *op, int ins, const vt_val *in,
                     int heads, int prefix, float scale)
{
    vt_step *s = vt_step_new(p, op);

    if (!s)
        return VT_NONE;
    for (int i = 0; i < ins; i++)
        s->in[i] = in[i];
    s->i[I_HEADS] = heads, s->i[I_PREFIX] = prefix;
    s->f[F_SCALE] = scale;
    return vt_step_add(p, s);
}

static void grad(vt_plan *p, const vt_step *s)
{
    const vt_val g = vt_grad(p, s->out[OUT_BIAS]),
                 sum = vt_grad_param(p, s->in[IN_KEYS]);
    const vt_val x = s->in[IN_QKV];

    if (sum != VT_NONE)
        append(p, &grad_w, DW_INS,
               (vt_val[]){[DW_DKEYS] = sum, [DW_DBIAS] = g, [DW_QKV] = x},
               s->i[I_HEADS], s->i[I_PREFIX], s->f[F_SCALE]);
    if (vt_grad_wanted(p, x))
        vt_op_give(
            p, x,
            append(
                p, &grad_q, DQ_INS,
                (vt_val[]){
                    [DQ_DBIAS] = g, [DQ_KEYS] = s->in[IN_KEYS], [DQ_QKV] = x},
                s->i[I_HEADS], s->i[I_PREFIX], s->f[F_SCALE]));
}

const vt_op vt_op_relkeys = {.name = "relkeys",
                             .shape = shape,
                             .prepare = prepare,
                             .grad = grad,
                             .macs = macs,
                             .half_in = 1u << IN_QKV};

vt_val vt_relkeys(vt_plan *p, vt_val qkv, vt_val keys, int heads, int prefix)
{
    const double head = heads > 0 ? (double)vt_dim(p, qkv, 2) / (3 * heads) : 1;

    return append(p, &vt_op_relkeys, INS,
                  (vt_val[]){[IN_QKV] = qkv, [IN_KEYS] = keys}, heads, prefix,
                  (float)(1 / sqrt(head)));
}
